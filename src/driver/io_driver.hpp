// What a runtime hears from the kernel by: readiness, and completions if there are any.
#pragma once

#include "base/thread.hpp"
#include "driver/epoll.hpp"

#include <rota/detail/io_backend.hpp>

#include <cstdint>
#include <expected>
#include <system_error>

namespace rota::driver {

class ring;

/// One for a runtime. Not virtual: readiness is epoll's with every backend, and completions are there or they are not.
class io_driver {
 public:
  io_driver() = default;
  io_driver(const io_driver&) = delete;
  io_driver& operator=(const io_driver&) = delete;
  ~io_driver() = default;

  /// errc::unsupported: `wanted` cannot be had. `automatic` always can. EMFILE and the like.
  [[nodiscard]] std::error_code open(io_backend wanted) noexcept;
  /// Never `automatic`.
  [[nodiscard]] io_backend in_use() const noexcept { return io_backend::epoll; }

  /// Any thread.
  [[nodiscard]] io_stats stats() const noexcept { return {.watched = epoll_.watched()}; }

  // For the scheduler; see sched::driver_ops.
  unsigned wait(base::time_point deadline, event* found, unsigned most) noexcept {
    return epoll_.wait(deadline, found, most);
  }
  void dispatch(const event* found, unsigned count) noexcept { epoll_.dispatch(found, count); }
  void interrupt() noexcept { epoll_.interrupt(); }
  void flush() noexcept {}  // nothing is prepared where there are no completions

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

  /// For what never says that it is ready: regular files. Null: there are none, and a thread that may block does it.
  [[nodiscard]] ring* completions() noexcept { return nullptr; }

 private:
  epoll epoll_;
  const std::uint64_t process_ = base::this_process_id();
};

}  // namespace rota::driver
