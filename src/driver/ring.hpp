// The ring of a runtime: what tasks give to the kernel, and what it says of it.
#pragma once

#include "base/sys/uring.hpp"
#include "driver/operation.hpp"
#include "task/ports.hpp"

#include <cstdint>
#include <expected>
#include <memory>
#include <system_error>

namespace rota::driver {

/// One for a runtime, for what never says that it is ready: regular files. Any thread, but where it says so.
class ring {
 public:
  struct sizes {
    unsigned entries = 256;          // prepared at a time
    unsigned completions = 1024;     // until somebody reaps
    unsigned most_in_flight = 1024;  // the others wait in a line
  };

  /// Really makes the ring that will be used. The kernel's error (ENOSYS, EPERM, ENOMEM, EMFILE, ..), or errc::unsupported if it
  /// lacks one of the calls that cannot be done without.
  [[nodiscard]] static std::expected<std::unique_ptr<ring>, std::error_code> make(
      const sizes& wanted) noexcept;

  explicit ring(const sizes& wanted) noexcept : desk_(kernel_, wanted.most_in_flight) {}
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  /// Nothing is in flight.
  ~ring();

  /// Of those that need not be there: has the kernel this one?
  [[nodiscard]] bool can(base::sys::ring_call what) const noexcept { return kernel_.can(what); }

  // See operation_desk.
  [[nodiscard]] operation* take() noexcept { return desk_.take(); }
  void start(operation& op, waker w) noexcept { desk_.start(op, std::move(w)); }
  cancel_progress cancel(operation& op) noexcept { return desk_.cancel(op); }
  void give_back(operation& op) noexcept { desk_.give_back(op); }
  bool flush() noexcept { return desk_.flush(); }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return desk_.in_flight(); }
  [[nodiscard]] operation_counts counts() const noexcept { return desk_.counts(); }

  /// Readable while there is something to reap.
  [[nodiscard]] int descriptor() const noexcept { return kernel_.descriptor(); }
  /// By who waits in the driver: completions, to be dispatched by complete().
  unsigned reap(core::driver_event* into, unsigned most) noexcept;
  void complete(const core::driver_event& what) noexcept {
    desk_.complete(what.key, static_cast<std::int32_t>(what.what));
  }
  /// How often the kernel had to keep completions for want of room.
  [[nodiscard]] std::uint64_t overflows() const noexcept {
    // relaxed. A report.
    return overflows_.load(base::order::relaxed);
  }

 private:
  base::sys::uring kernel_;
  operation_desk<base::sys::uring> desk_;
  base::atomic<std::uint64_t> overflows_{0};
};

}  // namespace rota::driver
