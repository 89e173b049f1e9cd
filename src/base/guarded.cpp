#include "base/guarded.hpp"

namespace rota::base {

void demand_no_lock() noexcept {
#if !defined(NDEBUG) || ROTA_MODEL
  if (this_thread_locals().guarded != 0) [[unlikely]]
    ROTA_FATAL("a waker, or a user's code, under the lock of a primitive", this_thread_locals().guarded);
#endif
}

}  // namespace rota::base
