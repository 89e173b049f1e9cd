// A descriptor that the driver watches, with one owner: the end of a pipe, a pidfd.
#pragma once

#include "base/sys/processes.hpp"
#include "driver/io_driver.hpp"
#include "process/closing.hpp"

#include <rota/process.hpp>

namespace rota::process::detail {

class watched {
 public:
  /// Takes ownership of `fd`, unless this fails. errc::no_runtime outside of a task.
  [[nodiscard]] static result<watched_ptr> make(int fd) noexcept;
  /// The same, but closes `fd` if it fails.
  [[nodiscard]] static result<watched_ptr> adopt(int fd) noexcept;

  watched(const watched&) = delete;
  watched& operator=(const watched&) = delete;
  ~watched();

  /// Returns the descriptor. The caller must know that it is open: between enter() and leave(), or because no
  /// other code closes it.
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() const noexcept { return driver_->at(slot_); }
  /// Returns false in a fork of the process that made it: a waiter would never be woken there.
  [[nodiscard]] bool may_wait() const noexcept { return driver_->is_own_process(); }

  // See the protocol in closing.hpp.
  [[nodiscard]] bool enter() noexcept { return closing_.enter() == closing::on_enter::may_try; }
  void leave() noexcept;
  /// Closes the descriptor. Any thread. A waiter is woken and finds it closed.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return closing_.is_closed(); }

  /// Stops watching the descriptor and gives it to the caller.
  [[nodiscard]] int release() noexcept;

 private:
  watched(core::scheduler& owner, driver::io_driver& d, int fd, std::uint32_t slot) noexcept;

  core::scheduler* owner_;  // its memory is kept, and the driver with it: this may outlive its runtime
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_;
  closing closing_;
};

}  // namespace rota::process::detail
