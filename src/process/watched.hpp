// A descriptor that the driver watches, with one owner: a pipe's end, a pidfd.
#pragma once

#include "base/sys/processes.hpp"
#include "driver/io_driver.hpp"

#include <rota/process.hpp>

namespace rota::process::detail {

class watched {
 public:
  /// Owns `fd` from now on, unless this fails. errc::no_runtime outside of a task.
  [[nodiscard]] static result<watched_ptr> make(int fd) noexcept;
  /// The same, and closes it if it fails.
  [[nodiscard]] static result<watched_ptr> adopt(int fd) noexcept;

  watched(const watched&) = delete;
  watched& operator=(const watched&) = delete;
  ~watched();

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() const noexcept { return driver_->at(slot_); }
  /// Not watched any more, and the caller's.
  [[nodiscard]] int release() noexcept;

 private:
  watched(core::scheduler& owner, driver::io_driver& d, int fd, std::uint32_t slot) noexcept;

  core::scheduler* owner_;  // its memory is held, and the driver with it: this may outlive its runtime
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_;
};

}  // namespace rota::process::detail
