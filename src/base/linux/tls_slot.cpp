#include "base/tls_slot.hpp"

namespace rota::base {

namespace {
constinit thread_local thread_locals locals;
}

thread_locals& this_thread_locals() noexcept {
  asm volatile("");  // keeps two calls two calls: the caller may have moved to another thread in between
  return locals;
}

}  // namespace rota::base
