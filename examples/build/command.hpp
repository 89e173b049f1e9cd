// A command, from its start to its end.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "build/process_groups.hpp"

namespace build {

struct command_end {
  bool is_good = false;  // it has returned 0, and nobody has stopped it
  bool was_stopped = false;
  std::string how;     // "exit code 1", "killed by signal 9 (Killed)", or why it did not start
  std::string output;  // both of its outputs, as they came
};

/// Blocks until it has ended, and all who hold its output. A stop ends its group: by SIGTERM, and after `grace` by SIGKILL; then
/// nothing of the group is left. What has left the group is nobody's business.
[[nodiscard]] command_end run_command(const std::string& command,
                                      process_groups& groups,
                                      std::stop_token stop,
                                      std::chrono::milliseconds grace);

}  // namespace build
