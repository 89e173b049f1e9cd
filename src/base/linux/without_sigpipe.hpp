// For the system calls that raise SIGPIPE and cannot be told not to.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace rota::base::sys {

/// While it lives no SIGPIPE reaches this thread. The workers' threads block SIGPIPE for good; others do it for the call.
class without_sigpipe {
 public:
  without_sigpipe() noexcept {
    if (blocked_for_good) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    blocked_for_good = sigismember(&before_, SIGPIPE) == 1;
    restores_ = !blocked_for_good;
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    if (!restores_) return;
    const int error = errno;
    const timespec at_once{};
    // One that was raised here and is pending for this thread. It was not pending before, or it would not be blocked.
    while (::sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  static inline thread_local bool blocked_for_good = false;
  sigset_t pipe_{};
  sigset_t before_{};
  bool restores_ = false;
};

}  // namespace rota::base::sys
