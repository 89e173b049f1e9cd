// The wheel against std::set on the same random operations.
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "wheel_support.hpp"

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

/// Plays one profile. Every answer of the wheel is compared with the reference.
class duel {
 public:
  explicit duel(const profile& p)
      : profile_(p),
        random_(p.seed),
        now_(at_tick(below(span_of(static_cast<unsigned>(below(7)))))),
        wheel_(now_),
        node_(p.timers),
        key_(p.timers) {}

  void play() {
    for (unsigned i = 0; i < profile_.operations && !testing::Test::HasFatalFailure(); ++i) step();
    for (unsigned i = 0; i < node_.size(); ++i) {
      if (armed(i)) disarm(i);
    }
    EXPECT_EQ(wheel_.next_deadline(), never);
  }

 private:
  using key = std::tuple<time_point, std::uint64_t, unsigned>;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] bool armed(unsigned i) const { return reference_.count(key_[i]) != 0; }

  void step() {
    const auto i = static_cast<unsigned>(below(node_.size()));
    switch (below(8)) {
      case 0: return poll_all();
      case 1: return poll_some();
      default:
        if (armed(i)) disarm(i);
        if (below(4) != 0) arm(i);
    }
    check_next();
  }

  void arm(unsigned i) {
    const time_point deadline = pick();
    key_[i] = {deadline, ++sequence_, i};
    reference_.insert(key_[i]);
    wheel_.insert(node_[i], deadline);
  }

  void disarm(unsigned i) {
    reference_.erase(key_[i]);
    wheel_.remove(node_[i]);
  }

  time_point pick() {
    switch (below(40)) {
      case 0: return now_;
      case 1: return now_ - nanoseconds(below(10'000'000'000U));
      case 2: return never;
      case 3: return never - nanoseconds(1 + below(5));
      case 4: return time_point::min();
      case 5: return now_ + 1ns;
      default: return saturating(distance());
    }
  }

  time_point saturating(std::uint64_t ahead) const {
    const auto room = static_cast<std::uint64_t>((never - now_).count());
    return ahead >= room ? never - 1ns : now_ + nanoseconds(static_cast<std::int64_t>(ahead));
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

  /// Within three milliseconds or three nanoseconds of an edge of a slot of some level.
  std::uint64_t edge() {
    const std::uint64_t slot = span_of(static_cast<unsigned>(below(7))) * 1'000'000;
    const auto here = static_cast<std::uint64_t>(now_.time_since_epoch().count());
    const std::uint64_t next = (here / slot + 1 + below(65)) * slot;
    return next - here + below(7) * (below(2) == 0 ? 1 : 1'000'000);
  }

  void advance() {
    time_point to = now_;
    switch (below(12)) {
      case 0: to = saturating(1h / 1ns); break;
      case 1: to = saturating(distance()); break;
      case 2:
      case 3: to = saturating(below(2'000'000)); break;
      case 4: break;
      default: to = wheel_.next_deadline();
    }
    // The clock stops short of the last century, so that there is always time ahead.
    if (to > now_ && to < time_point(nanoseconds(std::int64_t{6'000'000'000'000'000'000}))) now_ = to;
  }

  void check_next() {
    const time_point said = wheel_.next_deadline();
    time_point earliest = never;
    if (!reference_.empty()) earliest = std::get<0>(*reference_.begin());
    ASSERT_LE(said, earliest);
    if (node_.size() <= 9 && !cut_short_) {
      ASSERT_EQ(said, earliest) << "few timers, so the bound is exact";
    }
  }

  /// Fires what is due and compares the order. A poll that was cut short before may leave some to the next.
  void poll_all() {
    advance();
    const bool whole = !cut_short_;
    do {
      const auto fired = poll(wheel_, now_);
      for (auto* node : fired) ASSERT_NO_FATAL_FAILURE(expect_next(node));
      if (whole) break;
    } while (wheel_.next_deadline() <= now_);
    cut_short_ = false;
    ASSERT_TRUE(reference_.empty() || std::get<0>(*reference_.begin()) > now_) << "a due timer did not fire";
    ASSERT_GT(wheel_.next_deadline(), now_) << "no progress";
    check_next();
  }

  void expect_next(const timer_node* node) {
    ASSERT_FALSE(reference_.empty());
    const auto i = static_cast<std::size_t>(node - node_.data());
    ASSERT_LE(std::get<0>(key_[i]), now_) << "early";
    if (!cut_short_) {
      ASSERT_EQ(*reference_.begin(), key_[i]) << "order";
    }
    ASSERT_EQ(reference_.erase(key_[i]), 1U) << "twice";
  }

  void poll_some() {
    advance();
    wheel_.begin_poll(now_);
    unsigned effort = static_cast<unsigned>(below(20));
    unsigned wanted = static_cast<unsigned>(below(20));
    while (wanted-- > 0) {
      const auto* node = wheel_.pop(effort);
      if (node == nullptr) break;
      ASSERT_NO_FATAL_FAILURE(expect_next(node));
    }
    cut_short_ = true;
    check_next();
  }

  profile profile_;
  std::mt19937_64 random_;
  time_point now_;
  wheel wheel_;
  std::vector<timer_node> node_;
  std::vector<key> key_;
  std::set<key> reference_;
  std::uint64_t sequence_ = 0;
  bool cut_short_ = false;
};

class wheel_fuzz : public testing::TestWithParam<spread> {};

TEST_P(wheel_fuzz, agrees_with_a_sorted_set) {
  std::uint64_t seed = 100 * static_cast<std::uint64_t>(GetParam());
  for (const unsigned timers : {1U, 2U, 9U, 60U, 1'000U}) {
    for (unsigned round = 0; round < 10; ++round) duel({GetParam(), timers, 5'000, ++seed}).play();
  }
}

INSTANTIATE_TEST_SUITE_P(spreads,
                         wheel_fuzz,
                         testing::Values(spread::nanoseconds_,
                                         spread::one_millisecond,
                                         spread::seconds_,
                                         spread::hours_,
                                         spread::years_,
                                         spread::every_magnitude,
                                         spread::slot_edges,
                                         spread::same));

}  // namespace
