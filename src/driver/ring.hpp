// The io_uring of a runtime: operations of tasks, and their completions.
#pragma once

#include "base/sys/uring.hpp"
#include "driver/operation.hpp"
#include "task/ports.hpp"

#include <cstdint>
#include <expected>
#include <memory>
#include <system_error>

namespace rota::driver {

/// One for a runtime, for descriptors that never report readiness: regular files. Any thread may call the
/// members, unless their comment says otherwise.
class ring {
 public:
  struct sizes {
    unsigned entries = 256;          // operations that are prepared at a time
    unsigned completions = 1024;     // completions until a thread reaps
    unsigned most_in_flight = 1024;  // further operations wait in a line
  };

  /// Makes the ring that will be used. Returns the kernel's error (ENOSYS, EPERM, ENOMEM, EMFILE, ..), or
  /// errc::unsupported if the kernel lacks one of the required calls.
  [[nodiscard]] static std::expected<std::unique_ptr<ring>, std::error_code> make(
      const sizes& wanted) noexcept;

  explicit ring(const sizes& wanted) noexcept : desk_(kernel_, wanted.most_in_flight) {}
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  /// Requires that nothing is in flight.
  ~ring();

  /// Returns whether the kernel has this call. For calls that are not required.
  [[nodiscard]] bool can(base::sys::ring_call what) const noexcept { return kernel_.can(what); }

  // See operation_desk.
  [[nodiscard]] operation* take() noexcept { return desk_.take(); }
  void start(operation& op, waker w) noexcept { desk_.start(op, std::move(w)); }
  cancel_progress cancel(operation& op) noexcept { return desk_.cancel(op); }
  void give_back(operation& op) noexcept { desk_.give_back(op); }
  bool flush() noexcept { return desk_.flush(); }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return desk_.in_flight(); }
  [[nodiscard]] operation_counts counts() const noexcept { return desk_.counts(); }

  /// Returns a descriptor that is readable while there is something to reap.
  [[nodiscard]] int descriptor() const noexcept { return kernel_.descriptor(); }
  /// Takes completions, which complete() must dispatch. Called by the thread that waits in the driver.
  unsigned reap(core::driver_event* into, unsigned most) noexcept;
  void complete(const core::driver_event& what) noexcept {
    desk_.complete(what.key, static_cast<std::int32_t>(what.what));
  }
  /// Returns how often the kernel had to keep completions because the ring was full.
  [[nodiscard]] std::uint64_t overflows() const noexcept {
    // relaxed: a counter for reports.
    return overflows_.load(base::order::relaxed);
  }

 private:
  base::sys::uring kernel_;
  operation_desk<base::sys::uring> desk_;
  base::atomic<std::uint64_t> overflows_{0};
};

}  // namespace rota::driver
