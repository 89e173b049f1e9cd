#include "base/sys/files.hpp"

#include "base/linux/call.hpp"

#include <unistd.h>

namespace rota::base::sys {

void close(int fd) noexcept {
  before_system_call();
  // On Linux the descriptor is gone even when EINTR is returned: once, and never again.
  ::close(fd);
}

}  // namespace rota::base::sys
