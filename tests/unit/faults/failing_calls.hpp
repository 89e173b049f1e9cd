// Calls of this test program that fail on demand, on every thread. Not under a sanitizer: it stands in the same place.
//
// failing_<what>.cpp takes the place of the C library's functions of that kind. failing_<what>.hpp declares, in namespace `call`, a
// failing_call for each of them, which the tests name. What is here knows none of them.
#pragma once

#include "support/sanitized.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

// For the files that take a function's place: may they?
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROTA_TEST_STANDS_IN 0
#elif defined(__has_feature)
#define ROTA_TEST_STANDS_IN (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define ROTA_TEST_STANDS_IN 1
#endif

namespace rota::test {

/// One function that can fail: when, and how often it was called. Lives as long as the program.
class failing_call {
 public:
  constexpr failing_call() noexcept = default;
  failing_call(const failing_call&) = delete;
  failing_call& operator=(const failing_call&) = delete;

  /// By who stands in for the function, at each call. 0: make it.
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

  /// From now on `nth` calls go through, then the next `times` fail with `error`, without having been made.
  static void fail(failing_call& what, int error, std::uint64_t nth = 0, std::uint64_t times = 1) noexcept;
  /// What moves bytes moves 1, 2, .. `most`, 1, 2, .. at a time; 0: as many as it is asked for.
  static void shorten(std::size_t most) noexcept;
  /// Nothing fails any more; the counts begin anew.
  static void reset() noexcept;
  /// How often it was called since then, failures included.
  [[nodiscard]] static std::uint64_t made(const failing_call& what) noexcept { return what.made_; }
  /// How often it has failed since then.
  [[nodiscard]] static std::uint64_t failed(const failing_call& what) noexcept { return what.failed_; }

  /// By who stands in for a function that moves bytes: how many it may move.
  [[nodiscard]] static std::size_t shortened(std::size_t size) noexcept;
  /// By who stands in: what a call that has failed returns.
  [[nodiscard]] static int failing(int error) noexcept {
    errno = error;
    return -1;
  }
};

}  // namespace rota::test
