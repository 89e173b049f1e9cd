// Many producers, each with a queue of its own, and one consumer, which finds those that hold something and sleeps while none does.
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

/// The items of a segment: they stand behind it.
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
  /// Moves it out, and ends its life in there.
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

/// Many producers and one consumer. Each producer has a bounded queue, its segment, so producers do not meet each other; the consumer
/// serves those that hold something in turns, `budget` items at a time.
///
/// Threads       make_producer, close: any. A producer: one at a time. The others, and the destructor: one at a time, the consumer.
/// Ownership     Owns what was sent. The destructor closes it and destroys what waits; producers may outlive it. At the end nobody
///               may be in one of its other calls, but in that close() from which the consumer has heard of the end.
/// Ordering      Items of one producer are taken in the order in which it pushed them; of several, in turns. What a producer did
///               before a push happens before its item is taken.
/// Failure       std::invalid_argument, std::length_error, std::bad_alloc, as each call says. In a forked child: it has no thread of its own, so the
///               child has a copy of it, with the items that waited, and may use that with its own threads, if at the fork no other thread
///               was inside of a call, but for those that waited. A push that would wait there says `forked` if the consumer has been in
///               a parent, and not yet in the child; wait() and take() wait for the child's producers alone. The destructor does nothing
///               in a child of the process that made it: the items stay in memory.
/// Cost          A push: one read-modify-write, and two or three when its segment was not ready. A visit of a segment: two, one for
///               each 16 items (or half a segment) and at its end; `take` one for each item. Memory: a segment for each producer that
///               there is at a time, kept for later ones until the fan-in and all its producers are gone.
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
    // What threads of the parent were doing in it would never end here.
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

  /// A new producer. Throws std::length_error if there are as many as there may be: those count that are gone, until their items have
  /// been taken; std::bad_alloc. Of a closed fan-in: one whose pushes say so.
  [[nodiscard]] producer make_producer() {
    detail::fan_in_segment* const opened = core_->open_segment();
    core_->add_reference();
    return producer(*core_, opened);
  }

  /// No item comes in any more: pushes say closed, those that wait for room, too. What was sent stays, for the consumer to take.
  void close() noexcept { core_->close(); }
  [[nodiscard]] bool is_closed() const noexcept { return core_->is_closed(); }

  // --- the consumer. `ended`: everything was taken, and it is closed, or all producers are gone. The latter is no end before the first
  // one has gone, and is none any more when another one is made: keep one for as long as others may come.

  /// Calls `f(T&&)` for what is there, for at most so many items, and returns for how many. Never waits. Producers that wait for room are
  /// woken when `f` has returned a few times, so it waits for none of them. If it throws, its item is gone; the others stay.
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

  /// Sleeps while there is nothing: ready or ended. Blocks the thread, and so do the others that wait.
  fan_in_state wait() noexcept { return wait_until(std::chrono::steady_clock::time_point::max()); }
  /// The same; empty when the time has come.
  fan_in_state wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return core_->find(deadline) != nullptr ? fan_in_state::ready : why_none();
  }

  /// The next item; nothing when it has ended.
  [[nodiscard]] std::optional<T> take() {
    detail::fan_in_segment* const s = core_->find(std::chrono::steady_clock::time_point::max());
    if (s == nullptr) return std::nullopt;
    return take_one(*s);
  }
  /// The same; empty when the time has come.
  [[nodiscard]] std::expected<T, fan_in_state> take_until(std::chrono::steady_clock::time_point deadline) {
    detail::fan_in_segment* const s = core_->find(deadline);
    if (s == nullptr) return std::unexpected(why_none());
    return take_one(*s);
  }
  /// The same; never waits.
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

/// Where one producer pushes. Its segment is another's when it is gone and its items have been taken.
///
/// Threads       One at a time; not always the same, if they hand it over with a happens-before.
/// Ownership     Keeps the segments, but not the fan-in: that ends when its owner says so, and then pushes tell.
/// Ordering      As fan_in.
/// Failure       send_status; an item that was not taken is left as it was. `forked`: see fan_in. std::logic_error if it is empty: moved
///               from, or made by default.
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

  /// `item` is moved from only if it was sent. Blocks while there is no room; inside of a task or of a mailbox's handler it says full
  /// instead, and `forked` where the consumer is in a parent of this process.
  send_status push(T&& item) {
    for (;;) {  // again when there was room: nobody else takes it, so twice, but for a wake too many
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
  /// Never blocks.
  send_status try_push(T&& item) { return offer(item); }
  send_status try_push(const T& item) {
    T copy(item);
    return try_push(std::move(copy));
  }

  /// The first ones of `several`, as many as there is room for, at one time. They are moved from. Never blocks.
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
