// Signals that are read, and not handled.
#pragma once

#include <csignal>

#include "common/unique_fd.hpp"

namespace build {

/// SIGINT, SIGTERM, SIGHUP and SIGTSTP, but those that are ignored. Made before any other thread is: it blocks them for those to come.
class signal_watch {
 public:
  signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  ~signal_watch();

  /// Readable when one is there.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// Its number; 0: there is none.
  [[nodiscard]] int take() noexcept;
  /// As SIGTSTP does it where nobody looks at it. Returns when the process is continued, or at once if nobody could do that.
  static void stop_process() noexcept;

 private:
  sigset_t before_{};
  common::unique_fd fd_;
};

}  // namespace build
