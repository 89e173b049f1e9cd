// The type-erased queue behind a pool::source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/base_frames.hpp>
#include <rota/detail/config.hpp>

namespace rota::pool {

/// The result of a push.
enum class [[nodiscard]] push_status : unsigned char {
  pushed,  // the item is in the source
  full,    // refused: the source has as many items as it may have
  closed,  // refused: the source takes no new items
};

namespace detail {

class source_core;
class watch_core;
class work_core;

/// A node in the list of items that are in works: an item, or a marker of a thread that iterates over the
/// list.
struct flight_node {
  flight_node* previous = nullptr;
  flight_node* next_flying = nullptr;
  bool is_item = false;
};

/// A node of an item. It belongs to the source while it lies there, else to the watch that has taken it.
struct source_node : flight_node {
  source_node* next = nullptr;
  unsigned returned = 0;  // how often the item has come back by itself
  watch_core* watched_by = nullptr;
  work_core* work = nullptr;             // under the source's lock; null: the work is being made, or is over
  base::atomic<std::uint32_t> users{0};  // of an item in a work: the work's function, and the work's end
};

template <class T>
struct source_item final : source_node {
  T value;

  explicit source_item(T&& given) : value(std::move(given)) {}
  [[nodiscard]] static void* operator new(std::size_t bytes) { return base::allocate_frame(bytes); }
  static void operator delete(void* freed, std::size_t bytes) noexcept { base::free_frame(freed, bytes); }
  static void destroy(source_node* node) noexcept { delete static_cast<source_item*>(node); }
};

/// The part of a source that does not depend on the item type.
class ROTA_API source_base {
 public:
  /// The capacity of a source without a limit.
  static constexpr std::size_t unbounded = static_cast<std::size_t>(-1);

  source_base(const source_base&) = delete;
  source_base& operator=(const source_base&) = delete;

  /// Refuses new items from now on. Items that come back are still added. The items in the source stay, and a
  /// watch still takes them. Idempotent.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept;
  /// Returns the number of waiting items. It is above `capacity` if some have come back.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  /// Returns the number of items that came back too often: see watch_options::returns.
  [[nodiscard]] std::size_t given_up() const noexcept;
  [[nodiscard]] bool is_watched() const noexcept;

  [[nodiscard]] source_core& core() const noexcept { return *core_; }

 protected:
  source_base(std::size_t capacity, void (*destroy)(source_node*) noexcept);
  ~source_base();

  /// Reserves a place for an item. After `pushed` the caller must call publish() or withdraw().
  push_status admit() noexcept;
  void withdraw() noexcept;
  void publish(source_node& item) noexcept;
  /// Returns null if there is none.
  [[nodiscard]] source_node* take_first() noexcept;
  [[nodiscard]] source_node* take_first_given_up() noexcept;
  /// Puts an item back that could not be moved out.
  void put_front(source_node& item) noexcept;
  void put_front_given_up(source_node& item) noexcept;

 private:
  source_core* core_;
};

}  // namespace detail

}  // namespace rota::pool
