#include "process/watched.hpp"

#include "base/sys/files.hpp"
#include "task/header.hpp"

#include <rota/error.hpp>

#include <new>
#include <utility>

namespace rota::process::detail {

result<watched_ptr> watched::make(int fd) noexcept {
  const core::header* const task = core::current_task();
  driver::io_driver* const driver = task == nullptr ? nullptr : task->owner->ops->io(*task->owner);
  if (driver == nullptr) return std::unexpected(make_error_code(errc::no_runtime));
  const auto slot = driver->add(fd);
  if (!slot.has_value()) return std::unexpected(slot.error());
  auto* const made = new (std::nothrow) watched(core::scheduler_for_children(*task), *driver, fd, *slot);
  if (made != nullptr) return watched_ptr(made);
  driver->remove_open(*slot, fd);
  return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
}

result<watched_ptr> watched::adopt(int fd) noexcept {
  result<watched_ptr> made = make(fd);
  if (!made.has_value()) base::sys::close(fd);
  return made;
}

watched::watched(core::scheduler& owner, driver::io_driver& d, int fd, std::uint32_t slot) noexcept
    : owner_(&owner), driver_(&d), fd_(fd), slot_(slot) {
  owner_->ops->held(*owner_);
}

watched::~watched() {
  // First remove it from the driver; then another descriptor may get the number.
  if (fd_ != -1) {
    driver_->remove(slot_);
    if (!closing_.is_over()) base::sys::close(fd_);
  }
  owner_->ops->freed(*owner_);
}

void watched::leave() noexcept {
  if (closing_.leave() == closing::on_leave::close_descriptor) base::sys::close(fd_);
}

void watched::close() noexcept {
  const closing::on_close then = closing_.close();
  if (then == closing::on_close::was_closed) return;
  // In a fork no task waits, and a thread of the parent may have held the lock of the registration.
  if (driver_->is_own_process()) events().end();
  if (then == closing::on_close::wake_and_close_descriptor) base::sys::close(fd_);
}

int watched::release() noexcept {
  driver_->remove_open(slot_, fd_);
  return std::exchange(fd_, -1);
}

watched_ptr::~watched_ptr() { delete watched_; }

int watched_ptr::descriptor() const noexcept {
  return watched_ == nullptr || watched_->is_closed() ? -1 : watched_->descriptor();
}

void watched_ptr::close() const noexcept {
  if (watched_ != nullptr) watched_->close();
}

/// The last operation of a turn gives the turn up before it is tried. So a cancellation meanwhile finds that
/// nothing was done, and nothing is lost.
bool watched_leaf::start() {
  if (done_) begin_anew();
  done_ = untried_ = paused_ = false;
  if (task().budget > 1) return try_or_wait();
  untried_ = true;
  task().why = core::stop_reason::yield;
  return false;
}

watched_leaf::attempt watched_leaf::try_unless_closed() noexcept {
  if (watched_ == nullptr) return try_once();
  if (!watched_->enter()) {
    fail(std::make_error_code(std::errc::bad_file_descriptor));
    return attempt::done;
  }
  const attempt did = try_once();
  watched_->leave();
  return did;
}

/// An event between the try and the wait is consumed, and leads to another try.
bool watched_leaf::try_or_wait() noexcept {
  const driver::direction d = for_writing_ ? driver::direction::write : driver::direction::read;
  for (;;) {
    const attempt did = try_unless_closed();
    done_ = did == attempt::done;
    paused_ = did == attempt::paused;
    if (done_ || paused_) return done_;
    if (!watched_->may_wait()) {
      fail(make_error_code(errc::forked));
      return done_ = true;
    }
    waker mine = make_waker();
    if (!watched_->events().arm(d, mine)) return false;
  }
}

bool watched_leaf::is_ready() noexcept {
  if (done_) return true;
  if (std::exchange(untried_, false) || paused_) return try_or_wait();
  const driver::direction d = for_writing_ ? driver::direction::write : driver::direction::read;
  return watched_->events().take_ready(d) && try_or_wait();
}

cancel_progress watched_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  if (!done_ && !untried_ && !paused_)
    watched_->events().disarm(for_writing_ ? driver::direction::write : driver::direction::read);
  return cancel_progress::ended;
}

/// The task is queued behind the ready ones, and tries again after them.
bool watched_leaf::gives_turn_up() noexcept {
  if (has_spent_budget()) {
    make_waker().wake();
    return true;
  }
  // The next system call counts as one operation, however little it moves.
  charge(core::bytes_per_operation + 1);
  return false;
}

int watched_leaf::descriptor() const noexcept { return watched_ == nullptr ? -1 : watched_->descriptor(); }

}  // namespace rota::process::detail
