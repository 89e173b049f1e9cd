#include "base/mutex.hpp"

#include "base/futex.hpp"

namespace rota::base {

namespace {
constexpr std::uint32_t open = 0;
constexpr std::uint32_t held = 1;
constexpr std::uint32_t contended = 2;
constexpr int spins = 40;  // about half a microsecond: longer than any section that rota guards
}  // namespace

bool mutex::try_lock() noexcept {
  std::uint32_t seen = open;
  // acquire. Pairs with the release in unlock(). failure: relaxed. Nothing is read under a lock that was not taken.
  return word_.compare_exchange_strong(seen, held, order::acquire, order::relaxed);
}

void mutex::lock() noexcept {
  if (try_lock()) return;
  for (int i = 0; i < spins; ++i) {
    cpu_relax();
    // relaxed. A guess; the compare-exchange decides.
    if (word_.load(order::relaxed) == open && try_lock()) return;
  }
  // acquire. Pairs with the release in unlock(). Who slept may not be the last sleeper, so it keeps saying "contended".
  while (word_.exchange(contended, order::acquire) != open) {
    static_cast<void>(futex_wait(word_, contended, never));
  }
}

void mutex::unlock() noexcept {
  // release. Pairs with the acquire of the next owner.
  if (word_.exchange(open, order::release) == contended) futex_wake(&word_, 1);
}

}  // namespace rota::base
