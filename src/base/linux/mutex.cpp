#include "base/mutex.hpp"

#include "base/futex.hpp"

namespace rota::base {

namespace {
constexpr int spins = 40;  // about half a microsecond: longer than any critical section of rota
}  // namespace

void mutex::lock_slowly() noexcept {
  for (int i = 0; i < spins; ++i) {
    cpu_relax();
    // relaxed: a guess; the compare-exchange decides.
    if (word_.load(order::relaxed) == free && try_lock()) return;
  }
  // acquire: pairs with the release in unlock(). There may be other sleepers, so the word keeps saying
  // "contended".
  while (word_.exchange(contended, order::acquire) != free) {
    static_cast<void>(futex_wait(word_, contended, never));
  }
}

void mutex::wake_one() noexcept { futex_wake(&word_, 1); }

}  // namespace rota::base
