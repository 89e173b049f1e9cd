#include <rota/gate/signal_waker.hpp>

#include "base/bits.hpp"
#include "base/futex.hpp"

namespace rota::gate {

std::optional<unsigned> signal_waker::try_take() noexcept {
  // relaxed. A guess; unmark() acquires.
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
  // acquire. Pairs with mark(): the look at the word that follows sees the bits of who marked before.
  bits_.fetch_and(~base::bit(index), base::order::acquire);
}

bool signal_waker::park(std::chrono::steady_clock::time_point deadline) noexcept {
  constexpr auto parked_alone = static_cast<std::uint32_t>(parked >> 32U);
  std::uint64_t none = 0;
  // relaxed. Decided in this word's one order; whoever finds a mark takes it, which acquires. failure: relaxed. The same.
  if (!bits_.compare_exchange_strong(none, parked, base::order::relaxed, base::order::relaxed) &&
      none != parked)
    return true;
  // PARKED alone: a forked child has it from a consumer that sleeps in the parent. It is this consumer's now.
  for (;;) {
    const base::wait_result end = base::futex_wait_upper(bits_, parked_alone, deadline);
    // relaxed. As above.
    if (bits_.load(base::order::relaxed) != parked) return true;
    if (end != base::wait_result::timed_out) continue;
    std::uint64_t still = parked;
    // relaxed. As above: a mark that was faster has taken PARKED, and is there to be taken. failure: relaxed. The same.
    return !bits_.compare_exchange_strong(still, 0, base::order::relaxed, base::order::relaxed);
  }
}

void signal_waker::wake() noexcept { base::futex_wake_upper(&bits_, 1); }

}  // namespace rota::gate
