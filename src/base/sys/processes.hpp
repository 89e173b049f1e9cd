// The system calls of processes, of the pipes between them, and of signals.
#pragma once

#include "base/sys/result.hpp"

#include <csignal>
#include <cstddef>

namespace rota::base::sys {

/// Sets what the process does when signal `number` arrives. `before`, if it is not null, gets the action
/// until now. EINVAL for the numbers that glibc reserves (32, 33).
result<void> set_signal_action(int number, const struct sigaction& next, struct sigaction* before) noexcept;
/// Makes a descriptor that is readable while one of `numbers` is pending for the process, or for the reading
/// thread. It does not block.
result<int> signal_fd(const sigset_t& numbers) noexcept;
/// Takes one pending signal and returns its number; 0 if there is none.
int read_signal_fd(int fd) noexcept;

struct pipe_ends {
  int read;
  int write;
};
/// Makes a pipe. Both ends block, and neither survives an exec. Both descriptors are 3 or higher, also in a
/// process that has closed one of 0, 1, 2.
result<pipe_ends> pipe() noexcept;
/// Returns true if a child gets the descriptor under this number: it is open, and survives an exec.
[[nodiscard]] bool is_inherited(int fd) noexcept;
result<void> set_nonblocking(int fd) noexcept;
/// Makes the descriptor end at an exec.
result<void> close_at_exec(int fd) noexcept;
/// Returns another descriptor of the same file, 3 or higher, which does not survive an exec.
result<int> duplicate_high(int fd) noexcept;
result<std::size_t> read(int fd, void* bytes, std::size_t size) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> write(int fd, const void* bytes, std::size_t size) noexcept;

/// How a process is started.
struct process_start {
  static constexpr int inherited = -1;
  static constexpr int null_device = -2;
  static constexpr int no_group = -1;

  const char* program;  // searched in PATH if it has no slash
  char* const* arguments;
  char* const* environment;
  const char* directory = nullptr;                   // null: that of this process
  int files[3] = {inherited, inherited, inherited};  // for 0, 1, 2: one of the above, or a descriptor above 2
  bool errors_to_output = false;
  int group = no_group;  // 0: a group of its own
  bool leads_session = false;
};
/// Starts a process. Returns its id when it has executed its program, or the reason why it could not. Blocks
/// until then.
result<int> start_process(const process_start& what) noexcept;

/// Opens a descriptor for a child, readable once the child has ended. ESRCH: it has gone already.
result<int> open_process(int id) noexcept;
/// Opens a descriptor for this process. It reserves the place for that of a child, and fails if such
/// descriptors are forbidden.
result<int> open_own_process() noexcept;

enum class how_ended : unsigned char { not_yet, exited, signalled, dumped };
struct process_end {
  how_ended how = how_ended::not_yet;
  int value = 0;  // exit code, or the signal's number
};
/// Returns how the child ended, and takes that: a second call returns ECHILD. Does not block.
result<process_end> reap_process(int pidfd) noexcept;
/// Returns how the child ended, and leaves that to be taken later.
result<process_end> look_at_process(int pidfd) noexcept;
/// Blocks until the child has ended, and takes its end.
void reap_process_blocking(int pidfd) noexcept;
result<void> signal_process(int pidfd, int number) noexcept;
/// Signals the group that this process leads, or has led.
result<void> signal_group(int pidfd, int group, int number) noexcept;
/// The same for kernels that cannot do it by a descriptor (before 6.9). ECHILD: the process is no child, or
/// its end was taken.
result<void> signal_group_by_number(int pidfd, int group, int number) noexcept;

}  // namespace rota::base::sys
