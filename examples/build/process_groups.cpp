#include "build/process_groups.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace build {
namespace {

/// The descriptors and the signals of a command.
class spawn_settings {
 public:
  explicit spawn_settings(int output) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
    sigset_t set;
    ::sigemptyset(&set);
    ::posix_spawnattr_setsigmask(&attributes_, &set);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGPIPE}) ::sigaddset(&set, each);
    ::posix_spawnattr_setsigdefault(&attributes_, &set);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    constexpr int flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    ::posix_spawnattr_setflags(&attributes_, flags);
  }
  spawn_settings(const spawn_settings&) = delete;
  spawn_settings& operator=(const spawn_settings&) = delete;
  ~spawn_settings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  [[nodiscard]] const posix_spawn_file_actions_t* files() const noexcept { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

std::expected<pid_t, std::error_code> process_groups::start(const std::string& command, int output) {
  const spawn_settings settings(output);
  std::string shell = "sh";
  std::string option = "-c";
  std::string copy = command;
  const std::array<char*, 4> arguments{shell.data(), option.data(), copy.data(), nullptr};
  std::unique_lock guard(mutex_);
  go_on_.wait(guard, [this] { return !are_paused_; });
  groups_.reserve(groups_.size() + 1);
  pid_t leader = 0;
  const int failed =
      ::posix_spawn(&leader, "/bin/sh", settings.files(), settings.attributes(), arguments.data(), environ);
  if (failed != 0) return std::unexpected(std::error_code(failed, std::generic_category()));
  groups_.push_back(leader);
  return leader;
}

void process_groups::signal(pid_t group, int number) noexcept {
  const std::lock_guard guard(mutex_);
  if (std::find(groups_.begin(), groups_.end(), group) != groups_.end()) ::kill(-group, number);
}

void process_groups::signal_all(int number) noexcept {
  const std::lock_guard guard(mutex_);
  for (const pid_t each : groups_) ::kill(-each, number);
}

void process_groups::pause_all() noexcept {
  const std::lock_guard guard(mutex_);
  are_paused_ = true;
  for (const pid_t each : groups_) ::kill(-each, SIGSTOP);
}

void process_groups::resume_all() noexcept {
  const std::lock_guard guard(mutex_);
  are_paused_ = false;
  for (const pid_t each : groups_) ::kill(-each, SIGCONT);
  go_on_.notify_all();
}

void process_groups::reap(pid_t group, bool whole) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase(groups_, group);
  // The leader is among them. When the last process of the group has been reaped, the id is free.
  while (::waitpid(-group, nullptr, whole ? 0 : WNOHANG) > 0) {
  }
}

}  // namespace build
