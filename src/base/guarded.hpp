// Whether this thread has a lock: a base::lock_guard, or a section of a wait list. Nothing of a user's runs there, and nobody is woken.
// Asked in builds with asserts; in others it is not even counted.
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
