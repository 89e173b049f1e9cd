#include "connections.hpp"

namespace file_server {

std::optional<connections::place> connections::enter() {
  const std::lock_guard lock(mutex_);
  if (list_.size() >= most_) return std::nullopt;
  list_.emplace_front();
  open_.store(static_cast<std::uint32_t>(list_.size()), std::memory_order::relaxed);
  return list_.begin();
}

void connections::started(place where, rota::join_handle<void> task) {
  removed last;
  {
    const std::lock_guard lock(mutex_);
    where->known = true;
    if (where->gone) {
      last = remove(where);
    } else {
      where->task = std::move(task);
      if (ending_ || (draining_.load() && where->idle.load())) where->task.cancel();
    }
  }
  last.waiting.wake();
}

void connections::leave(place where) noexcept {
  removed last;
  {
    const std::lock_guard lock(mutex_);
    where->gone = true;
    if (where->known) last = remove(where);
  }
  last.waiting.wake();
}

connections::removed connections::remove(place where) noexcept {
  removed last;
  last.node.splice(last.node.begin(), list_, where);
  open_.store(static_cast<std::uint32_t>(list_.size()), std::memory_order::relaxed);
  if (list_.empty()) last.waiting = std::move(waiting_);
  return last;
}

void connections::drain() {
  const std::lock_guard lock(mutex_);
  draining_.store(true);
  for (connection& c : list_) {
    if (c.idle.load()) c.task.cancel();
  }
}

void connections::end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  for (connection& c : list_) {
    if (c.known) c.task.cancel();
  }
}

/// Checks under the lock: if it returns true, the last connection that left no longer accesses the list.
bool connections::none_leaf::is_ready() noexcept {
  const std::lock_guard lock(of_.mutex_);
  return of_.list_.empty();
}

bool connections::none_leaf::start() {
  rota::waker mine = make_waker();
  const std::lock_guard lock(of_.mutex_);
  if (of_.list_.empty()) return true;
  of_.waiting_ = std::move(mine);
  return false;
}

rota::cancel_progress connections::none_leaf::try_cancel(rota::cancel_reason /*reason*/) noexcept {
  rota::waker dropped;
  const std::lock_guard lock(of_.mutex_);
  dropped = std::move(of_.waiting_);
  return rota::cancel_progress::ended;
}

}  // namespace file_server
