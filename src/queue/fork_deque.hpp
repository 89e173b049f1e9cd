// The thief's side of a fork deque. rota/detail/fork_deque.hpp has the protocol.
#pragma once

#include "base/barrier.hpp"

#include <rota/detail/fork_deque.hpp>

namespace rota::queue {

/// The result of an attempt to steal a fork.
enum class [[nodiscard]] on_fork_steal : unsigned char {
  stolen,
  empty,
  lost,  // another thread took it
};

/// Returns how the owner of a deque pops on this machine.
[[nodiscard]] inline pop_barrier best_pop_barrier() noexcept {
  return base::has_heavy_barrier() ? pop_barrier::light : pop_barrier::exchange;
}

/// The end of a fork deque for all threads: checks and steals. It may be copied, and must not outlive the
/// deque.
template <class T, std::uint32_t Capacity>
class fork_thief {
 public:
  explicit fork_thief(fork_deque<T, Capacity>& from) noexcept : from_(&from) {}

  struct result {
    on_fork_steal status;
    T* item = nullptr;
  };

  /// Takes the oldest item.
  result steal() noexcept {
    if (!has_items()) return {on_fork_steal::empty};
    // seq_cst: the third of the four accesses, if the owner pops by an exchange.
    std::int64_t top = from_->top_.load(base::order::seq_cst);
    if (!from_->exchanges_) base::barrier_heavy();
    // seq_cst: the fourth of the four accesses. As an acquire it pairs with set_bottom().
    const std::int64_t bottom = from_->bottom_.load(base::order::seq_cst);
    if (top >= bottom) return {on_fork_steal::empty};
    // relaxed: it was written before the bottom passed it. If it is overwritten meanwhile, the CAS fails.
    T* const item = from_->slot(top).load(base::order::relaxed);
    // seq_cst: in one order with the owner's, and as a release it pairs with look_again(). failure: relaxed:
    // another thread has it.
    if (!from_->top_.compare_exchange_strong(top, top + 1, base::order::seq_cst, base::order::relaxed))
      return {on_fork_steal::lost};
    return {on_fork_steal::stolen, item};
  }

  /// Checks without a barrier: it may miss an item that was pushed just now, and see one that is gone.
  [[nodiscard]] bool has_items() const noexcept {
    // relaxed, both: a guess.
    const std::int64_t top = from_->top_.load(base::order::relaxed);
    return top < from_->bottom_.load(base::order::relaxed);
  }

 private:
  fork_deque<T, Capacity>* from_;
};

}  // namespace rota::queue
