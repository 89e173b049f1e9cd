// Many producers with a queue each, and one consumer, which takes from the queues that hold something and
// sleeps while none does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>
#include <rota/detail/fan_in_core.hpp>
#include <rota/detail/send_status.hpp>
#include <rota/detail/unguarded.hpp>

namespace rota::gate {

namespace detail {

/// The items of a segment: they are stored behind it in the same memory.
template <class T>
struct fan_in_items {
  static constexpr std::size_t alignment = alignof(T) > alignof(fan_in_segment) ? alignof(T)
                                                                                : alignof(fan_in_segment);
  static constexpr std::size_t first = (sizeof(fan_in_segment) + alignof(T) - 1) / alignof(T) * alignof(T);

  [[nodiscard]] static void* room(fan_in_segment& s, std::size_t index) noexcept {
    return reinterpret_cast<std::byte*>(&s) + first + index * sizeof(T);
  }
  static void put(fan_in_segment& s, std::size_t index, T&& item) noexcept {
    void* const at = room(s, index);
    base::note_write(at);
    ::new (at) T(std::move(item));
  }
  /// An item in a segment, for moving it out. The destructor destroys the item there.
  struct taken {
    taken(fan_in_segment& s, std::size_t index) noexcept : at(std::launder(static_cast<T*>(room(s, index)))) {
      base::note_write(at);
    }
    taken(const taken&) = delete;
    taken& operator=(const taken&) = delete;
    ~taken() { at->~T(); }
    T* const at;
  };
};

}  // namespace detail

/// Many producers and one consumer. Each producer has a bounded queue, its segment, so producers do not
/// contend with each other. The consumer serves the segments that hold something in turns, `budget` items at
/// a time.
///
/// Threads       make_producer, close: any. A producer: one thread at a time. The others, and the destructor:
///               one thread at a time, the consumer.
/// Ownership     Owns what was sent. The destructor closes the fan-in and destroys the items that wait;
///               producers may outlive it. When it is destroyed no thread may be in one of its other calls,
///               except in the close() from which the consumer has seen the end.
/// Ordering      Items of one producer are taken in the order in which it pushed them; items of several, in
///               turns. What a producer did before a push happens before its item is taken.
/// Failure       std::invalid_argument, std::length_error, std::bad_alloc, as each call says. In a forked
///               child: it has no thread of its own, so the child has a copy of it, with the items that
///               waited. The child may use the copy with its own threads, if at the fork no other thread was
///               inside a call, except threads that waited. A push that would wait there returns `forked` if
///               the consumer was in a parent and has not yet run in the child; wait() and take() wait for
///               the child's producers alone. In a child of the process that made it the destructor does
///               nothing: the items stay in memory.
/// Cost          A push: one read-modify-write, and two or three if its segment was not ready. A visit of a
///               segment: two, one for each 16 items (or half a segment) and one at its end; `take`: one for
///               each item. Memory: a segment for each producer that exists at a time, kept for later ones
///               until the fan-in and all its producers are gone.
/// Example       examples/fan_in.cpp
template <class T>
class fan_in {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "an item is moved without an exception: send a std::unique_ptr to it");
  using items = detail::fan_in_items<T>;

 public:
  class producer;

  explicit fan_in(const fan_in_options& options = {})
      : core_(new detail::fan_in_core(options, {sizeof(T), items::alignment, items::first})) {}
  fan_in(const fan_in&) = delete;
  fan_in& operator=(const fan_in&) = delete;
  ~fan_in() {
    // What threads of the parent were doing in it at the fork would never end here.
    if (!core_->is_own_process()) return;
    close();
    while (detail::fan_in_segment* const s = core_->find(std::chrono::steady_clock::time_point::max())) {
      {
        const typename items::taken item(*s, core_->index_of(s->taken()));
      }
      core_->note_taken(*s);
    }
    core_->drop_reference();
  }

  /// Makes a producer. Throws std::length_error if the limit of producers is reached: a producer that is gone
  /// counts until its items have been taken; std::bad_alloc. If the fan-in is closed, all pushes of the
  /// producer return `closed`.
  [[nodiscard]] producer make_producer() {
    detail::fan_in_segment* const opened = core_->open_segment();
    core_->add_reference();
    return producer(*core_, opened);
  }

  /// Stops admission: pushes return `closed`, including those that wait for space. Items that were sent stay,
  /// for the consumer to take.
  void close() noexcept { core_->close(); }
  [[nodiscard]] bool is_closed() const noexcept { return core_->is_closed(); }

  // --- the consumer. `ended`: everything was taken, and it is closed, or all producers are gone. Before the
  // first producer has gone that is no end, and it stops being one when another producer is made: keep a
  // producer as long as others may come.

  /// Calls `f(T&&)` for the items that are there, at most `most`, and returns for how many. Never waits.
  /// Producers that wait for space are woken only after `f` has returned a few times, so `f` must not wait
  /// for one of them. If `f` throws, its item is gone; the others stay.
  template <class F>
    requires requires(F& call, T&& item) { call(std::move(item)); }
  std::size_t drain(F&& f, std::size_t most = SIZE_MAX) {
    const room_at_end room(*core_);
    std::size_t count = 0;
    while (count < most) {
      detail::fan_in_segment* const s = core_->find(detail::fan_in_core::at_once);
      if (s == nullptr) break;
      ++count;
      f(take_out(*s));
    }
    return count;
  }

  /// Sleeps while there is no item. Returns ready or ended. Blocks the thread, as the other waiting calls do.
  fan_in_state wait() noexcept { return wait_until(std::chrono::steady_clock::time_point::max()); }
  /// As wait(); returns empty at the deadline.
  fan_in_state wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return core_->find(deadline) != nullptr ? fan_in_state::ready : why_none();
  }

  /// Takes the next item; returns nothing if the fan-in has ended. Waits as wait() does.
  [[nodiscard]] std::optional<T> take() {
    detail::fan_in_segment* const s = core_->find(std::chrono::steady_clock::time_point::max());
    if (s == nullptr) return std::nullopt;
    return take_one(*s);
  }
  /// As take(); returns empty at the deadline.
  [[nodiscard]] std::expected<T, fan_in_state> take_until(std::chrono::steady_clock::time_point deadline) {
    detail::fan_in_segment* const s = core_->find(deadline);
    if (s == nullptr) return std::unexpected(why_none());
    return take_one(*s);
  }
  /// As take(), but never waits.
  [[nodiscard]] std::expected<T, fan_in_state> try_take() { return take_until(detail::fan_in_core::at_once); }

 private:
  struct room_at_end {
    explicit room_at_end(detail::fan_in_core& c) noexcept : core(c) {}
    room_at_end(const room_at_end&) = delete;
    room_at_end& operator=(const room_at_end&) = delete;
    ~room_at_end() { core.make_room(); }
    detail::fan_in_core& core;
  };

  [[nodiscard]] T take_out(detail::fan_in_segment& s) noexcept {
    T item = [&]() -> T {
      const typename items::taken in_there(s, core_->index_of(s.taken()));
      core::demand_unguarded();
      return T(std::move(*in_there.at));
    }();
    core_->note_taken(s);
    return item;
  }
  [[nodiscard]] T take_one(detail::fan_in_segment& s) noexcept {
    const room_at_end room(*core_);
    return take_out(s);
  }
  [[nodiscard]] fan_in_state why_none() const noexcept {
    return core_->found_end() ? fan_in_state::ended : fan_in_state::empty;
  }

  detail::fan_in_core* core_;
};

/// The pushing end of one producer. When it is gone and its items have been taken, its segment is used by
/// another producer.
///
/// Threads       One at a time; not always the same, if a hand-over has a happens-before.
/// Ownership     Keeps the segments alive, but not the fan-in. The fan-in ends when its owner ends it, and
///               then pushes return `closed`.
/// Ordering      As fan_in.
/// Failure       send_status; an item that was not taken is left as it was. `forked`: see fan_in.
///               std::logic_error if it is empty: moved from, or default-constructed.
/// Cost          As fan_in; never an allocation.
/// Example       examples/fan_in.cpp
template <class T>
class fan_in<T>::producer {
 public:
  producer() noexcept = default;
  producer(producer&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), segment_(std::exchange(other.segment_, nullptr)) {}
  producer& operator=(producer&& other) noexcept {
    producer moved(std::move(other));
    std::swap(core_, moved.core_);
    std::swap(segment_, moved.segment_);
    return *this;
  }
  ~producer() {
    if (segment_ != nullptr) core_->leave(*segment_);
    if (core_ != nullptr) core_->drop_reference();
  }

  /// Pushes `item`, which is moved from only if it was sent. Blocks while there is no space. Inside a task or
  /// a mailbox's handler it returns `full` instead, and `forked` if the consumer is in a parent of this
  /// process.
  send_status push(T&& item) {
    for (;;) {  // no other producer takes the space: at most twice, unless a wakeup is spurious
      const send_status status = offer(item);
      if (status != send_status::full) return status;
      const send_status waited = core_->wait_for_room(*segment_);
      if (waited != send_status::sent) return waited;
    }
  }
  send_status push(const T& item) {
    T copy(item);
    return push(std::move(copy));
  }
  /// Pushes `item`, and never blocks.
  send_status try_push(T&& item) { return offer(item); }
  send_status try_push(const T& item) {
    T copy(item);
    return try_push(std::move(copy));
  }

  /// Pushes the first ones of `several`, as many as there is space for, as one batch. They are moved from.
  /// Never blocks.
  sent_count push_n(std::span<T> several) {
    if (core_ == nullptr) [[unlikely]]
      detail::throw_no_producer();
    if (several.empty()) return {};
    if (segment_ == nullptr || core_->is_closed()) return {0, send_status::closed};
    detail::fan_in_segment& s = *segment_;
    const std::size_t room = core_->room_for(s, several.size());
    if (room == 0) return {0, send_status::full};
    const std::uint64_t from = s.next();
    for (std::size_t i = 0; i < room; ++i) items::put(s, core_->index_of(from + i), std::move(several[i]));
    if (!core_->push(s, room)) [[unlikely]] {
      for (std::size_t i = 0; i < room; ++i) give_back(several[i], core_->index_of(from + i));
      return {0, send_status::closed};
    }
    return {room, room == several.size() ? send_status::sent : send_status::full};
  }

  [[nodiscard]] explicit operator bool() const noexcept { return core_ != nullptr; }

 private:
  friend class fan_in;
  producer(detail::fan_in_core& core, detail::fan_in_segment* opened) noexcept
      : core_(&core), segment_(opened) {}

  send_status offer(T& item) { return push_n(std::span<T>(&item, 1)).status; }
  void give_back(T& to, std::size_t index) noexcept {
    const typename items::taken item(*segment_, index);
    if constexpr (std::is_nothrow_move_assignable_v<T>) {
      to = std::move(*item.at);
    } else {
      to.~T();
      ::new (static_cast<void*>(&to)) T(std::move(*item.at));
    }
  }

  detail::fan_in_core* core_ = nullptr;
  detail::fan_in_segment* segment_ = nullptr;
};

}  // namespace rota::gate
