// The thief's side of a fork deque. rota/detail/fork_deque.hpp has the protocol.
#pragma once

#include "base/barrier.hpp"

#include <rota/detail/fork_deque.hpp>

namespace rota::queue {

/// How an attempt to steal a fork ended.
enum class [[nodiscard]] on_fork_steal : unsigned char {
  stolen,
  empty,
  lost,  // another took it
};

/// How the owner of a deque pops on this machine.
[[nodiscard]] inline pop_barrier best_pop_barrier() noexcept {
  return base::has_heavy_barrier() ? pop_barrier::light : pop_barrier::exchange;
}

/// What everybody may do with a fork deque: look, and steal. Freely copied; must not outlive the deque.
template <class T, std::uint32_t Capacity>
class fork_thief {
 public:
  explicit fork_thief(fork_deque<T, Capacity>& from) noexcept : from_(&from) {}

  struct result {
    on_fork_steal status;
    T* item = nullptr;
  };

  /// Takes the oldest.
  result steal() noexcept {
    if (!has_items()) return {on_fork_steal::empty};
    // seq_cst. The third of four, where the owner pops by an exchange.
    std::int64_t top = from_->top_.load(base::order::seq_cst);
    if (!from_->exchanges_) base::barrier_heavy();
    // seq_cst. The fourth of four. As an acquire it pairs with set_bottom().
    const std::int64_t bottom = from_->bottom_.load(base::order::seq_cst);
    if (top >= bottom) return {on_fork_steal::empty};
    // relaxed. Written before the bottom passed it; if it is written again meanwhile, the CAS fails.
    T* const item = from_->slot(top).load(base::order::relaxed);
    // seq_cst. In one order with the owner's, and as a release it pairs with look_again(). failure: relaxed. Another has it.
    if (!from_->top_.compare_exchange_strong(top, top + 1, base::order::seq_cst, base::order::relaxed))
      return {on_fork_steal::lost};
    return {on_fork_steal::stolen, item};
  }

  /// A look without a barrier: it may miss what was pushed just now, and see what has gone.
  [[nodiscard]] bool has_items() const noexcept {
    // relaxed, both. A guess.
    const std::int64_t top = from_->top_.load(base::order::relaxed);
    return top < from_->bottom_.load(base::order::relaxed);
  }

 private:
  fork_deque<T, Capacity>* from_;
};

}  // namespace rota::queue
