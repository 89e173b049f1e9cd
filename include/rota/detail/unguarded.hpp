// Checks the rule that no user code and no waker runs under a primitive's lock.
#pragma once

#include <rota/detail/config.hpp>

namespace rota::base {

/// Ends the program if this thread holds a lock. In a library that is built without asserts locks are not
/// counted, and it does nothing.
ROTA_API void demand_no_lock() noexcept;

}  // namespace rota::base

namespace rota::core {

/// Called before user code runs and before a wake. Checks in builds with asserts; otherwise does nothing.
inline void demand_unguarded() noexcept {
#if !defined(NDEBUG) || ROTA_MODEL
  base::demand_no_lock();
#endif
}

}  // namespace rota::core
