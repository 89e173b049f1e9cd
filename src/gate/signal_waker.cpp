#include <rota/gate/signal_waker.hpp>

#include "base/bits.hpp"
#include "base/futex.hpp"

namespace rota::gate {

std::optional<unsigned> signal_waker::try_take() noexcept {
  // relaxed: a hint; unmark() acquires.
  const std::uint64_t seen = bits_.load(base::order::relaxed) & ~parked;
  if (seen == 0) return std::nullopt;
  const std::uint64_t from_next = seen & ~(base::bit(next_.get()) - 1);
  const unsigned index = base::lowest_bit(from_next != 0 ? from_next : seen);
  next_.set((index + 1) % words);
  unmark(index);
  return index;
}

unsigned signal_waker::wait() noexcept {
  for (;;) {
    if (const auto index = try_take()) return *index;
    static_cast<void>(park(base::never));
  }
}

std::optional<unsigned> signal_waker::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  for (;;) {
    if (const auto index = try_take()) return index;
    if (!park(deadline)) return std::nullopt;
  }
}

void signal_waker::unmark(unsigned index) noexcept {
  // acquire: pairs with mark(): the take of the word that follows sees the bits that were set before the
  // marks.
  bits_.fetch_and(~base::bit(index), base::order::acquire);
}

bool signal_waker::park(std::chrono::steady_clock::time_point deadline) noexcept {
  constexpr auto parked_alone = static_cast<std::uint32_t>(parked >> 32U);
  std::uint64_t none = 0;
  // relaxed: the result depends on the modification order of this word alone; a consumer that finds a mark
  // takes it, which acquires. failure: relaxed: the same reason.
  if (!bits_.compare_exchange_strong(none, parked, base::order::relaxed, base::order::relaxed) &&
      none != parked)
    return true;
  // PARKED alone: in a forked child it was left by a consumer that sleeps in the parent. It now belongs to
  // this consumer.
  for (;;) {
    const base::wait_result end = base::futex_wait_upper(bits_, parked_alone, deadline);
    // relaxed: same reason as for the compare-exchange above.
    if (bits_.load(base::order::relaxed) != parked) return true;
    if (end != base::wait_result::timed_out) continue;
    std::uint64_t still = parked;
    // relaxed: a mark that came first has cleared PARKED, and its bit can be taken. failure: relaxed: the
    // same reason.
    return !bits_.compare_exchange_strong(still, 0, base::order::relaxed, base::order::relaxed);
  }
}

void signal_waker::wake() noexcept { base::futex_wake_upper(&bits_, 1); }

}  // namespace rota::gate
