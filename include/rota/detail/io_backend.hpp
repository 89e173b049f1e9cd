// The interfaces of the system that a runtime may wait with.
#pragma once

#include <cstdint>

namespace rota {

/// By what a runtime hears from the system. Sockets are waited for by epoll in any case.
enum class io_backend : unsigned char {
  automatic,  // what ROTA_IO in the environment says, `epoll` or `uring`; without it the best that can be had
  epoll,
  uring,  // not in this version: std::system_error, errc::unsupported
};

[[nodiscard]] constexpr const char* to_string(io_backend backend) noexcept {
  switch (backend) {
    case io_backend::automatic: return "automatic";
    case io_backend::epoll: return "epoll";
    case io_backend::uring: return "uring";
  }
  return "unknown";
}

/// What a runtime waits for in the system.
struct io_stats {
  std::uint64_t watched = 0;  // descriptors, now
};

}  // namespace rota
