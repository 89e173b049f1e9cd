// A four-byte lock for short critical sections, as a member of public classes.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::base {

// PROTOCOL: mutex word (Drepper, "Futexes Are Tricky", mutex 2)
//   0 free · 1 held, nobody waits · 2 held, somebody may wait
// lock() moves 0 -> 1, or exchanges 2 and sleeps while it was not 0; unlock() exchanges 0 and wakes one if it was 2.
// The lock's word orders what it guards: acquire on taking, release on giving.
// unlock() touches the word for the last time when it exchanges: whoever has taken the lock after it may free the memory.
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
    // acquire. Pairs with the release in unlock(). failure: relaxed. Nothing is read under a lock that was not taken.
    return word_.compare_exchange_strong(seen, held, order::acquire, order::relaxed);
  }
  void unlock() noexcept {
    // release. Pairs with the acquire of the next owner.
    if (word_.exchange(free, order::release) == contended) [[unlikely]]
      wake_one();
  }
#endif
  /// Nobody is inside; and what was done there is seen.
  [[nodiscard]] bool is_free() const noexcept {
    // acquire. Pairs with unlock().
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
