// A four-byte lock for short critical sections, as a member of public classes.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::base {

// PROTOCOL: mutex word (Drepper, "Futexes Are Tricky", mutex 2)
//   0 free · 1 held, no waiter · 2 held, there may be a waiter
// lock() moves 0 -> 1. Otherwise it exchanges 2, and sleeps as long as the exchange returns a value other
// than 0. unlock() exchanges 0, and wakes one waiter if the old value was 2.
// The word of the lock orders the data that it guards: lock() acquires, unlock() releases.
// The exchange is the last access of unlock() to the word: a thread that takes the lock after it may free the
// memory.
class mutex {
 public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() = default;

#if ROTA_MODEL
  void lock() noexcept;
  [[nodiscard]] bool try_lock() noexcept;
  void unlock() noexcept;
#else
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_slowly();
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t seen = free;
    // acquire: pairs with the release in unlock(). failure: relaxed: without the lock the caller reads
    // nothing.
    return word_.compare_exchange_strong(seen, held, order::acquire, order::relaxed);
  }
  void unlock() noexcept {
    // release: pairs with the acquire of the next owner.
    if (word_.exchange(free, order::release) == contended) [[unlikely]]
      wake_one();
  }
#endif
  /// Returns true if no thread holds the lock. The caller then sees what was done under it.
  [[nodiscard]] bool is_free() const noexcept {
    // acquire: pairs with the release in unlock().
    return word_.load(order::acquire) == 0;
  }

 private:
#if !ROTA_MODEL
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t contended = 2;

  ROTA_API void lock_slowly() noexcept;
  ROTA_API void wake_one() noexcept;
#endif
  atomic<std::uint32_t> word_{0};
};

}  // namespace rota::base
