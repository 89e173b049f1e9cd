// Calls that fail on demand, on every thread. Not with a sanitizer, which intercepts the same calls.
//
// failing_<what>.cpp replaces the C library's functions of that kind. failing_<what>.hpp declares a
// failing_call for each in namespace `call`, which the tests name. This file knows none of them.
#pragma once

#include "support/sanitized.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

// 1 if the files that replace functions may do so.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROTA_TEST_STANDS_IN 0
#elif defined(__has_feature)
#define ROTA_TEST_STANDS_IN (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define ROTA_TEST_STANDS_IN 1
#endif

namespace rota::test {

/// One function that can fail: when it fails, and how often it was called. It lives as long as the program.
class failing_call {
 public:
  constexpr failing_call() noexcept = default;
  failing_call(const failing_call&) = delete;
  failing_call& operator=(const failing_call&) = delete;

  /// Called by the replacement at each call. Returns 0 if the real call shall be made, otherwise its error.
  [[nodiscard]] int next_error() noexcept;

 private:
  friend struct calls;
  void enter_table() noexcept;

  std::atomic<std::uint64_t> made_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> first_{0};
  std::atomic<std::uint64_t> end_{0};
  std::atomic<int> error_{0};
  std::atomic<bool> is_in_table_{false};
  failing_call* next_ = nullptr;
};

struct calls {
  static constexpr bool can_fail = !sanitized;

  /// Lets `nth` calls through; then the next `times` calls fail with `error` and are not made.
  static void fail(failing_call& what, int error, std::uint64_t nth = 0, std::uint64_t times = 1) noexcept;
  /// Limits calls that move bytes to 1, 2, .. `most`, 1, 2, .. bytes; 0 means no limit.
  static void shorten(std::size_t most) noexcept;
  /// Ends all failures and resets the counts.
  static void reset() noexcept;
  /// Returns the number of calls since then, including failures.
  [[nodiscard]] static std::uint64_t made(const failing_call& what) noexcept { return what.made_; }
  /// Returns the number of failures since then.
  [[nodiscard]] static std::uint64_t failed(const failing_call& what) noexcept { return what.failed_; }

  /// Called by a replacement that moves bytes. Returns the number of bytes that it may move.
  [[nodiscard]] static std::size_t shortened(std::size_t size) noexcept;
  /// Called by a replacement. Returns what a failed call returns, and sets errno.
  [[nodiscard]] static int failing(int error) noexcept {
    errno = error;
    return -1;
  }
};

}  // namespace rota::test
