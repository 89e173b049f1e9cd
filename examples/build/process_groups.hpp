// The commands that run, each the leader of a process group.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <expected>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace build {

/// Threads    Any.
class process_groups {
 public:
  process_groups() = default;
  process_groups(const process_groups&) = delete;
  process_groups& operator=(const process_groups&) = delete;

  /// /bin/sh -c `command` with nothing to read, whose outputs both go to `output`. The leader's id, which is the group's. It must be
  /// reaped. Blocks while all are paused.
  [[nodiscard]] std::expected<pid_t, std::error_code> start(const std::string& command, int output);

  void signal(pid_t group, int number) noexcept;
  void signal_all(int number) noexcept;
  void pause_all() noexcept;
  void resume_all() noexcept;

  /// The leader has ended. `whole`: all of the group have been killed, and their ends are waited for as far as they are this process's
  /// children.
  void reap(pid_t group, bool whole) noexcept;

 private:
  std::mutex mutex_;  // no id is used again while it is held
  std::vector<pid_t> groups_;
  bool are_paused_ = false;
  std::condition_variable go_on_;
};

}  // namespace build
