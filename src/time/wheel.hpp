// The timers of one shard, by time. It uses no clock, no lock and no waker.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/clock.hpp"
#include "time/timer.hpp"

namespace rota::timing {

/// A hierarchical wheel: 6 levels of 64 slots, of 1 ms, 64 ms, 4.1 s, 4.4 min, 4.7 h and 12.4 days; beyond
/// 2.2 years an overflow list. One thread at a time.
///
/// A slot is opened when the earliest deadline in it has come, not when its time span begins. Then its timers
/// move to finer slots or, if their millisecond has come, into the near heap. Only the near heap decides what
/// fires. So no thread wakes up only to cascade.
///
///   W1  A slot's bound is never later than the deadlines in it, and lies in the slot's span. It is exact
///       until the timer that it stands for is removed from among more than `sparse` others.
///   W2  far_ is the least bound of all lists except the one that collects overdue arms.
///   W3  current_ is not beyond the end of any occupied slot, so that a slot stands for one span only.
///   W4  Opening a slot puts each of its timers on a lower level; only the overflow list may keep some.
class wheel {
 public:
  static constexpr unsigned levels = 6;
  static constexpr unsigned slots_per_level = 64;

  explicit wheel(base::time_point now) noexcept : current_(tick_of(now)), polled_(before_never(now)) {}
  wheel(const wheel&) = delete;
  wheel& operator=(const wheel&) = delete;
  ~wheel() = default;

  /// Inserts a node that is in no list. A deadline of `never` does not come, whatever the clock says.
  void insert(timer_node& node, base::time_point deadline) noexcept;
  void remove(timer_node& node) noexcept;

  /// Makes the timers that are due at `now` available to pop(). A timer that is inserted later with a
  /// deadline up to `now` waits for the next begin_poll(): a timer that is armed again and again with a past
  /// deadline must not keep a poll going for ever.
  void begin_poll(base::time_point now) noexcept;

  /// Takes out the next timer that is due: by deadline, equal ones in the order of their insertion. Each
  /// timer moved costs one of `effort`. Returns null if no timer is due; null with an effort of 0 left means:
  /// call again.
  [[nodiscard]] timer_node* pop(unsigned& effort) noexcept;

  /// Returns a time that is not later than any deadline, and exact except as W1 says; `never` if no deadline
  /// can come.
  [[nodiscard]] base::time_point next_deadline() const noexcept;

  /// Returns the finest level on which `tick`, later than `current`, is less than 64 slots ahead. From
  /// `levels` on: overflow.
  [[nodiscard]] static constexpr unsigned level_for(std::uint64_t current, std::uint64_t tick) noexcept {
    const auto level = static_cast<unsigned>(std::bit_width(tick - current) - 1) / bits_per_level;
    // 64^level <= tick - current < 64^(level + 1) still allows a distance of 64: the slot of `current`
    // itself, one turn later.
    const std::uint64_t distance = slot_number(tick, level) - slot_number(current, level);
    return distance < slots_per_level ? level : level + 1;
  }

 private:
  static constexpr unsigned bits_per_level = 6;
  static constexpr unsigned sparse = 8;  // how many timers a removal visits to keep a bound exact

  // Places: 0 .. 383 are the slots, level by level. There are two overflow lists and two lists of overdue
  // arms: one of each pair is filled while the other is emptied.
  static constexpr unsigned overflow_a = levels * slots_per_level;
  static constexpr unsigned overdue_a = overflow_a + 2;
  static constexpr unsigned lists = overdue_a + 2;
  static constexpr unsigned in_heap = lists;

  struct slot {
    timer_node* first = nullptr;
    base::time_point bound = base::never;
  };

  static constexpr std::uint64_t slot_number(std::uint64_t tick, unsigned level) noexcept {
    return tick >> (bits_per_level * level);
  }
  static std::uint64_t tick_of(base::time_point time) noexcept;
  /// A time before `never`: a poll that had reached `never` would find every empty list due.
  static constexpr base::time_point before_never(base::time_point time) noexcept {
    return time < base::never ? time : base::never - base::nanoseconds(1);
  }

  void place(timer_node& node) noexcept;
  void link(timer_node& node, unsigned where) noexcept;
  void unlink(timer_node& node) noexcept;
  void emptied(unsigned where) noexcept;
  void tighten(slot& list) noexcept;
  void open(unsigned where, unsigned& effort) noexcept;
  [[nodiscard]] unsigned earliest_list() const noexcept;

  std::array<slot, lists> lists_{};
  std::array<std::uint64_t, levels> occupied_{};
  near_heap near_;
  base::time_point far_ = base::never;
  std::uint64_t current_;    // the millisecond up to which all timers are in the heap
  base::time_point polled_;  // the argument of the last begin_poll()
  std::uint32_t sequence_ = 0;
  unsigned overflow_ = overflow_a;
  unsigned overdue_ = overdue_a;
};

}  // namespace rota::timing
