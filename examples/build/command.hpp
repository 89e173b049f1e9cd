// Runs one command, from its start to its end.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "build/process_groups.hpp"

namespace build {

struct command_end {
  bool is_good = false;  // the command has returned 0 and was not stopped
  bool was_stopped = false;
  std::string how;     // "exit code 1", "killed by signal 9 (Killed)", or why it did not start
  std::string output;  // standard output and standard error, in the order of arrival
};

/// Blocks until the command has ended and no process holds its output open. A stop sends SIGTERM to its
/// process group, and SIGKILL after `grace`; then no process of the group is left. A process that has left
/// the group is ignored.
[[nodiscard]] command_end run_command(const std::string& command,
                                      process_groups& groups,
                                      std::stop_token stop,
                                      std::chrono::milliseconds grace);

}  // namespace build
