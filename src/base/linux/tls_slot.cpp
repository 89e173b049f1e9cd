#include "base/tls_slot.hpp"

namespace rota::base {

constinit thread_local thread_locals locals_of_thread;

}  // namespace rota::base
