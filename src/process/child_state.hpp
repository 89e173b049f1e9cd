// A child: its pidfd, and how it ended.
#pragma once

#include "base/mutex.hpp"
#include "process/watched.hpp"

#include <optional>

namespace rota::process::detail {

// PROTOCOL: child
//   Whoever takes the end of a child takes the zombie away, and with it the claim to the id, and to the id of its group. The pidfd never means
//   another process; a group has no such thing. So the end of one that leads a group is only looked at, and taken by the destructor: until then its
//   group can be signalled, also when all that is left of it are others.
//
//   end_     nothing: not known yet                     set once, under `mutex_`, by reap()
//
//   reap:    lock · known: that · else ask, and keep the answer · unlock. No blocking under the lock: the kernel is asked, not waited for
//   signal:  lock · known: no_such_process · unlock · by the pidfd
//   group:   by the pidfd; where the kernel cannot, by the number, if the end is still there to be looked at
//   end:     nobody else is left · signal what is to be killed · take the end, or leave that to the reaper
//
//   I1  the kernel says once how it ended; end_ keeps it for all who ask later.
//   I2  a group's id is used only while its leader, at least as a zombie, keeps it.
class child_state {
 public:
  using end = result<exit_status>;

  child_state(int id, bool leads_group, on_drop dropped) noexcept;
  /// Before anything else. Empty: nobody will ever know how it ended.
  void own(watched_ptr pidfd) noexcept;
  child_state(const child_state&) = delete;
  child_state& operator=(const child_state&) = delete;
  ~child_state();

  [[nodiscard]] int id() const noexcept { return id_; }
  [[nodiscard]] watched* events() const noexcept { return pidfd_.get(); }
  /// Nothing: it runs.
  [[nodiscard]] std::optional<end> reap() noexcept;
  result<void> signal(int number) noexcept;
  result<void> signal_group(int number) noexcept;

 private:
  [[nodiscard]] bool is_own_process() const noexcept;
  [[nodiscard]] bool take_end() noexcept;
  const int id_;
  watched_ptr pidfd_;
  const std::uint64_t
      process_;  // a fork leaves it alone: it is no child of its own, and `mutex_` may be taken there
  const bool leads_group_;
  const on_drop dropped_;

  base::mutex mutex_;
  std::optional<end> end_;
};

}  // namespace rota::process::detail
