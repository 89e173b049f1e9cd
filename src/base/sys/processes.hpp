// The system calls of processes, of the pipes between them, and of signals.
#pragma once

#include "base/sys/result.hpp"

#include <csignal>
#include <cstddef>

namespace rota::base::sys {

/// What the process does when signal `number` comes from now on. `before`, if it is not null: what it did until now. EINVAL for the
/// numbers that glibc keeps to itself (32, 33).
result<void> set_signal_action(int number, const struct sigaction& next, struct sigaction* before) noexcept;
/// Readable while one of `numbers` is pending for the process, or for the thread that looks. Does not block.
result<int> signal_fd(const sigset_t& numbers) noexcept;
/// Takes one signal that is pending: its number. 0: there is none.
int read_signal_fd(int fd) noexcept;

struct pipe_ends {
  int read;
  int write;
};
/// Both block, and neither survives an exec. Both are 3 or higher, also in a process that has closed one of the three.
result<pipe_ends> pipe() noexcept;
/// A child finds what is here under this number: it is open, and survives an exec.
[[nodiscard]] bool is_inherited(int fd) noexcept;
result<void> set_nonblocking(int fd) noexcept;
/// It does not survive an exec.
result<void> close_at_exec(int fd) noexcept;
/// Another number for the same, 3 or higher, which does not survive an exec.
result<int> duplicate_high(int fd) noexcept;
result<std::size_t> read(int fd, void* bytes, std::size_t size) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> write(int fd, const void* bytes, std::size_t size) noexcept;

/// What a process is started with.
struct process_start {
  static constexpr int inherited = -1;
  static constexpr int null_device = -2;
  static constexpr int no_group = -1;

  const char* program;  // searched in PATH if it has no slash
  char* const* arguments;
  char* const* environment;
  const char* directory = nullptr;                   // null: this process's
  int files[3] = {inherited, inherited, inherited};  // for 0, 1, 2: one of the above, or a descriptor above 2
  bool errors_to_output = false;
  int group = no_group;  // 0: one of its own
  bool leads_session = false;
};
/// Returns its id when it has executed its program, or with the reason why it could not. Blocks meanwhile.
result<int> start_process(const process_start& what) noexcept;

/// A descriptor for a child, readable once it has ended. ESRCH: it has gone already.
result<int> open_process(int id) noexcept;
/// One for this process: a place for that of a child, and whatever forbids such descriptors forbids this one.
result<int> open_own_process() noexcept;

enum class how_ended : unsigned char { not_yet, exited, signalled, dumped };
struct process_end {
  how_ended how = how_ended::not_yet;
  int value = 0;  // exit code, or the signal's number
};
/// How the child ended. Then it has gone: asked once more, ECHILD. Does not block.
result<process_end> reap_process(int pidfd) noexcept;
/// The same, and leaves it there to be asked for again.
result<process_end> look_at_process(int pidfd) noexcept;
/// Blocks until it has ended.
void reap_process_blocking(int pidfd) noexcept;
result<void> signal_process(int pidfd, int number) noexcept;
/// To the group that this process leads, or has led.
result<void> signal_group(int pidfd, int group, int number) noexcept;
/// The same where the kernel cannot do it by a descriptor (before 6.9). ECHILD: the process is no child, or its end was taken.
result<void> signal_group_by_number(int pidfd, int group, int number) noexcept;

}  // namespace rota::base::sys
