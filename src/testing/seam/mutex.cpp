// Locks belong to the machine: the search chooses which waiter gets one. The word holds the number of the
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
  // acquire: pairs with unlock(), also outside of executions. The print of a failed execution may find a lock
  // that stays held.
  if (word_.exchange(held_outside, order::acquire) != 0) testing::detail::abort_outside("a mutex is held");
}

bool mutex::try_lock() noexcept {
  if (active != nullptr) return active->try_lock({&word_, sizeof word_});
  // acquire: pairs with unlock().
  return word_.exchange(held_outside, order::acquire) == 0;
}

void mutex::unlock() noexcept {
  if (active != nullptr) return active->unlock({&word_, sizeof word_});
  // release: pairs with lock().
  word_.store(0, order::release);
}

}  // namespace rota::base
