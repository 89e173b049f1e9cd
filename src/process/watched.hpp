// A descriptor that the driver watches, with one owner: a pipe's end, a pidfd.
#pragma once

#include "base/sys/processes.hpp"
#include "driver/io_driver.hpp"
#include "process/closing.hpp"

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

  /// Of a user who knows that it is open: between enter() and leave(), or because nobody closes it.
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() const noexcept { return driver_->at(slot_); }
  /// Not in a fork of the process that made it: nobody would wake it there.
  [[nodiscard]] bool may_wait() const noexcept { return driver_->is_own_process(); }

  // See P: closing.
  [[nodiscard]] bool enter() noexcept { return closing_.enter() == closing::on_enter::may_try; }
  void leave() noexcept;
  /// Any thread. Whoever waits is woken, and finds it closed.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return closing_.is_closed(); }

  /// Not watched any more, and the caller's.
  [[nodiscard]] int release() noexcept;

 private:
  watched(core::scheduler& owner, driver::io_driver& d, int fd, std::uint32_t slot) noexcept;

  core::scheduler* owner_;  // its memory is held, and the driver with it: this may outlive its runtime
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_;
  closing closing_;
};

}  // namespace rota::process::detail
