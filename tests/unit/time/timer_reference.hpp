// The reference model of a wheel: a sorted set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "wheel_support.hpp"

namespace time_test {

/// The armed timers by deadline; equal deadlines in order of arming. Knows which of them a poll may fire. If
/// a poll has reached a timer's deadline when the timer is armed, it waits for the next poll, or for the one
/// after that if the next begins before the first has ended.
class timer_reference {
 public:
  timer_reference(time_point now, unsigned timers) : polled_(before_never(now)), of_(timers) {}

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(of_.size()); }
  [[nodiscard]] std::size_t armed() const { return armed_.size(); }
  [[nodiscard]] bool holds(unsigned i) const { return armed_.contains(of_[i].at); }
  [[nodiscard]] time_point deadline(unsigned i) const { return std::get<0>(of_[i].at); }
  /// Returns the latest time that a poll has reached.
  [[nodiscard]] time_point polled() const { return polled_; }

  void insert(unsigned i, time_point deadline) {
    of_[i] = {{deadline, ++sequence_, i}, deadline <= polled_ ? turn::the_next_poll : turn::any_poll};
    armed_.insert(of_[i].at);
  }
  void erase(unsigned i) { armed_.erase(of_[i].at); }

  void begin_poll(time_point now) {
    polled_ = std::max(polled_, before_never(now));
    for (const key& each : armed_) {
      turn& its = of_[std::get<2>(each)].its;
      if (ended_) its = turn::any_poll;
      if (its == turn::the_next_poll) its = turn::perhaps_this_poll;
    }
    ended_ = false;
  }

  /// Removes a timer that fired. Returns null, or why it may not fire.
  [[nodiscard]] const char* fire(unsigned i) {
    if (!holds(i)) return "a timer fired that is not armed";
    if (deadline(i) > polled_) return "a timer fired early";
    if (of_[i].its == turn::the_next_poll) return "a timer fired that was for the next poll";
    const bool in_order = of_[i].its == turn::perhaps_this_poll || of_[i].at == first();
    erase(i);
    return in_order ? nullptr : "a timer fired before an earlier one";
  }

  /// Ends the poll. Returns null, or which timer is missing.
  [[nodiscard]] const char* end_poll() {
    ended_ = true;
    return std::get<0>(first()) <= polled_ ? "a due timer did not fire" : nullptr;
  }

  [[nodiscard]] time_point earliest() const { return armed_.empty() ? never : std::get<0>(*armed_.begin()); }

 private:
  using key = std::tuple<time_point, std::uint64_t, unsigned>;
  enum class turn { any_poll, perhaps_this_poll, the_next_poll };
  struct entry {
    key at;
    turn its = turn::any_poll;
  };

  static time_point before_never(time_point time) { return std::min(time, never - nanoseconds(1)); }

  /// Returns the first timer that any poll may fire.
  [[nodiscard]] key first() const {
    for (const key& each : armed_) {
      if (of_[std::get<2>(each)].its == turn::any_poll) return each;
    }
    return {never, 0, 0};
  }

  time_point polled_;
  std::vector<entry> of_;
  std::set<key> armed_;
  std::uint64_t sequence_ = 0;
  bool ended_ = true;
};

}  // namespace time_test
