// The interfaces of the system that a runtime may wait with.
#pragma once

#include <cstdint>

namespace rota {

/// By what a runtime hears from the system. Sockets are waited for by epoll in any case.
enum class io_backend : unsigned char {
  automatic,  // what ROTA_IO in the environment says, `epoll` or `uring`; without it epoll
  epoll,
  uring,  // and an io_uring beside it; std::system_error where it cannot be had
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
  // Of the io_uring, if it has one.
  std::uint64_t operations = 0;  // that were started
  std::uint64_t cancelled = 0;   // of which the kernel was told to end them
  std::uint64_t resubmitted =
      0;  // that the kernel gave back, since the thread that had submitted them has gone
  std::uint64_t overflows = 0;  // times that it had to keep completions for want of room
  std::uint64_t refused = 0;    // times that it took nothing, and was asked again
};

}  // namespace rota
