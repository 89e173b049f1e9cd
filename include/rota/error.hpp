// rota's own reasons for failure. Errors of the operating system keep their category: std::generic_category.
#pragma once

#include <source_location>
#include <system_error>

#include <rota/cancel_reason.hpp>
#include <rota/detail/config.hpp>

namespace rota {

/// Why rota refused or ended something.
enum class errc : int {
  cancelled = 1,    // the awaited task was cancelled
  timed_out,        // a deadline passed first
  already_joined,   // the handle was awaited before, or is empty
  would_deadlock,   // a task waits for itself
  nested_block_on,  // block_on inside a task
  shield_overflow,  // more than 255 shields
  no_runtime,       // called outside of a task of a runtime
  shut_down,        // the runtime takes no more work
  forked,           // called in a forked child on an object that belongs to the parent process
  unsupported,      // not available in this build or on this kernel
  queue_full,       // a limit on waiting work was reached
  cycle,            // a job that would wait for itself
  closed,           // the other side is gone
  end_of_stream,    // the input ended before it was complete
  too_long,         // longer than its limit
  too_many_works,   // a thread_pool has its maximum of jobs at once: 2^24 - 64
};

[[nodiscard]] ROTA_API const std::error_category& error_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), error_category()};
}

/// The exception that rota throws. `code()` is one of errc.
class ROTA_API error : public std::system_error {
 public:
  explicit error(errc e);
  error(errc e, const char* what);
  error(const error&) = default;
  error& operator=(const error&) = default;
  ~error() override;

  /// Returns the co_await of the program that threw it. If a plain call threw it: the last co_await before
  /// that in the same task. line() is 0 if no task of a runtime ran there, or if the task had not awaited
  /// anything.
  [[nodiscard]] std::source_location where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// Thrown to the awaiter of a task that was cancelled. Never thrown inside of the cancelled task itself.
class ROTA_API cancelled_error : public error {
 public:
  explicit cancelled_error(cancel_reason reason) : error(errc::cancelled), reason_(reason) {}
  cancelled_error(const cancelled_error&) = default;
  cancelled_error& operator=(const cancelled_error&) = default;
  ~cancelled_error() override;

  [[nodiscard]] cancel_reason reason() const noexcept { return reason_; }

 private:
  cancel_reason reason_;
};

/// Thrown by `shield` at the 256th nesting; nothing was changed.
class ROTA_API shield_overflow : public error {
 public:
  shield_overflow() : error(errc::shield_overflow) {}
  shield_overflow(const shield_overflow&) = default;
  shield_overflow& operator=(const shield_overflow&) = default;
  ~shield_overflow() override;
};

}  // namespace rota

template <>
struct std::is_error_code_enum<rota::errc> : std::true_type {};
