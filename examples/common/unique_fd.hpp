// Owns a file descriptor and closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace common {

class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    unique_fd old(std::move(*this));
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~unique_fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Releases the descriptor: the caller must close it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace common
