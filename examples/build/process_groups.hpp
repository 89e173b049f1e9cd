// The running commands, each the leader of a process group.
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

  /// Starts /bin/sh -c `command` with an empty input; both outputs go to `output`. Returns the id of the
  /// leader, which is also the id of the group. The group must be reaped. Blocks while all groups are paused.
  [[nodiscard]] std::expected<pid_t, std::error_code> start(const std::string& command, int output);

  void signal(pid_t group, int number) noexcept;
  void signal_all(int number) noexcept;
  void pause_all() noexcept;
  void resume_all() noexcept;

  /// Reaps a group after its leader has ended. `whole`: all processes of the group have been killed; waits
  /// for the end of those that are children of this process.
  void reap(pid_t group, bool whole) noexcept;

 private:
  std::mutex mutex_;  // no id is reused while it is held
  std::vector<pid_t> groups_;
  bool are_paused_ = false;
  std::condition_variable go_on_;
};

}  // namespace build
