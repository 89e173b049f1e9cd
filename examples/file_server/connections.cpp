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
  const std::lock_guard lock(mutex_);
  where->task = std::move(task);
  if (draining_.load() && where->idle.load()) where->task.cancel();
}

void connections::leave(place where) noexcept {
  std::list<connection> gone;
  rota::waker waiting;
  {
    const std::lock_guard lock(mutex_);
    gone.splice(gone.begin(), list_, where);
    open_.store(static_cast<std::uint32_t>(list_.size()), std::memory_order::relaxed);
    if (list_.empty()) waiting = std::move(waiting_);
  }
  waiting.wake();
}

void connections::drain() {
  const std::lock_guard lock(mutex_);
  draining_.store(true);
  for (connection& c : list_) {
    if (c.idle.load()) c.task.cancel();
  }
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
