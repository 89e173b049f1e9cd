#include "base/sys/processes.hpp"

#include "base/linux/call.hpp"
#include "base/linux/without_sigpipe.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rota::base::sys {

result<void> set_signal_action(int number, const struct sigaction& next, struct sigaction* before) noexcept {
  return done(::sigaction(number, &next, before));
}

result<int> signal_fd(const sigset_t& numbers) noexcept {
  before_system_call();
  return descriptor(::signalfd(-1, &numbers, SFD_CLOEXEC | SFD_NONBLOCK));
}

int read_signal_fd(int fd) noexcept {
  signalfd_siginfo one{};
  const ssize_t size = uninterrupted([&] { return ::read(fd, &one, sizeof one); });
  return size == sizeof one ? static_cast<int>(one.ssi_signo) : 0;
}

namespace {

/// Returns the same file under a descriptor above 2, if `fd` is one of 0, 1 and 2.
result<int> moved_high(int fd) noexcept {
  if (fd > STDERR_FILENO) return fd;
  const result<int> high = duplicate_high(fd);
  ::close(fd);
  return high;
}

}  // namespace

result<pipe_ends> pipe() noexcept {
  int ends[2];
  const result<void> made = done(::pipe2(ends, O_CLOEXEC));
  if (!made.has_value()) return std::unexpected(made.error());
  const result<int> read = moved_high(ends[0]);
  const result<int> write = moved_high(ends[1]);
  if (read.has_value() && write.has_value()) return pipe_ends{*read, *write};
  if (read.has_value()) ::close(*read);
  if (write.has_value()) ::close(*write);
  return std::unexpected(read.has_value() ? write.error() : read.error());
}

bool is_inherited(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFD);
  return flags != -1 && (flags & FD_CLOEXEC) == 0;
}

result<void> set_nonblocking(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags == -1) return std::unexpected(last_error());
  return done(::fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

result<void> close_at_exec(int fd) noexcept { return done(::fcntl(fd, F_SETFD, FD_CLOEXEC)); }

result<int> duplicate_high(int fd) noexcept {
  before_system_call();
  return descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

result<std::size_t> read(int fd, void* bytes_to, std::size_t size) noexcept {
  return bytes(uninterrupted([&] { return ::read(fd, bytes_to, size); }));
}

result<std::size_t> write(int fd, const void* from, std::size_t size) noexcept {
  const without_sigpipe quiet;
  return bytes(uninterrupted([&] { return ::write(fd, from, size); }));
}

namespace {

/// Describes the descriptors, the signals and the group of a new process. Each step may lack memory: `error`
/// is the first error.
class start_settings {
 public:
  explicit start_settings(const process_start& what) noexcept {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    for (int number = 0; number <= STDERR_FILENO; ++number) set_file(number, what.files[number]);
    if (what.errors_to_output)
      note(::posix_spawn_file_actions_adddup2(&files_, STDOUT_FILENO, STDERR_FILENO));
    if (what.directory != nullptr) note(::posix_spawn_file_actions_addchdir_np(&files_, what.directory));
    set_signals();
    if (what.leads_session) {
      flags_ |= POSIX_SPAWN_SETSID;
    } else if (what.group != process_start::no_group) {
      flags_ |= POSIX_SPAWN_SETPGROUP;
      note(::posix_spawnattr_setpgroup(&attributes_, what.group));
    }
    note(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags_)));
  }
  start_settings(const start_settings&) = delete;
  start_settings& operator=(const start_settings&) = delete;
  ~start_settings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const posix_spawn_file_actions_t* files() const noexcept { return &files_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }

 private:
  void note(int error) noexcept {
    if (error_ == 0) error_ = error;
  }
  /// The descriptors of the caller are above 2, so none of 0, 1 and 2 overwrites another that is still to be
  /// copied.
  void set_file(int number, int from) noexcept {
    if (from == process_start::null_device) {
      const int how = number == STDIN_FILENO ? O_RDONLY : O_WRONLY;
      note(::posix_spawn_file_actions_addopen(&files_, number, "/dev/null", how, 0));
    } else if (from != process_start::inherited) {
      note(::posix_spawn_file_actions_adddup2(&files_, from, number));
    }
  }
  /// Unblocks all signals, which rota's threads block. Restores the default of the signals that a program
  /// ignores for its own sake and its children should not: a filter that ignores SIGPIPE never ends, and a
  /// process that ignores SIGCHLD is told of no end of a child. Other ignored signals stay ignored: whatever
  /// ignored them (nohup, a shell) meant the children, too.
  void set_signals() noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    note(::posix_spawnattr_setsigmask(&attributes_, &set));
    ::sigaddset(&set, SIGPIPE);
    ::sigaddset(&set, SIGCHLD);
    note(::posix_spawnattr_setsigdefault(&attributes_, &set));
  }

  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
  int flags_ = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  int error_ = 0;
};

process_end end_in(const siginfo_t& info) noexcept {
  if (info.si_pid == 0) return {};
  switch (info.si_code) {
    case CLD_KILLED: return {how_ended::signalled, info.si_status};
    case CLD_DUMPED: return {how_ended::dumped, info.si_status};
    default: return {how_ended::exited, info.si_status};
  }
}

/// P_PIDFD. In headers since glibc 2.36.
constexpr auto by_pidfd = static_cast<idtype_t>(3);

result<process_end> wait_for(int pidfd, int how) noexcept {
  siginfo_t info{};
  const int asked =
      uninterrupted([&] { return ::waitid(by_pidfd, static_cast<id_t>(pidfd), &info, WEXITED | how); });
  if (asked == -1) return std::unexpected(last_error());
  return end_in(info);
}

}  // namespace

result<int> start_process(const process_start& what) noexcept {
  const start_settings settings(what);
  before_system_call();
  pid_t id = 0;
  int error = settings.error();
  if (error == 0)
    error = ::posix_spawnp(
        &id, what.program, settings.files(), settings.attributes(), what.arguments, what.environment);
  if (error != 0) return std::unexpected(std::error_code(error, std::generic_category()));
  return id;
}

result<int> open_process(int id) noexcept {
  before_system_call();
  return descriptor(static_cast<int>(::syscall(SYS_pidfd_open, id, 0)));
}

result<int> open_own_process() noexcept { return open_process(::getpid()); }

result<process_end> reap_process(int pidfd) noexcept { return wait_for(pidfd, WNOHANG); }
result<process_end> look_at_process(int pidfd) noexcept { return wait_for(pidfd, WNOHANG | WNOWAIT); }
void reap_process_blocking(int pidfd) noexcept { static_cast<void>(wait_for(pidfd, 0)); }

namespace {

/// PIDFD_SIGNAL_PROCESS_GROUP. In the kernel, and in headers, since 6.9.
constexpr unsigned to_group = 4;

result<void> send_signal(int pidfd, int number, unsigned how) noexcept {
  return done(static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, how)));
}

}  // namespace

result<void> signal_process(int pidfd, int number) noexcept { return send_signal(pidfd, number, 0); }

result<void> signal_group(int pidfd, int group, int number) noexcept {
  const result<void> did = send_signal(pidfd, number, to_group);
  if (did.has_value() || did.error() != std::errc::invalid_argument) return did;
  return signal_group_by_number(pidfd, group, number);
}

/// As long as the end of the leading process was not taken, no other process gets its id, and no other group
/// that of its group.
result<void> signal_group_by_number(int pidfd, int group, int number) noexcept {
  const result<process_end> is_there = look_at_process(pidfd);
  if (!is_there.has_value()) return std::unexpected(is_there.error());
  return done(::kill(-group, number));
}

}  // namespace rota::base::sys
