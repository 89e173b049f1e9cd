#include <rota/testing/shared.hpp>

#include "testing/machine.hpp"

namespace rota::testing {

using detail::active;

namespace {

/// Outside of executions there is one thread, so a wait would never end.
void demand(bool holds, const char* what) noexcept {
  if (!holds) detail::abort_outside(what);
}

}  // namespace

void mutex::lock(place where) noexcept {
  if (active != nullptr) return active->lock({&word_, sizeof word_}, where);
  demand(try_lock(where), "a mutex is held");
}

bool mutex::try_lock(place where) noexcept {
  if (active != nullptr) return active->try_lock({&word_, sizeof word_}, where);
  // acquire: pairs with unlock().
  return word_.exchange(1, order::acquire) == 0;
}

void mutex::unlock(place where) noexcept {
  if (active != nullptr) return active->unlock({&word_, sizeof word_}, where);
  // release: pairs with try_lock().
  demand(word_.exchange(0, order::release) == 1, "a mutex is unlocked that is not held");
}

}  // namespace rota::testing
