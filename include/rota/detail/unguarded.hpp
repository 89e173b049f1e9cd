// No code of a user's and no waker under a primitive's lock: what holds that.
#pragma once

#include <rota/detail/config.hpp>

namespace rota::base {

/// Ends the program if this thread has a lock. In a library without asserts nobody counts, and it does nothing.
ROTA_API void demand_no_lock() noexcept;

}  // namespace rota::base

namespace rota::core {

/// Before code of a user's, and before a wake. In builds with asserts; else nothing.
inline void demand_unguarded() noexcept {
#if !defined(NDEBUG) || ROTA_MODEL
  base::demand_no_lock();
#endif
}

}  // namespace rota::core
