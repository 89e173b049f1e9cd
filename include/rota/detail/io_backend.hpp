// The system interfaces with which a runtime may wait.
#pragma once

#include <cstdint>

namespace rota {

/// The system interface with which a runtime waits for I/O. Sockets are waited for by epoll in any case.
enum class io_backend : unsigned char {
  automatic,  // the value of ROTA_IO in the environment, `epoll` or `uring`; epoll if it is not set
  epoll,
  uring,  // epoll, and an io_uring beside it; std::system_error where io_uring is not available
};

[[nodiscard]] constexpr const char* to_string(io_backend backend) noexcept {
  switch (backend) {
    case io_backend::automatic: return "automatic";
    case io_backend::epoll: return "epoll";
    case io_backend::uring: return "uring";
  }
  return "unknown";
}

/// Counters of what a runtime waits for in the system.
struct io_stats {
  std::uint64_t watched = 0;  // descriptors, now
  // Of the io_uring, if there is one.
  std::uint64_t operations = 0;  // operations that were started
  std::uint64_t cancelled = 0;   // operations that the kernel was told to cancel
  // Operations that the kernel returned because the thread that had submitted them has ended; they are
  // submitted again.
  std::uint64_t resubmitted = 0;
  std::uint64_t overflows = 0;  // how often the kernel had to keep completions because the ring was full
  std::uint64_t refused = 0;    // flushes that the kernel refused; they are repeated
};

}  // namespace rota
