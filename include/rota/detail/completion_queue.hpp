// The tasks of a join_set: the part that does not depend on types.
#pragma once

#include <cstddef>
#include <source_location>

#include <rota/detail/config.hpp>
#include <rota/detail/promise.hpp>
#include <rota/leaf.hpp>

namespace rota::core {

struct header;
class completion_queue;

/// Owns the queue of a set. Only src/flow knows the type of the queue.
class ROTA_API completion_queue_owner {
 public:
  /// Throws std::bad_alloc.
  completion_queue_owner();
  completion_queue_owner(completion_queue_owner&& other) noexcept;
  completion_queue_owner& operator=(completion_queue_owner&& other) noexcept;
  completion_queue_owner(const completion_queue_owner&) = delete;
  completion_queue_owner& operator=(const completion_queue_owner&) = delete;
  /// Cancels the tasks that still run, and discards the outcomes of those that have ended.
  ~completion_queue_owner();

  /// Starts a task of the set. The caller owns one reference to the task that is returned.
  [[nodiscard]] header& launch(promise_base& root, const result_vtable& type, std::source_location site);
  void cancel_all() noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// Checked in every build: the user's set may have been moved from.
  [[nodiscard]] completion_queue& queue() const noexcept {
    if (queue_ == nullptr) [[unlikely]]
      ROTA_FATAL("an empty join_set: moved from", 0);
    return *queue_;
  }

 private:
  completion_queue* queue_;
};

/// Waits until a task of the set has ended, or none is left. If this wait is cancelled, the tasks are not.
class ROTA_API next_leaf : public leaf {
 public:
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool is_discardable() noexcept final;
  [[nodiscard]] const char* what() const noexcept final { return "join_set"; }

 protected:
  explicit next_leaf(completion_queue& queue) noexcept : queue_(&queue) {}
  ~next_leaf() = default;

  /// Throws `errc::already_joined` if another task waits already.
  bool start() final;
  const void* check_beside() final;
  /// Takes the task that ended first of those that were not taken yet, as its handle. Returns null if none is
  /// left.
  [[nodiscard]] header* take() noexcept;

 private:
  completion_queue* queue_;
};

/// Waits until all tasks of the set have ended, and discards their outcomes. If this wait is cancelled, it
/// cancels the tasks and goes on waiting.
class ROTA_DETAIL_AWAIT_IT ROTA_API drain_leaf final : public leaf {
 public:
  explicit drain_leaf(completion_queue& queue) noexcept : queue_(&queue) {}

  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason reason) noexcept override;
  [[nodiscard]] bool cancel_ended() noexcept override;
  [[nodiscard]] const char* what() const noexcept override { return "join_set"; }
  void await_resume() noexcept;

 protected:
  bool start() override;

 private:
  completion_queue* queue_;
};

}  // namespace rota::core
