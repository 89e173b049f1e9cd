// Counts the locks that this thread holds: a base::lock_guard, or a critical section of a wait list. Under a
// lock no user code runs and no task is woken. Builds with asserts check that. Other builds do not count.
#pragma once

#include "base/tls_slot.hpp"

#include <rota/detail/unguarded.hpp>

namespace rota::base {

#if !defined(NDEBUG) || ROTA_MODEL
inline void note_locked() noexcept { ++this_thread_locals().guarded; }
inline void note_unlocked() noexcept { --this_thread_locals().guarded; }
#else
inline void note_locked() noexcept {}
inline void note_unlocked() noexcept {}
#endif

}  // namespace rota::base
