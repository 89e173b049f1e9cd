#include "build/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include "common/unique_fd.hpp"

namespace build {
namespace {

using clock = std::chrono::steady_clock;
using common::unique_fd;

unique_fd checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return unique_fd(fd);
}

/// Calls the system call directly: the header of Debian 12 declares the wrapper for C only.
int open_process(pid_t id) noexcept { return static_cast<int>(::syscall(SYS_pidfd_open, id, 0)); }

/// A descriptor that becomes readable when a stop is requested.
class stop_event {
 public:
  explicit stop_event(std::stop_token stop)
      : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
        on_stop_(std::move(stop), [this] { static_cast<void>(::eventfd_write(fd_.get(), 1)); }) {}
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  unique_fd fd_;
  std::stop_callback<std::function<void()>> on_stop_;
};

class running_command {
 public:
  running_command(process_groups& groups, pid_t group, unique_fd output)
      : groups_(groups), group_(group), process_(open_process(group)), output_(std::move(output)) {
    if (!process_.is_open()) kill_at_once();
  }
  running_command(const running_command&) = delete;
  running_command& operator=(const running_command&) = delete;

  void wait(const stop_event& stop, std::chrono::milliseconds grace);
  /// Returns the result, after wait().
  [[nodiscard]] command_end take_end();

 private:
  enum class phase : unsigned char { runs, was_told, was_killed };

  [[nodiscard]] bool is_over() const noexcept {
    // A process that has left the group may hold the output open for ever.
    return !process_.is_open() && (!output_.is_open() || phase_ == phase::was_killed);
  }
  [[nodiscard]] int time_left() const noexcept;
  void tell(std::chrono::milliseconds grace) noexcept;
  void kill_at_once() noexcept;
  void read_output();
  void look_at_process() noexcept;

  process_groups& groups_;
  pid_t group_;
  unique_fd process_;
  unique_fd output_;
  phase phase_ = phase::runs;
  clock::time_point kill_at_;
  siginfo_t info_{};
  command_end end_;
};

int running_command::time_left() const noexcept {
  if (phase_ != phase::was_told) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1'000'000));
}

void running_command::tell(std::chrono::milliseconds grace) noexcept {
  phase_ = phase::was_told;
  kill_at_ = clock::now() + grace;
  groups_.signal(group_, SIGTERM);
  groups_.signal(group_, SIGCONT);
}

void running_command::kill_at_once() noexcept {
  phase_ = phase::was_killed;
  groups_.signal(group_, SIGKILL);
}

void running_command::read_output() {
  std::array<char, 16'384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const ssize_t length = ::read(output_.get(), buffer.data(), buffer.size());
    if (length > 0) {
      end_.output.append(buffer.data(), static_cast<std::size_t>(length));
    } else if (length < 0 && errno == EINTR) {
      continue;
    } else {
      if (length == 0 || errno != EAGAIN) output_ = unique_fd();
      return;
    }
  }
}

/// Reads the status without reaping the process: its id is the id of the group, which may live on.
void running_command::look_at_process() noexcept {
  static_cast<void>(::waitid(P_PID, static_cast<id_t>(group_), &info_, WEXITED | WNOWAIT));
  process_ = unique_fd();
}

void running_command::wait(const stop_event& stop, std::chrono::milliseconds grace) {
  if (!process_.is_open()) return look_at_process();
  while (!is_over()) {
    std::array<pollfd, 3> fds{
        {{.fd = process_.get(), .events = POLLIN, .revents = 0},
         {.fd = output_.get(), .events = POLLIN, .revents = 0},
         {.fd = phase_ == phase::runs ? stop.fd() : -1, .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(fds.data(), fds.size(), time_left());
    if (ready < 0) continue;
    if (fds[2].revents != 0) tell(grace);
    if (fds[1].revents != 0) read_output();
    if (fds[0].revents != 0) look_at_process();
    if (phase_ == phase::was_told && time_left() == 0) kill_at_once();
  }
}

command_end running_command::take_end() {
  end_.was_stopped = phase_ != phase::runs;
  if (end_.was_stopped) kill_at_once();
  if (output_.is_open()) read_output();
  groups_.reap(group_, end_.was_stopped);
  const int code = info_.si_status;
  if (info_.si_code == CLD_EXITED) {
    end_.how = "exit code " + std::to_string(code);
    end_.is_good = code == 0 && !end_.was_stopped;
  } else {
    end_.how = "killed by signal " + std::to_string(code) + " (" + ::strsignal(code) + ")";
  }
  return std::move(end_);
}

command_end try_to_run(const std::string& command,
                       process_groups& groups,
                       std::stop_token stop,
                       std::chrono::milliseconds grace) {
  const stop_event stopped(std::move(stop));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  unique_fd reading(ends[0]);
  unique_fd writing(ends[1]);
  // Only the reading end is non-blocking: commands expect the writing end to block.
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  const auto group = groups.start(command, writing.get());
  if (!group.has_value()) throw std::system_error(group.error(), "posix_spawn");
  writing = unique_fd();
  running_command running(groups, *group, std::move(reading));
  running.wait(stopped, grace);
  return running.take_end();
}

}  // namespace

command_end run_command(const std::string& command,
                        process_groups& groups,
                        std::stop_token stop,
                        std::chrono::milliseconds grace) {
  try {
    return try_to_run(command, groups, std::move(stop), grace);
  } catch (const std::system_error& e) {
    return {.is_good = false,
            .was_stopped = false,
            .how = std::string("cannot start: ") + e.what(),
            .output = {}};
  }
}

}  // namespace build
