// Locks are the machine's own: which of the waiters gets one is a choice. The word holds the number of the
// holder + 1.
#include "base/mutex.hpp"

#include "testing/machine.hpp"

namespace rota::base {

using testing::detail::active;

namespace {

constexpr std::uint32_t held_outside = ~0U;

}  // namespace

void mutex::lock() noexcept {
  if (active != nullptr) return active->lock({&word_, sizeof word_});
  // acquire. Pairs with unlock(), also outside of executions. Who prints a failed one may find a lock that stays held.
  if (word_.exchange(held_outside, order::acquire) != 0) testing::detail::abort_outside("a mutex is held");
}

bool mutex::try_lock() noexcept {
  if (active != nullptr) return active->try_lock({&word_, sizeof word_});
  // acquire. Pairs with unlock().
  return word_.exchange(held_outside, order::acquire) == 0;
}

void mutex::unlock() noexcept {
  if (active != nullptr) return active->unlock({&word_, sizeof word_});
  // release. Pairs with lock().
  word_.store(0, order::release);
}

}  // namespace rota::base
