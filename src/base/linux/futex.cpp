#include "base/futex.hpp"

#include "base/linux/signals.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <iterator>

#if defined(__SANITIZE_THREAD__)
#define ROTA_DELAYS_SIGNALS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROTA_DELAYS_SIGNALS 1
#endif
#endif

namespace rota::base {

namespace {

#if defined(ROTA_DELAYS_SIGNALS)
// ThreadSanitizer replaces every handler of the program by its own. Its handler notes the signal. The
// program's handler runs when the interrupted thread next makes a libc call that ThreadSanitizer intercepts.
// It does not intercept syscall(), and a futex wait without a time limit goes on after a handler with
// SA_RESTART. The lost signal:
//   1. T1, the only thread that takes signals, sleeps on a futex, or is about to.
//   2. A signal arrives on T1, and is noted.
//   3. T1 sleeps until another thread wakes it, and that thread waits for the signal.
// Prevented: a thread that takes signals makes an intercepted call before each sleep, and sleeps for at most
// `longest_sleep`. Then its caller checks the word again, as after each spurious wakeup.

/// Runs the handlers that ThreadSanitizer has delayed. Returns the signals that the calling thread blocks.
sigset_t run_delayed_handlers() noexcept {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return blocked;
}

/// Returns false for the threads of a runtime, which block every signal except the synchronous ones.
bool takes_signals(const sigset_t& blocked) noexcept {
  for (int n = 1; n <= SIGRTMAX; ++n) {
    // libc reserves the numbers between the two ranges.
    const bool can_be_blocked = n != SIGKILL && n != SIGSTOP && (n <= SIGSYS || n >= SIGRTMIN);
    const bool is_synchronous = std::ranges::find(synchronous_signals, n) != std::end(synchronous_signals);
    if (can_be_blocked && !is_synchronous && ::sigismember(&blocked, n) == 0) return true;
  }
  return false;
}

time_point end_of_sleep(time_point deadline) noexcept {
  constexpr std::chrono::milliseconds longest_sleep{50};
  if (!takes_signals(run_delayed_handlers())) return deadline;
  return std::min(deadline, now() + longest_sleep);
}
#else
time_point end_of_sleep(time_point deadline) noexcept { return deadline; }
#endif

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
  // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC, the clock of steady_clock: a signal does not
  // prolong the wait.
  const time_point end = end_of_sleep(deadline);
  const timespec until = end == never ? timespec{} : to_timespec(end);
  if (futex(word, FUTEX_WAIT_BITSET, expected, end == never ? nullptr : &until) == 0)
    return wait_result::woken;
  switch (errno) {
    case EAGAIN: return wait_result::changed;
    case ETIMEDOUT: return end == deadline ? wait_result::timed_out : wait_result::woken;
    case EINTR: return wait_result::woken;
    default: ROTA_FATAL("futex wait", errno);
  }
}

int wake(const void* word, int count) noexcept {
  // The word may be gone: its owner saw the store that preceded this wake, and went on. Then the kernel finds
  // no sleeper, or wakes a sleeper on another word at this address, which checks again. EFAULT means that the
  // page is gone too.
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
