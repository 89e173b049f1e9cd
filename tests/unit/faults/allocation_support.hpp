// Repeats one library call; each time the next allocation fails, until none is left to fail.
#pragma once

#include "unit/faults/failing_new.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace rota::test {

/// An argument type that counts its living objects, copies included.
class guest {
 public:
  guest() noexcept { ++count(); }
  guest(const guest& /*other*/) noexcept { ++count(); }
  guest(guest&& /*other*/) noexcept { ++count(); }
  guest& operator=(const guest&) = default;
  guest& operator=(guest&&) = default;
  ~guest() { --count(); }
  [[nodiscard]] static std::atomic<int>& count() noexcept {
    static std::atomic<int> living{0};
    return living;
  }
};

/// How a call ended. `other` is a defect.
enum class ending : unsigned char { done, no_memory, other };

struct verdict {
  ending how = ending::done;
  std::string what;  // the message, if `how` is `other`
};

inline bool says_no_memory(const std::error_code& code) noexcept {
  return code == std::errc::not_enough_memory || code == std::errc::resource_unavailable_try_again;
}

/// Calls `f`, and returns how it ended. Allocates only if the end is `other`.
template <class F>
verdict judge(F f) {
  try {
    f();
    return {};
  } catch (const std::bad_alloc&) {
    return {ending::no_memory, {}};
  } catch (const std::system_error& e) {
    if (says_no_memory(e.code())) return {ending::no_memory, {}};
    memory::stop_failing();
    return {ending::other, e.what()};
  } catch (const std::exception& e) {
    memory::stop_failing();
    return {ending::other, e.what()};
  }
}

/// Counts exceptions that no caller took, except bad_alloc.
inline std::atomic<int> strange_ends{0};
inline void count_strange(const unhandled_exception& e) noexcept {
  if (std::string_view(e.what).find("bad_alloc") == std::string_view::npos) ++strange_ends;
}

inline runtime_options short_of_memory(unsigned workers = 1) {
  runtime_options o = with_workers(workers);
  o.on_unhandled = unhandled_policy::callback(count_strange);
  return o;
}

inline task<int> number(int n) { co_return n; }
inline task<int> with_guest(guest /*g*/, int n) {
  co_await yield();
  co_return n;
}
inline task<> without_cache() {
  forgo_frame_cache();
  co_return;
}

/// Waits until this is the only thread: a blocked thread may outlive its runtime for a moment, and the
/// kernel lists a joined thread a moment longer.
inline void until_alone() {
  wait_until([] { return threads_of_process() == 1; });
}

/// Runs `attempt(nth)`, which makes allocations fail and returns the number that failed, until that is 0.
template <class Attempt>
void until_clean(Attempt attempt) {
  constexpr std::size_t far_too_many = 2'000;
  for (std::size_t nth = 0; nth < far_too_many; ++nth) {
    SCOPED_TRACE("allocation " + std::to_string(nth));
    const std::size_t failed = attempt(nth);
    if (::testing::Test::HasFailure()) return;
    if (failed == 0) {
      EXPECT_GT(nth, 0U) << "nothing was allocated: this tests nothing";
      return;
    }
  }
  ADD_FAILURE() << "it never ran clean";
}

}  // namespace rota::test
