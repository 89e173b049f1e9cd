// Signals that are read from a descriptor, without handlers.
#pragma once

#include <csignal>

#include "common/unique_fd.hpp"

namespace build {

/// SIGINT, SIGTERM, SIGHUP and SIGTSTP, except those that are ignored. Create it before any other thread: it
/// blocks the signals, and later threads inherit that.
class signal_watch {
 public:
  signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  ~signal_watch();

  /// Readable when a signal is pending.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// Returns the number of a pending signal; 0: none is pending.
  [[nodiscard]] int take() noexcept;
  /// Stops the process as an unhandled SIGTSTP does. Returns when the process is continued. Returns at once
  /// if no process could continue it.
  static void stop_process() noexcept;

 private:
  sigset_t before_{};
  common::unique_fd fd_;
};

}  // namespace build
