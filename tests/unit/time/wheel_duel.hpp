// Runs each operation on the wheel and on the reference, and compares every result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/verdict.hpp"
#include "timer_reference.hpp"

namespace time_test {

/// Returns the time `ahead` nanoseconds after `now`, or the last one before `never`.
[[nodiscard]] inline time_point later_by(time_point now, std::uint64_t ahead) {
  const auto room = static_cast<std::uint64_t>(never.time_since_epoch().count()) -
                    static_cast<std::uint64_t>(now.time_since_epoch().count());
  if (ahead >= room) return never - nanoseconds(1);
  const auto at = static_cast<std::uint64_t>(now.time_since_epoch().count()) + ahead;
  return time_point(nanoseconds(static_cast<std::int64_t>(at)));
}

/// Returns the nanoseconds from `now` to the beginning of the slot of this level that is `slots` ahead.
[[nodiscard]] inline std::uint64_t up_to_slot(time_point now, unsigned level, std::uint64_t slots) {
  const std::uint64_t slot = span_of(level) * 1'000'000;
  const auto here = static_cast<std::uint64_t>(now.time_since_epoch().count());
  return (here / slot + slots) * slot - here;
}

class wheel_duel {
 public:
  wheel_duel(time_point now, unsigned timers)
      : now_(now), wheel_(now), node_(timers), reference_(now, timers) {}

  [[nodiscard]] time_point now() const { return now_; }
  [[nodiscard]] time_point next_deadline() const { return wheel_.next_deadline(); }
  [[nodiscard]] const timer_reference& reference() const { return reference_; }
  [[nodiscard]] const std::string& broken() const { return verdict_.broken(); }

  /// Moves the clock, also back. The wheel sees it at the next poll.
  void set_clock(time_point to) { now_ = to; }

  void arm(unsigned i, time_point deadline) {
    disarm(i);
    reference_.insert(i, deadline);
    wheel_.insert(node_[i], deadline);
    check_next();
  }

  void disarm(unsigned i) {
    if (!reference_.holds(i)) return;
    reference_.erase(i);
    wheel_.remove(node_[i]);
    check_next();
  }

  void begin_poll() {
    reference_.begin_poll(now_);
    wheel_.begin_poll(now_);
  }

  /// Fires at most `wanted` timers, and moves at most `effort`.
  void pop(unsigned wanted, unsigned effort) {
    while (wanted-- > 0 && broken().empty()) {
      const auto* node = wheel_.pop(effort);
      if (node != nullptr) {
        note(reference_.fire(static_cast<unsigned>(node - node_.data())));
      } else if (effort > 0) {
        note(reference_.end_poll());
        opened_in_part_ = false;
        break;
      }
      if (effort == 0) {
        opened_in_part_ = true;
        break;
      }
    }
    check_next();
  }

  /// Fires all due timers: in one poll, or in two if the last poll was interrupted.
  void poll_all() {
    begin_poll();
    pop(plenty, plenty);
    if (reference_.earliest() <= reference_.polled()) {
      begin_poll();
      pop(plenty, plenty);
    }
    verdict_.expect(reference_.earliest() > reference_.polled(), "a timer is left behind");
    verdict_.expect(wheel_.next_deadline() > reference_.polled(), "no progress");
  }

  /// Disarms all timers.
  void end() {
    for (unsigned i = 0; i < reference_.size(); ++i) disarm(i);
    verdict_.expect(wheel_.next_deadline() == never, "an empty wheel has a deadline");
  }

 private:
  void note(const char* complaint) {
    if (complaint != nullptr) verdict_.expect(false, complaint);
  }

  void check_next() {
    const time_point said = wheel_.next_deadline();
    verdict_.expect(said <= reference_.earliest(), "the next deadline is too late");
    // A removal finds the bound again among at most 8 others.
    if (reference_.size() <= 9 && !opened_in_part_) {
      verdict_.expect(said == reference_.earliest(), "the next deadline of few timers is not exact");
    }
  }

  time_point now_;
  rota::test::verdict verdict_;
  wheel wheel_;
  std::vector<timer_node> node_;
  timer_reference reference_;
  bool opened_in_part_ = false;
};

}  // namespace time_test
