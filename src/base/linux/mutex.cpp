#include "base/mutex.hpp"

#include "base/futex.hpp"

namespace rota::base {

namespace {
constexpr int spins = 40;  // about half a microsecond: longer than any section that rota guards
}  // namespace

void mutex::lock_slowly() noexcept {
  for (int i = 0; i < spins; ++i) {
    cpu_relax();
    // relaxed. A guess; the compare-exchange decides.
    if (word_.load(order::relaxed) == free && try_lock()) return;
  }
  // acquire. Pairs with the release in unlock(). Who slept may not be the last sleeper, so it keeps saying "contended".
  while (word_.exchange(contended, order::acquire) != free) {
    static_cast<void>(futex_wait(word_, contended, never));
  }
}

void mutex::wake_one() noexcept { futex_wake(&word_, 1); }

}  // namespace rota::base
