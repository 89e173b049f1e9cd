// Whether this thread is inside of a section under a primitive's lock: nothing of a user's runs there, and nobody is woken. Asked in
// builds with asserts.
#pragma once

#include "base/tls_slot.hpp"

#include <rota/detail/config.hpp>

namespace rota::core {

#if !defined(NDEBUG) || ROTA_MODEL
inline void enter_section() noexcept { ++base::this_thread_locals().guarded; }
inline void leave_section() noexcept { --base::this_thread_locals().guarded; }
inline void demand_no_section() noexcept {
  if (base::this_thread_locals().guarded != 0) [[unlikely]]
    ROTA_FATAL("a waker, or a user's code, under the lock of a primitive", 0);
}
#else
inline void enter_section() noexcept {}
inline void leave_section() noexcept {}
inline void demand_no_section() noexcept {}
#endif

}  // namespace rota::core
