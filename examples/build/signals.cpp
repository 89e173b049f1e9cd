#include "build/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace build {

signal_watch::signal_watch() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) {
    struct sigaction how{};
    if (::sigaction(each, nullptr, &how) == 0 && how.sa_handler != SIG_IGN) ::sigaddset(&set, each);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_ = common::unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

signal_watch::~signal_watch() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int signal_watch::take() noexcept {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void signal_watch::stop_process() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTSTP);
  ::raise(SIGTSTP);
  // Here the process stops: the signal is pending.
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace build
