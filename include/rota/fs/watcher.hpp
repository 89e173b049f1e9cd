// What happens to files and in directories.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::fs {

using io::result;

/// Something that has happened; see inotify(7) for the numbers.
struct watch_event {
  int watch = -1;       // what add() gave; -1: IN_Q_OVERFLOW, some have been lost, look for yourself
  unsigned what = 0;    // IN_MODIFY, IN_CREATE, ...
  unsigned cookie = 0;  // the same for the two of a renaming: IN_MOVED_FROM, IN_MOVED_TO
  std::string name{};   // in a directory that is watched; else ""
};

/// Hears of changes by inotify: of those that are made through this system, not of those on a server that others share.
///
///   auto changes = rota::fs::watcher::open();
///   const auto log = co_await changes->add("log", IN_MODIFY);
///   const auto first = co_await changes->next();
///
/// Threads       One task at a time. Belongs to the runtime in whose task it was made.
/// Ownership     Owns the descriptor. Nobody may wait when it is destroyed.
/// Ordering      Events come in the order in which they happened; two that are alike, one after the other, are one.
/// Failure       open(): EMFILE (of descriptors, or of one user's watchers); errc::no_runtime outside of a task. add(): ENOENT, EACCES, ENOSPC (of one user's
///               watches), std::errc::invalid_argument (a path with a zero byte, no event). remove(): EINVAL: there is none of this number. next(): EBADF of
///               one that is closed. A cancelled next() has taken none. Throws `std::bad_alloc`.
/// Cost          next(): a system call for many events, two if it must wait; no thread. add(): a closure in the blocking pool.
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

  /// A file, or a directory: what happens in it. The same file again: the same number, and `events` instead of those before.
  task<result<int>> add(std::string path, unsigned events);
  /// IN_IGNORED comes when it is done.
  result<void> remove(int watch) noexcept;
  task<result<watch_event>> next();

 private:
  class state;
  class wait;
  explicit watcher(state* s) noexcept : state_(s) {}
  state* state_ = nullptr;
};

}  // namespace rota::fs
