#include "file_server/access_log.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include <rota/spawn.hpp>
#include <rota/time.hpp>

namespace file_server {

access_log::access_log(std::string name, rotation r, std::size_t capacity)
    : name_(std::move(name)), capacity_(capacity), file_(name_, r) {
  if (const std::error_code failed = file_.open()) throw std::system_error(failed, "--access-log " + name_);
  front_.reserve(capacity_);
  back_.reserve(capacity_);
}

void access_log::add(std::string_view line) noexcept {
  rota::waker writer;
  {
    const std::lock_guard lock(mutex_);
    if (line.size() > capacity_ - front_.size()) {
      dropped_.fetch_add(1, std::memory_order::relaxed);
      return;
    }
    front_.append(line);
    if (front_.size() >= wanted_) writer = take_waiting();
  }
  lines_.fetch_add(1, std::memory_order::relaxed);
  writer.wake();
}

void access_log::reopen() noexcept {
  rota::waker writer;
  {
    const std::lock_guard lock(mutex_);
    reopen_ = true;
    writer = take_waiting();
  }
  writer.wake();
}

void access_log::finish() noexcept {
  rota::waker writer;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    writer = take_waiting();
  }
  writer.wake();
}

rota::waker access_log::take_waiting() noexcept { return std::move(waiting_); }

bool access_log::has_work(std::size_t bytes) const noexcept {
  return front_.size() >= bytes || reopen_ || finished_;
}

bool access_log::work_leaf::is_ready() noexcept {
  const std::lock_guard lock(of_.mutex_);
  return of_.has_work(bytes_);
}

bool access_log::work_leaf::start() {
  rota::waker mine = make_waker();
  const std::lock_guard lock(of_.mutex_);
  if (of_.has_work(bytes_)) return true;
  of_.wanted_ = bytes_;
  of_.waiting_ = std::move(mine);
  return false;
}

rota::cancel_progress access_log::work_leaf::try_cancel(rota::cancel_reason /*reason*/) noexcept {
  rota::waker dropped;
  const std::lock_guard lock(of_.mutex_);
  dropped = of_.take_waiting();
  return rota::cancel_progress::ended;
}

bool access_log::is_done() noexcept {
  const std::lock_guard lock(mutex_);
  return finished_ && front_.empty();
}

rota::task<void> access_log::write_until_finished() {
  bool done = false;
  while (!done) {
    co_await work_leaf(*this, 1);
    const auto waited = co_await rota::timeout(patience, work_leaf(*this, capacity_ / 2));
    static_cast<void>(waited);
    try {
      rota::join_handle<void> batch = rota::spawn_blocking([this] { write_batch(); });
      co_await batch;
    } catch (const std::bad_alloc&) {
      // The lines stay in `front_`, and the next round tries again.
      complain(std::make_error_code(std::errc::not_enough_memory));
    }
    done = is_done();
  }
}

/// Runs on a thread of the blocking pool.
void access_log::write_batch() {
  bool reopen = false;
  {
    const std::lock_guard lock(mutex_);
    std::swap(front_, back_);
    reopen = std::exchange(reopen_, false);
  }
  std::error_code failed = reopen ? file_.open() : std::error_code();
  const log_file::written out = file_.write(back_);
  lost_.fetch_add(out.lines_lost, std::memory_order::relaxed);
  back_.clear();
  complain(failed ? failed : out.error);
}

/// Prints a message once for each kind of error, and again after the error has been gone in between.
void access_log::complain(std::error_code error) {
  if (error && error != complained_) {
    std::fprintf(stderr, "file_server: --access-log %s: %s\n", name_.c_str(), error.message().c_str());
  }
  complained_ = error;
}

}  // namespace file_server
