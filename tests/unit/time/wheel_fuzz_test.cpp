// The wheel compared with std::set on the same random operations.
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "wheel_duel.hpp"

namespace wheel_fuzz_test {
namespace {

using namespace time_test;

enum class spread {
  nanoseconds_,
  one_millisecond,
  seconds_,
  hours_,
  years_,
  every_magnitude,
  slot_edges,
  same
};

struct profile {
  spread deadlines;
  unsigned timers;
  unsigned operations;
  std::uint64_t seed;
};

/// Runs one profile.
class game {
 public:
  explicit game(const profile& p)
      : profile_(p),
        random_(p.seed),
        duel_(at_tick(below(span_of(static_cast<unsigned>(below(7))))), p.timers) {}

  void play() {
    for (unsigned i = 0; i < profile_.operations && duel_.broken().empty(); ++i) step();
    duel_.end();
    EXPECT_EQ(duel_.broken(), "") << "seed " << profile_.seed << ", " << profile_.timers << " timers";
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void step() {
    const auto i = static_cast<unsigned>(below(profile_.timers));
    switch (below(9)) {
      case 0: advance(); return duel_.poll_all();
      case 1:
        advance();
        duel_.begin_poll();
        return pop_some();
      case 2: return pop_some();
      default:
        duel_.disarm(i);
        if (below(4) != 0) duel_.arm(i, pick());
    }
  }

  void pop_some() {
    const auto wanted = static_cast<unsigned>(below(20));
    duel_.pop(wanted, static_cast<unsigned>(below(20)));
  }

  time_point pick() {
    switch (below(40)) {
      case 0: return duel_.now();
      case 1: return duel_.now() - nanoseconds(below(10'000'000'000U));
      case 2: return never;
      case 3: return never - nanoseconds(1 + below(5));
      case 4: return time_point::min();
      case 5: return duel_.now() + 1ns;
      default: return later_by(duel_.now(), distance());
    }
  }

  std::uint64_t distance() {
    constexpr std::uint64_t second = 1'000'000'000;
    switch (profile_.deadlines) {
      case spread::nanoseconds_: return below(1'000);
      case spread::one_millisecond: return below(1'000'000);
      case spread::seconds_: return below(5 * second);
      case spread::hours_: return below(50 * 3'600 * second);
      case spread::years_: return below(20ULL * 365 * 86'400 * second);
      case spread::every_magnitude: return random_() >> (1 + below(63));
      case spread::slot_edges: return edge();
      case spread::same: return 3 * second;
    }
    return 0;
  }

  /// Returns a time within three milliseconds or three nanoseconds of an edge of a slot of some level.
  std::uint64_t edge() {
    const auto level = static_cast<unsigned>(below(7));
    const std::uint64_t next = up_to_slot(duel_.now(), level, 1 + below(65));
    return next + below(7) * (below(2) == 0 ? 1 : 1'000'000);
  }

  void advance() {
    time_point to = duel_.now();
    switch (below(12)) {
      case 0: to = later_by(duel_.now(), 1h / 1ns); break;
      case 1: to = later_by(duel_.now(), distance()); break;
      case 2:
      case 3: to = later_by(duel_.now(), below(2'000'000)); break;
      case 4: break;
      default: to = duel_.next_deadline();
    }
    // The clock stops short of the last century, so that there is always time ahead.
    if (to > duel_.now() && to < time_point(nanoseconds(std::int64_t{6'000'000'000'000'000'000}))) {
      duel_.set_clock(to);
    }
  }

  profile profile_;
  std::mt19937_64 random_;
  wheel_duel duel_;
};

class wheel_fuzz : public ::testing::TestWithParam<spread> {};

TEST_P(wheel_fuzz, agrees_with_a_sorted_set) {
  std::uint64_t seed = 100 * static_cast<std::uint64_t>(GetParam());
  for (const unsigned timers : {1U, 2U, 9U, 60U, 1'000U}) {
    for (unsigned round = 0; round < 10; ++round) game({GetParam(), timers, 5'000, ++seed}).play();
  }
}

INSTANTIATE_TEST_SUITE_P(spreads,
                         wheel_fuzz,
                         ::testing::Values(spread::nanoseconds_,
                                           spread::one_millisecond,
                                           spread::seconds_,
                                           spread::hours_,
                                           spread::years_,
                                           spread::every_magnitude,
                                           spread::slot_edges,
                                           spread::same));

}  // namespace
}  // namespace wheel_fuzz_test
