// The system calls of descriptors of any kind.
#pragma once

namespace rota::base::sys {

void close(int fd) noexcept;

}  // namespace rota::base::sys
