// A descriptor that the driver watches, shared by the halves of a stream.
#pragma once

#include "base/atomic.hpp"
#include "base/sys/files.hpp"
#include "base/sys/sockets.hpp"
#include "driver/io_driver.hpp"

#include <rota/detail/net_leaves.hpp>

namespace rota::net::detail {

class socket {
 public:
  /// Watches `fd`, and owns it from now on, also when this fails. errc::no_runtime outside of a task.
  [[nodiscard]] static result<socket_ref> adopt(int fd) noexcept;
  /// The same, but if this fails `fd` stays the caller's.
  [[nodiscard]] static result<socket_ref> watch(int fd) noexcept;

  socket(const socket&) = delete;
  socket& operator=(const socket&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() const noexcept { return driver_->at(slot_); }

  void retain() noexcept;
  void release() noexcept;
  /// -1: others have a reference, too. Else the descriptor is watched no more, and the caller's.
  [[nodiscard]] int give_up() noexcept;

 private:
  socket(core::scheduler& owner, driver::io_driver& d, int fd, std::uint32_t slot) noexcept;
  ~socket();

  core::scheduler* owner_;  // its memory is held, and the driver with it: a socket may outlive its runtime
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_;
  base::atomic<std::uint32_t> references_{1};
};

}  // namespace rota::net::detail
