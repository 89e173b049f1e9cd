// A descriptor that the driver watches, shared by the halves of a stream.
#pragma once

#include "base/atomic.hpp"
#include "base/sys/files.hpp"
#include "base/sys/sockets.hpp"
#include "driver/io_driver.hpp"

#include <rota/detail/net_leaves.hpp>

#include <utility>

namespace rota::net::detail {

/// Whether bytes that come after a short read always have their own event. See P14, the registration.
enum class short_read : std::uint8_t { says_nothing, says_drained };

// PROTOCOL: socket
//   The registration (P14) orders waits and events; this is the state of the socket itself.
//
//   field        touched by
//   references_  its owners; an owner may give a reference to another one
//   closed_      close() sets it, for good; each operation checks it before and after its try
//   drained_     the one task that reads, in its operations
//   fd_          constant while there is more than one reference; the last owner closes it. So a try never
//                uses another descriptor
//
//   close: sets closed_ by an exchange. The first close ends the registration, which wakes all waiting tasks,
//          and shuts the descriptor down.
//
//   S1  A task that waits at the close is woken, and later tasks do not wait: P14, I4. Both check closed_
//       before they try.
//   S2  A try that got nothing, and then sees closed_, may have met the shutdown: it returns errc::closed. A
//       try that got bytes returns them.
//   S3  Each operation that reads clears drained_, and only a short read sets it. So an operation that has
//       consumed an event without emptying the descriptor leaves it clear, and the next read tries first.
class socket {
 public:
  /// Watches `fd`, and owns it from now on, even if this fails. errc::no_runtime outside of a task.
  [[nodiscard]] static result<socket_ref> adopt(int fd, short_read what = short_read::says_nothing) noexcept;
  /// Returns false if watch() would return errc::no_runtime here. For code that must not begin then.
  [[nodiscard]] static bool can_watch() noexcept;
  /// Like adopt(), but if it fails the caller keeps `fd`.
  [[nodiscard]] static result<socket_ref> watch(int fd, short_read what = short_read::says_nothing) noexcept;

  socket(const socket&) = delete;
  socket& operator=(const socket&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() const noexcept { return driver_->at(slot_); }

  [[nodiscard]] short_read kind() const noexcept { return kind_; }
  /// Returns false in a child of the process that made it: there no thread would wake the task.
  [[nodiscard]] bool may_wait() const noexcept { return driver_->is_own_process(); }

  /// Closes the socket. Any thread that has a reference.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire: pairs with the release in close(): what was done before is seen.
    return closed_.load(base::order::acquire);
  }

  // See S3.
  void note_read(bool drained) noexcept { drained_ = drained && kind_ == short_read::says_drained; }
  [[nodiscard]] bool take_drained() noexcept { return std::exchange(drained_, false); }
  void put_drained_back() noexcept { drained_ = true; }

  void retain() noexcept;
  void release() noexcept;
  /// Returns the descriptor, which is no longer watched and belongs to the caller; or -1 if there are other
  /// references.
  [[nodiscard]] int give_up() noexcept;

 private:
  struct watched {
    int fd;
    std::uint32_t slot;
    short_read kind;
  };
  socket(core::scheduler& owner, driver::io_driver& d, watched what) noexcept;
  ~socket();

  core::scheduler* owner_;  // keeps its memory and the driver: a socket may outlive its runtime
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_;
  short_read kind_;
  bool drained_ = false;
  base::atomic<bool> closed_{false};
  base::atomic<std::uint32_t> references_{1};
};

}  // namespace rota::net::detail
