// The interfaces of the system that a runtime may wait with.
#pragma once

namespace rota {

/// Which system interface waits for sockets.
enum class io_backend : unsigned char {
  automatic,  // the best that this build has
  epoll,
  uring,  // not in this version: std::invalid_argument
};

[[nodiscard]] constexpr const char* to_string(io_backend backend) noexcept {
  switch (backend) {
    case io_backend::automatic: return "automatic";
    case io_backend::epoll: return "epoll";
    case io_backend::uring: return "uring";
  }
  return "unknown";
}

}  // namespace rota
