#include "base/barrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rota::base {

namespace {

long membarrier(int command) noexcept {
  before_system_call();
  return ::syscall(SYS_membarrier, command, 0U, 0);
}

bool register_process() noexcept { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; }

}  // namespace

bool has_heavy_barrier() noexcept {
  static const bool registered = register_process();
  return registered;
}

void barrier_heavy() noexcept {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
    ROTA_FATAL("membarrier(2) failed after it was registered", 0);
}

}  // namespace rota::base
