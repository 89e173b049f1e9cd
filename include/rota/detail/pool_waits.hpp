// The awaitables of a pool, for tasks: by id, by list, by group, and for the whole pool.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/detail/pool_batch.hpp>
#include <rota/leaf.hpp>
#include <rota/pool/work.hpp>

namespace rota::pool::detail {

class group_core;
struct rest_waiter;

/// Waits until every work of a batch is over, one after the other. A cancelled wait leaves the works alone.
class ROTA_API works_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;
  works_leaf(const works_leaf&) = delete;
  works_leaf& operator=(const works_leaf&) = delete;

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "pool works"; }

 protected:
  template <class... A>
  explicit works_leaf(pool_core& pool, A... which) : all_(pool, which...) {}
  ~works_leaf();
  /// Throws errc::would_deadlock if a work would wait for itself.
  const void* check_beside() final;
  /// The same, and std::bad_alloc.
  bool start() final;
  [[nodiscard]] const work_batch& all() const noexcept { return all_; }

 private:
  void leave() noexcept;

  work_batch all_;
  std::size_t next_ = 0;          // the works before it are over, or were never there
  bool is_listed_ = false;        // in the waiter list of the work at `next_`
  waiting_node* node_ = nullptr;  // owned
};

/// Waits until one work of a batch is over. A cancelled wait leaves the works alone.
class ROTA_API any_work_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;
  any_work_leaf(const any_work_leaf&) = delete;
  any_work_leaf& operator=(const any_work_leaf&) = delete;

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "one of several pool works"; }

 protected:
  /// Throws std::invalid_argument if there are no ids.
  any_work_leaf(pool_core& pool, std::span<const work_id> ids);
  ~any_work_leaf();
  /// Throws errc::would_deadlock if a work would wait for itself alone.
  const void* check_beside() final;
  /// The same, and std::bad_alloc.
  bool start() final;
  /// Returns the position of a work that is over. For use after the wait.
  [[nodiscard]] std::size_t found() const noexcept { return found_; }

 private:
  void leave() noexcept;

  work_batch all_;
  std::size_t found_ = 0;
  waiting_node* nodes_ = nullptr;  // owned: one for each work
  std::size_t listed_ = 0;         // so many nodes, from the first on, are or were in lists
};

/// Waits until no work of a group, or of the pool, is outstanding. A cancelled wait leaves the works alone.
/// The leaf keeps the pool's memory.
class ROTA_API rest_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;
  rest_leaf(const rest_leaf&) = delete;
  rest_leaf& operator=(const rest_leaf&) = delete;

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  /// Always true: the last work may have ended for the same cause that cancels this task.
  [[nodiscard]] bool is_discardable() noexcept final { return true; }
  [[nodiscard]] const char* what() const noexcept final {
    return of_group_ ? "an empty group of a pool" : "an idle pool";
  }

 protected:
  explicit rest_leaf(pool_core& pool);
  rest_leaf(pool_core& pool, std::string_view group);
  ~rest_leaf();
  /// Throws errc::would_deadlock inside of a work that would wait for itself.
  const void* check_beside() final;
  /// The same, and std::bad_alloc.
  bool start() final;

 private:
  void leave() noexcept;

  pool_core& pool_;
  work_core* holder_;  // a reference
  bool of_group_ = false;
  bool is_over_ = false;
  group_core* group_ = nullptr;  // null: no work has ever named it
  rest_waiter* me_ = nullptr;    // owned
};

class ROTA_DETAIL_AWAIT_IT work_wait final : public works_leaf {
 public:
  work_wait(pool_core& pool, work_id id)
      : works_leaf(pool, std::span(&id, 1), work_batch::find_also::finished) {}
  [[nodiscard]] bool await_resume() const noexcept { return all().at(0) != nullptr; }
};

class ROTA_DETAIL_AWAIT_IT ROTA_API work_list_wait final : public works_leaf {
 public:
  work_list_wait(pool_core& pool, std::span<const work_id> ids);
  [[nodiscard]] std::vector<work_id> await_resume();

 private:
  std::vector<work_id> missing_;
};

class ROTA_DETAIL_AWAIT_IT any_work_wait final : public any_work_leaf {
 public:
  any_work_wait(pool_core& pool, std::span<const work_id> ids)
      : any_work_leaf(pool, ids), ids_(ids.begin(), ids.end()) {}
  [[nodiscard]] work_id await_resume() const noexcept { return ids_[found()]; }

 private:
  std::vector<work_id> ids_;
};

class ROTA_DETAIL_AWAIT_IT rest_wait final : public rest_leaf {
 public:
  explicit rest_wait(pool_core& pool) : rest_leaf(pool) {}
  rest_wait(pool_core& pool, std::string_view group) : rest_leaf(pool, group) {}
  void await_resume() const noexcept {}
};

template <class T>
class ROTA_DETAIL_AWAIT_IT fetch_wait final : public works_leaf {
 public:
  fetch_wait(pool_core& pool, work_id id) : works_leaf(pool, std::span(&id, 1)) {}
  [[nodiscard]] std::optional<outcome<T>> await_resume() {
    if (all().at(0) == nullptr) return std::nullopt;
    return take_and_forget<T>(*all().at(0));
  }
};

template <class T>
class ROTA_DETAIL_AWAIT_IT fetch_list_wait final : public works_leaf {
 public:
  fetch_list_wait(pool_core& pool, std::span<const work_id> ids) : works_leaf(pool, ids) {}
  [[nodiscard]] std::vector<std::optional<outcome<T>>> await_resume() {
    all().demand_type(&type_tag<std::remove_cv_t<T>>);
    return taken_in_order<T>(all());
  }
};

template <class T>
class ROTA_DETAIL_AWAIT_IT fetch_group_wait final : public works_leaf {
 public:
  fetch_group_wait(pool_core& pool, std::string_view group)
      : works_leaf(pool, group, static_cast<const void*>(&type_tag<std::remove_cv_t<T>>)) {}
  [[nodiscard]] std::vector<std::pair<work_id, outcome<T>>> await_resume() { return taken_by_id<T>(all()); }
};

}  // namespace rota::pool::detail
