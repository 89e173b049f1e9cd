// The I/O driver of a runtime: readiness by epoll, and completions if there is a ring.
#pragma once

#include "base/thread.hpp"
#include "driver/epoll.hpp"
#include "driver/ring.hpp"

#include <rota/detail/io_backend.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <system_error>

namespace rota::driver {

/// One for a runtime. Not virtual: readiness comes from epoll with every backend, and completions come from
/// an optional ring.
class io_driver {
 public:
  io_driver() = default;
  io_driver(const io_driver&) = delete;
  io_driver& operator=(const io_driver&) = delete;
  ~io_driver() = default;

  /// Opens the driver. `automatic` is epoll alone. EMFILE and the like. For the errors of `uring` see
  /// ring::make().
  [[nodiscard]] std::error_code open(io_backend wanted, const ring::sizes& sizes = {}) noexcept;
  /// Returns the backend in use, never `automatic`.
  [[nodiscard]] io_backend in_use() const noexcept {
    return ring_ == nullptr ? io_backend::epoll : io_backend::uring;
  }
  /// Returns the counters. Any thread.
  [[nodiscard]] io_stats stats() const noexcept;

  // For the scheduler; see sched::driver_ops.
  unsigned wait(base::time_point deadline, event* found, unsigned most) noexcept {
    return ring_ == nullptr ? epoll_.wait(deadline, found, most) : wait_for_both(deadline, found, most);
  }
  void dispatch(const event* found, unsigned count) noexcept;
  void interrupt() noexcept { epoll_.interrupt(); }
  void flush() noexcept {
    if (ring_ != nullptr && !ring_->flush()) tell_of_refusal();
  }

  // Readiness; see epoll. A child of the process that made this shares the epoll instance with it, but not
  // its threads. So in a child add() returns errc::forked, and the others change nothing. A caller that would
  // wait asks is_own_process() first: a thread of the parent may have held a lock at the fork.
  [[nodiscard]] std::expected<std::uint32_t, std::error_code> add(int fd,
                                                                  interest what = interest::both) noexcept;
  void remove(std::uint32_t slot) noexcept {
    if (is_own_process()) epoll_.remove(slot);
  }
  void remove_open(std::uint32_t slot, int fd) noexcept {
    if (is_own_process()) epoll_.remove_open(slot, fd);
  }
  [[nodiscard]] registration& at(std::uint32_t slot) noexcept { return epoll_.at(slot); }
  [[nodiscard]] bool is_own_process() const noexcept { return base::this_process_id() == process_; }

  /// Returns the ring, for descriptors that never report readiness: regular files. Returns null if there is
  /// no ring; then a thread that may block does the work. Also returns null in a child: the ring belongs to
  /// the parent.
  [[nodiscard]] ring* completions() noexcept { return is_own_process() ? ring_.get() : nullptr; }
  /// Returns the number of operations that the kernel has, or will get. A task waits for each of them.
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return ring_ == nullptr ? 0 : ring_->in_flight(); }

 private:
  unsigned wait_for_both(base::time_point deadline, event* found, unsigned most) noexcept;
  [[nodiscard]] base::time_point sooner_after_refusal(base::time_point deadline) noexcept;
  void tell_of_refusal() noexcept;

  epoll epoll_;
  std::unique_ptr<ring> ring_;
  // PROTOCOL: a refused flush
  //   The waiting thread repeats a refused flush after 1 to 100 ms. waits_ is 1 while a thread waits. The
  //   waiting thread sets it by a read-modify-write, then flushes. A thread with a refused flush reads it by
  //   a read-modify-write, and interrupts the driver if it is 1. Both use the same word: so of {flush
  //   refused, waiting without a limit} at least one side sees the other.
  base::atomic<std::uint32_t> waits_{0};
  base::nanoseconds pause_{0};  // used by the waiting thread
  const std::uint64_t process_ = base::this_process_id();
};

}  // namespace rota::driver
