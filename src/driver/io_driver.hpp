// What a runtime hears from the kernel by: readiness, and completions if there are any.
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

/// One for a runtime. Not virtual: readiness is epoll's with every backend, and completions are there or they are not.
class io_driver {
 public:
  io_driver() = default;
  io_driver(const io_driver&) = delete;
  io_driver& operator=(const io_driver&) = delete;
  ~io_driver() = default;

  /// `automatic` is epoll alone. EMFILE and the like; `uring` that cannot be had: see ring::make().
  [[nodiscard]] std::error_code open(io_backend wanted, const ring::sizes& sizes = {}) noexcept;
  /// Never `automatic`.
  [[nodiscard]] io_backend in_use() const noexcept {
    return ring_ == nullptr ? io_backend::epoll : io_backend::uring;
  }
  /// Any thread.
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

  // Readiness; see epoll. In a child of the process that made this, which shares the epoll instance with it, but not its threads:
  // add() says errc::forked, and the others leave everything as it is. Who would wait asks is_own_process() first: a thread of the
  // parent may have been under a lock.
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

  /// For what never says that it is ready: regular files. Null: there are none, and a thread that may block does it. Nor in a child:
  /// the ring is the parent's.
  [[nodiscard]] ring* completions() noexcept { return is_own_process() ? ring_.get() : nullptr; }
  /// Operations that the kernel has, or will be given. Somebody waits for each.
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return ring_ == nullptr ? 0 : ring_->in_flight(); }

 private:
  unsigned wait_for_both(base::time_point deadline, event* found, unsigned most) noexcept;
  [[nodiscard]] base::time_point sooner_after_refusal(base::time_point deadline) noexcept;
  void tell_of_refusal() noexcept;

  epoll epoll_;
  std::unique_ptr<ring> ring_;
  // PROTOCOL: a refused flush
  //   What the kernel refused is tried again by who waits, after 1 to 100 ms. waits_ is 1 while somebody does. Who waits stores it by an
  //   RMW and flushes then; who was refused reads it by an RMW, and interrupts. Same word: of {refused, waiting without a limit} one
  //   side sees the other.
  base::atomic<std::uint32_t> waits_{0};
  base::nanoseconds pause_{0};  // who waits
  const std::uint64_t process_ = base::this_process_id();
};

}  // namespace rota::driver
