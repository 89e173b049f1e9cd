#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

#include <gtest/gtest.h>

#include <rota/detail/deadline.hpp>

namespace deadline_test {
namespace {

using namespace std::chrono_literals;
using rota::detail::saturating_deadline;
using time_point = std::chrono::steady_clock::time_point;

constexpr time_point now{1'000s};
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// All of it is constexpr, so overflow would not compile.
static_assert(saturating_deadline(now, 5ms) == now + 5ms);
static_assert(saturating_deadline(now, -5ms) == now - 5ms);
static_assert(saturating_deadline(now, 0s) == now);
static_assert(saturating_deadline(now, std::chrono::hours::max()) == time_point::max());
static_assert(saturating_deadline(now, std::chrono::hours::min()) == time_point::min());
static_assert(saturating_deadline(now, std::chrono::nanoseconds::max()) == time_point::max());
static_assert(saturating_deadline(now, std::chrono::nanoseconds::min()) ==
              time_point(std::chrono::nanoseconds(least)) + 1'000s);
static_assert(saturating_deadline(time_point::max(), 1ns) == time_point::max());
static_assert(saturating_deadline(time_point::max(), -1ns) == time_point::max() - 1ns);
static_assert(saturating_deadline(time_point::min(), -1h) == time_point::min());
static_assert(saturating_deadline(time_point::min(), std::chrono::hours::max()) == time_point::max());

TEST(deadline, a_fractional_span_is_kept_to_the_nanosecond) {
  EXPECT_EQ(saturating_deadline(now, 1.5s), now + 1'500ms);
  EXPECT_EQ(saturating_deadline(now, std::chrono::duration<float>(0.25F)), now + 250ms);
  EXPECT_EQ(saturating_deadline(now, -1.5s), now - 1'500ms);
}

TEST(deadline, a_span_between_two_nanoseconds_is_rounded_up) {
  using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
  EXPECT_EQ(saturating_deadline(now, picoseconds(1)), now + 1ns);
  EXPECT_EQ(saturating_deadline(now, picoseconds(1'000)), now + 1ns);
  EXPECT_EQ(saturating_deadline(now, picoseconds(1'001)), now + 2ns);
  EXPECT_EQ(saturating_deadline(now, picoseconds(-1'999)), now - 1ns);
  EXPECT_EQ(saturating_deadline(now, std::chrono::duration<double, std::nano>(1.25)), now + 2ns);
  EXPECT_EQ(saturating_deadline(now, std::chrono::duration<double, std::nano>(-1.25)), now - 1ns);
  EXPECT_EQ(saturating_deadline(now, std::chrono::duration<int, std::ratio<1, 3>>(1)), now + 333'333'334ns);
}

TEST(deadline, not_a_number_counts_as_zero_and_infinity_as_never) {
  using seconds = std::chrono::duration<double>;
  using limits = std::numeric_limits<double>;
  EXPECT_EQ(saturating_deadline(now, seconds(limits::quiet_NaN())), now);
  EXPECT_EQ(saturating_deadline(now, seconds(-limits::quiet_NaN())), now);
  EXPECT_EQ(saturating_deadline(now, seconds(limits::infinity())), time_point::max());
  EXPECT_EQ(saturating_deadline(now, seconds(-limits::infinity())), time_point::min());
  EXPECT_EQ(saturating_deadline(now, seconds::max()), time_point::max());
}

TEST(deadline, floats_at_the_edge_of_64_bits_do_not_overflow) {
  using nanoseconds = std::chrono::duration<double, std::nano>;
  const time_point zero{};
  EXPECT_EQ(saturating_deadline(zero, nanoseconds(9223372036854775808.0)), time_point::max());
  EXPECT_EQ(saturating_deadline(zero, nanoseconds(9223372036854774784.0)).time_since_epoch().count(),
            std::int64_t{9223372036854774784});
  EXPECT_EQ(saturating_deadline(zero, nanoseconds(-9223372036854775808.0)), time_point::min());
  EXPECT_EQ(saturating_deadline(zero, std::chrono::duration<long double, std::nano>(9223372036854775807.0L)),
            time_point::max());
}

TEST(deadline, extreme_units_saturate) {
  using exaseconds = std::chrono::duration<std::int64_t, std::exa>;
  using attoseconds = std::chrono::duration<std::int64_t, std::atto>;
  using odd = std::chrono::duration<std::int64_t, std::ratio<most, most - 1>>;
  EXPECT_EQ(saturating_deadline(now, exaseconds(most)), time_point::max());
  EXPECT_EQ(saturating_deadline(now, exaseconds(-1)), time_point::min());
  EXPECT_EQ(saturating_deadline(now, attoseconds(most)), now + 9'223'372'037ns);
  EXPECT_EQ(saturating_deadline(now, odd(most)), time_point::max());
  EXPECT_EQ(saturating_deadline(now, odd(1)), now + 1s + 1ns);
  EXPECT_EQ(saturating_deadline(now, std::chrono::duration<std::uint64_t>(~0ULL)), time_point::max());
  EXPECT_EQ(saturating_deadline(now, std::chrono::duration<std::uint8_t, std::milli>(255)), now + 255ms);
}

TEST(deadline, a_time_point_in_another_unit_becomes_a_deadline) {
  using std::chrono::steady_clock;
  EXPECT_EQ(saturating_deadline(std::chrono::time_point<steady_clock, std::chrono::hours>::max()),
            time_point::max());
  EXPECT_EQ(saturating_deadline(std::chrono::time_point<steady_clock, std::chrono::hours>::min()),
            time_point::min());
  EXPECT_EQ(saturating_deadline(now + 1.5s), now + 1'500ms);
  EXPECT_EQ(saturating_deadline(time_point::max()), time_point::max());
  EXPECT_EQ(saturating_deadline(time_point::min()), time_point::min());
}

}  // namespace
}  // namespace deadline_test
