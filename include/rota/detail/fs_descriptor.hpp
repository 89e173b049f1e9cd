// A descriptor with one owner that no driver watches.
#pragma once

#include <utility>

#include <rota/detail/config.hpp>

namespace rota::fs::detail {

class ROTA_API descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    const int taken = std::exchange(other.fd_, -1);  // first: handles self-assignment
    const descriptor old(std::exchange(fd_, taken));
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ != -1) close();
  }

  /// Returns -1 if there is none.
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ != -1; }

 private:
  void close() noexcept;
  int fd_ = -1;
};

}  // namespace rota::fs::detail
