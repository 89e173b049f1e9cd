#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <ctime>

namespace rota::base {

namespace {

long futex(const void* word, int operation, std::uint32_t value, const timespec* deadline) noexcept {
  before_system_call();
  return ::syscall(
      SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

timespec to_timespec(time_point deadline) noexcept {
  const auto since = deadline.time_since_epoch();
  if (since.count() <= 0) return {0, 0};
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {static_cast<time_t>(whole.count()), static_cast<long>((since - whole).count())};
}

wait_result wait(const void* word, std::uint32_t expected, time_point deadline) noexcept {
  // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC, which steady_clock is: a signal does not prolong the wait.
  const timespec until = deadline == never ? timespec{} : to_timespec(deadline);
  if (futex(word, FUTEX_WAIT_BITSET, expected, deadline == never ? nullptr : &until) == 0)
    return wait_result::woken;
  switch (errno) {
    case EAGAIN: return wait_result::changed;
    case ETIMEDOUT: return wait_result::timed_out;
    case EINTR: return wait_result::woken;
    default: ROTA_FATAL("futex wait", errno);
  }
}

int wake(const void* word, int count) noexcept {
  // The word may be gone: its owner saw the store that preceded this wake, and went on. Then the kernel finds nobody,
  // or wakes somebody else's sleeper, who looks again; EFAULT means that the page is gone too.
  const long woken = futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(count), nullptr);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace

wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  return wait(&word, expected, deadline);
}

wait_result futex_wait_upper(atomic<std::uint64_t>& word,
                             std::uint32_t expected,
                             time_point deadline) noexcept {
  return wait(upper_half(&word), expected, deadline);
}

wait_result futex_watch(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  return futex_wait(word, expected, deadline);
}

int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept { return wake(word, count); }

int futex_wake_upper(const atomic<std::uint64_t>* word, int count) noexcept {
  return wake(upper_half(word), count);
}

}  // namespace rota::base
