// A child: its pidfd, and how it ended.
#pragma once

#include "base/mutex.hpp"
#include "process/watched.hpp"

#include <optional>

namespace rota::process::detail {

// PROTOCOL: child
//   Reaping a child removes the zombie, and with it the reservation of its id and of the id of its group. The
//   pidfd never means another process; a group has no such descriptor. So the end of a child that leads a
//   group is only read, and the destructor reaps it. Until then its group can be signalled, also when only
//   other processes of the group are left.
//
//   end_     nothing: not known yet                     set once, under `mutex_`, by reap()
//
//   reap:    lock · known: return it · else ask, and keep the answer · unlock. Asking the kernel does not
//            block
//   signal:  lock · known: no_such_process · unlock · by the pidfd
//   group:   by the pidfd; if the kernel cannot, by the number, if the end can still be read
//   end:     no other user is left · send SIGKILL if asked for · reap, or leave that to the reaper
//
//   I1  the kernel reports the end once; end_ keeps it for all later calls.
//   I2  the id of a group is used only while its leader, at least as a zombie, reserves it.
class child_state {
 public:
  using end = result<exit_status>;

  child_state(int id, bool leads_group, on_drop dropped) noexcept;
  /// Takes the pidfd, before any other call. Empty: the exit status will never be known.
  void own(watched_ptr pidfd) noexcept;
  child_state(const child_state&) = delete;
  child_state& operator=(const child_state&) = delete;
  ~child_state();

  [[nodiscard]] int id() const noexcept { return id_; }
  [[nodiscard]] watched* events() const noexcept { return pidfd_.get(); }
  /// Returns nothing if the child still runs.
  [[nodiscard]] std::optional<end> reap() noexcept;
  result<void> signal(int number) noexcept;
  result<void> signal_group(int number) noexcept;

 private:
  [[nodiscard]] bool is_own_process() const noexcept;
  [[nodiscard]] bool take_end() noexcept;
  const int id_;
  watched_ptr pidfd_;
  const std::uint64_t
      process_;  // a fork must not touch the child: it is not its parent, and `mutex_` may be locked there
  const bool leads_group_;
  const on_drop dropped_;

  base::mutex mutex_;
  std::optional<end> end_;
};

}  // namespace rota::process::detail
