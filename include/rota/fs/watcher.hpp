// Notification of changes to files and directories.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::fs {

using io::result;

/// One change. inotify(7) defines the numbers.
struct watch_event {
  int watch = -1;       // the result of add(); -1: IN_Q_OVERFLOW, events were lost, rescan
  unsigned what = 0;    // IN_MODIFY, IN_CREATE, ...
  unsigned cookie = 0;  // equal for the two events of a rename: IN_MOVED_FROM, IN_MOVED_TO
  std::string name{};   // the name in a watched directory; else ""
};

/// Reports changes by inotify. It reports changes that are made through this system, not changes on a network
/// server by other clients.
///
///   auto changes = rota::fs::watcher::open();
///   const auto log = co_await changes->add("log", IN_MODIFY);
///   const auto first = co_await changes->next();
///
/// Threads       One task at a time. Belongs to the runtime of the task that made it.
/// Ownership     Owns the descriptor. No task may wait when it is destroyed.
/// Ordering      Events arrive in the order in which they happened. Two equal events in a row may be merged
///               into one.
/// Failure       open(): EMFILE (of descriptors, or of one user's watchers); errc::no_runtime outside of a
///               task. add(): ENOENT, EACCES, ENOSPC (of one user's watches), std::errc::invalid_argument (a
///               path with a zero byte, no event). remove(): EINVAL: there is no watch with this number.
///               next(): EBADF if the watcher is closed. next() is cancel-safe: a cancelled call consumes no
///               event. Throws `std::bad_alloc`.
/// Cost          next(): a system call for many events, two if it must wait; no thread. add(): a closure in
///               the blocking pool.
/// Example       examples/tail/main.cpp
class ROTA_API watcher {
 public:
  watcher() noexcept = default;
  watcher(watcher&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  watcher& operator=(watcher&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  ~watcher();

  [[nodiscard]] static result<watcher> open() noexcept;

  /// Watches a file, or the contents of a directory. For a file that is watched already it returns the same
  /// number and replaces the old `events`.
  task<result<int>> add(std::string path, unsigned events);
  /// Removes a watch. IN_IGNORED arrives when that is done.
  result<void> remove(int watch) noexcept;
  task<result<watch_event>> next();

 private:
  class state;
  class wait;
  explicit watcher(state* s) noexcept : state_(s) {}
  state* state_ = nullptr;
};

}  // namespace rota::fs
