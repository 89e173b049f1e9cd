// A descriptor that the driver watches, shared by the halves of a stream.
#pragma once

#include "base/atomic.hpp"
#include "base/sys/files.hpp"
#include "base/sys/sockets.hpp"
#include "driver/io_driver.hpp"

#include <rota/detail/net_leaves.hpp>

#include <utility>

namespace rota::net::detail {

/// Does an event follow whatever comes after a read that got less than it asked for? See P14, the registration.
enum class short_read : std::uint8_t { says_nothing, says_drained };

// PROTOCOL: socket
//   The registration orders who waits and what comes; here is what is the socket's own.
//
//   field        touched by
//   references_  whoever has one, and gives it to another
//   closed_      close() sets it, for good; each operation looks before and after its try
//   drained_     the one task that reads, in its operations
//   fd_          nobody changes it while there is more than one reference: the last one closes it. So a try never meets another descriptor
//
//   close: closed_ by an exchange; the first one ends the registration, which wakes all, and shuts the descriptor down.
//
//   S1  Who waits when it is closed is woken, and who comes later does not wait: P14, I4. Both look at closed_ before they try.
//   S2  A try that got nothing, and then sees closed_, has met the shutdown, or may have: it says errc::closed. One that got something has got it.
//   S3  drained_ is taken by each operation that reads, and set by a short read alone: what has consumed an event without emptying the
//       descriptor leaves it unset, and the next read tries first.
class socket {
 public:
  /// Watches `fd`, and owns it from now on, also when this fails. errc::no_runtime outside of a task.
  [[nodiscard]] static result<socket_ref> adopt(int fd, short_read what = short_read::says_nothing) noexcept;
  /// The same, but if this fails `fd` stays the caller's.
  /// Returns false if watch() says errc::no_runtime here. For what must not begin then.
  [[nodiscard]] static bool can_watch() noexcept;
  [[nodiscard]] static result<socket_ref> watch(int fd, short_read what = short_read::says_nothing) noexcept;

  socket(const socket&) = delete;
  socket& operator=(const socket&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  [[nodiscard]] driver::registration& events() const noexcept { return driver_->at(slot_); }

  [[nodiscard]] short_read kind() const noexcept { return kind_; }
  /// Not in a child of the process that made it: nobody would wake it there.
  [[nodiscard]] bool may_wait() const noexcept { return driver_->is_own_process(); }

  /// Any thread that has a reference.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire. Pairs with close(): what was done before is seen.
    return closed_.load(base::order::acquire);
  }

  // S3.
  void note_read(bool drained) noexcept { drained_ = drained && kind_ == short_read::says_drained; }
  [[nodiscard]] bool take_drained() noexcept { return std::exchange(drained_, false); }
  void put_drained_back() noexcept { drained_ = true; }

  void retain() noexcept;
  void release() noexcept;
  /// -1: others have a reference, too. Else the descriptor is watched no more, and the caller's.
  [[nodiscard]] int give_up() noexcept;

 private:
  struct watched {
    int fd;
    std::uint32_t slot;
    short_read kind;
  };
  socket(core::scheduler& owner, driver::io_driver& d, watched what) noexcept;
  ~socket();

  core::scheduler* owner_;  // its memory is held, and the driver with it: a socket may outlive its runtime
  driver::io_driver* driver_;
  int fd_;
  std::uint32_t slot_;
  short_read kind_;
  bool drained_ = false;
  base::atomic<bool> closed_{false};
  base::atomic<std::uint32_t> references_{1};
};

}  // namespace rota::net::detail
