// From any std::chrono duration to an absolute deadline, without overflow.
#pragma once

#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>

#include <cstdint>
#include <type_traits>

namespace rota::detail {

__extension__ using wide_int = __int128;

/// std::gcd without <numeric>, which costs more than all the rest of this header.
[[nodiscard]] constexpr std::int64_t greatest_common_divisor(std::int64_t a, std::int64_t b) noexcept {
  while (b != 0) {
    const std::int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// More than the distance of any two time points.
inline constexpr wide_int endless = wide_int{1} << 66;

/// Returns `count` times `num`/`den`, rounded up, and `endless` (below zero `-endless`) if the product
/// overflows. `num` and `den` are above zero.
[[nodiscard]] constexpr wide_int scale(wide_int count, wide_int num, wide_int den) noexcept {
  wide_int product = 0;
  // A product beyond 127 bits is beyond 63 bits after the division too, since den has at most 63.
  if (__builtin_mul_overflow(count, num, &product)) return count < 0 ? -endless : endless;
  const wide_int quotient = product / den;
  return product % den > 0 ? quotient + 1 : quotient;
}

/// Returns `value` rounded up, and `endless` (or `-endless`) if it is beyond that. Not a number counts as
/// zero.
[[nodiscard]] constexpr wide_int round_up(long double value) noexcept {
  if (!(value == value)) return 0;
  if (value >= static_cast<long double>(endless)) return endless;
  if (value <= -static_cast<long double>(endless)) return -endless;
  const auto whole = static_cast<wide_int>(value);
  return static_cast<long double>(whole) < value ? whole + 1 : whole;
}

/// A duration in whole nanoseconds. Rounds up, since a timer must not be early.
template <class Rep, class Period>
[[nodiscard]] constexpr wide_int whole_nanoseconds(const std::chrono::duration<Rep, Period>& span) noexcept {
  constexpr std::int64_t per_second = 1'000'000'000;
  constexpr std::int64_t common = greatest_common_divisor(per_second, std::int64_t{Period::den});
  if constexpr (std::is_integral_v<Rep>) {
    return scale(static_cast<wide_int>(span.count()),
                 wide_int{Period::num} * (per_second / common),
                 wide_int{Period::den / common});
  } else {
    constexpr long double factor = static_cast<long double>(Period::num) *
                                   static_cast<long double>(per_second) /
                                   static_cast<long double>(Period::den);
    return round_up(static_cast<long double>(span.count()) * factor);
  }
}

/// Returns any duration in nanoseconds, rounded up. A duration out of range becomes the longest or the
/// shortest that there is.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::nanoseconds saturating_span(
    const std::chrono::duration<Rep, Period>& span) noexcept {
  const wide_int length = whole_nanoseconds(span);
  if (length > std::chrono::nanoseconds::max().count()) return std::chrono::nanoseconds::max();
  if (length < std::chrono::nanoseconds::min().count()) return std::chrono::nanoseconds::min();
  return std::chrono::nanoseconds(static_cast<std::int64_t>(length));
}

/// Refuses a number, which has no unit. `Use` is another type at each call, so that the compiler reports each
/// of them.
template <class Number, class Use>
constexpr void refuse_number() noexcept {
  static_assert(never<Number, Use>,
                "a span of time needs a unit: a std::chrono::duration, as 10ms or std::chrono::seconds(1)");
}
template <class Number, class Use = decltype([] {})>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] constexpr std::chrono::nanoseconds saturating_span(Number /*span*/) noexcept {
  refuse_number<Number, Use>();
  return {};
}

/// Returns `now + span`, for any duration. hours::max() gives time_point::max(), which never fires. A span
/// below zero gives a deadline in the past, which fires at the next poll. 1.5 s is 1.5 s. Not a number counts
/// as zero.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::steady_clock::time_point saturating_deadline(
    std::chrono::steady_clock::time_point now, const std::chrono::duration<Rep, Period>& span) noexcept {
  using time_point = std::chrono::steady_clock::time_point;
  const wide_int length = whole_nanoseconds(span);
  if (length >= endless) return time_point::max();
  if (length <= -endless) return time_point::min();
  const wide_int sum = length + now.time_since_epoch().count();
  if (sum > time_point::max().time_since_epoch().count()) return time_point::max();
  if (sum < time_point::min().time_since_epoch().count()) return time_point::min();
  return time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(sum)));
}

template <class Number, class Use = decltype([] {})>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] constexpr std::chrono::steady_clock::time_point saturating_deadline(
    std::chrono::steady_clock::time_point now, Number /*span*/) noexcept {
  refuse_number<Number, Use>();
  return now;
}

/// Converts a time point of the steady clock in any unit to a deadline. It rounds up and saturates like the
/// function above.
template <class Duration>
[[nodiscard]] constexpr std::chrono::steady_clock::time_point saturating_deadline(
    const std::chrono::time_point<std::chrono::steady_clock, Duration>& at) noexcept {
  return saturating_deadline(std::chrono::steady_clock::time_point{}, at.time_since_epoch());
}

}  // namespace rota::detail

namespace rota::core {

/// The parameter type of a function that takes a span of time: any duration. A number is accepted, too, so
/// that one error message says that the unit is missing.
template <class T>
concept span_of_time =
    std::is_arithmetic_v<T> || requires(const T& span) { rota::detail::whole_nanoseconds(span); };

}  // namespace rota::core
