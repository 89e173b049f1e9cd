// The queue behind a pool::source, whatever its items are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/base_frames.hpp>
#include <rota/detail/config.hpp>

namespace rota::pool {

/// What became of an item that was pushed.
enum class [[nodiscard]] push_status : unsigned char {
  pushed,  // it is in
  full,    // refused: as many are in as may be
  closed,  // refused: nothing comes in any more
};

namespace detail {

class source_core;
class watch_core;
class work_core;

/// In the list of what is in works: an item, or the place of somebody who goes through that list.
struct flight_node {
  flight_node* previous = nullptr;
  flight_node* next_flying = nullptr;
  bool is_item = false;
};

/// An item belongs to its source while it lies there, else to the watch that has taken it.
struct source_node : flight_node {
  source_node* next = nullptr;
  unsigned returned = 0;  // how often it has come back by itself
  watch_core* watched_by = nullptr;
  work_core* work = nullptr;             // under the source's lock; null: it is being made, or is over
  base::atomic<std::uint32_t> users{0};  // of one that is in a work: its function, and its end
};

template <class T>
struct source_item final : source_node {
  T value;

  explicit source_item(T&& given) : value(std::move(given)) {}
  [[nodiscard]] static void* operator new(std::size_t bytes) { return base::allocate_frame(bytes); }
  static void operator delete(void* freed, std::size_t bytes) noexcept { base::free_frame(freed, bytes); }
  static void destroy(source_node* node) noexcept { delete static_cast<source_item*>(node); }
};

/// All of a source that does not depend on its items.
class ROTA_API source_base {
 public:
  /// No limit, if the constructor is given this.
  static constexpr std::size_t unbounded = static_cast<std::size_t>(-1);

  source_base(const source_base&) = delete;
  source_base& operator=(const source_base&) = delete;

  /// Nothing comes in any more but what comes back. What is in stays, and is still taken by who watches. Idempotent.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  /// Those that wait to be taken. More than `capacity`, if some have come back.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  /// Those that came back too often: see watch_options::returns.
  [[nodiscard]] std::size_t given_up() const noexcept;
  [[nodiscard]] bool is_watched() const noexcept;

  [[nodiscard]] source_core& core() const noexcept { return *core_; }

 protected:
  source_base(std::size_t capacity, void (*destroy)(source_node*) noexcept);
  ~source_base();

  /// `pushed`: there is a place for it. Then publish(), or withdraw().
  push_status admit() noexcept;
  void withdraw() noexcept;
  void publish(source_node& item) noexcept;
  /// Null: there is none.
  [[nodiscard]] source_node* take_first() noexcept;
  [[nodiscard]] source_node* take_first_given_up() noexcept;
  /// It could not be moved out.
  void put_front(source_node& item) noexcept;
  void put_front_given_up(source_node& item) noexcept;

 private:
  source_core* core_;
};

}  // namespace detail

}  // namespace rota::pool
