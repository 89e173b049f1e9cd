// For the system calls that raise SIGPIPE and cannot be told not to.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace rota::base::sys {

/// While it lives no SIGPIPE reaches this thread, and none stays pending. rota's own threads block it for
/// good; other threads do so for the call.
class without_sigpipe {
 public:
  /// For a thread that was started with SIGPIPE blocked: these objects do nothing in it from now on.
  static void is_blocked_here_for_good() noexcept { blocked_for_good = true; }

  without_sigpipe() noexcept {
    if (blocked_for_good) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    takes_ = !is_pending();
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    if (!takes_) return;
    const int error = errno;
    const timespec at_once{};
    // Takes a signal that was raised here and is pending for this thread.
    while (::sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  /// Returns true if a SIGPIPE is pending already. It belongs to other code, which has blocked the signal and
  /// will take it.
  [[nodiscard]] bool is_pending() const noexcept {
    sigset_t pending;
    return sigismember(&before_, SIGPIPE) == 1 && ::sigpending(&pending) == 0 &&
           sigismember(&pending, SIGPIPE) == 1;
  }

  static inline thread_local bool blocked_for_good = false;
  sigset_t pipe_{};
  sigset_t before_{};
  bool takes_ = false;
};

}  // namespace rota::base::sys
