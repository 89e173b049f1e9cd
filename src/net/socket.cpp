#include "net/socket.hpp"

#include "task/header.hpp"

#include <new>
#include <utility>

namespace rota::net::detail {

result<socket_ref> socket::adopt(int fd, short_read what) noexcept {
  result<socket_ref> made = watch(fd, what);
  if (!made.has_value()) base::sys::close(fd);
  return made;
}

namespace {

driver::io_driver* driver_here() noexcept {
  const core::header* const task = core::current_task();
  return task == nullptr ? nullptr : task->owner->ops->io(*task->owner);
}

}  // namespace

bool socket::can_watch() noexcept { return driver_here() != nullptr; }

result<socket_ref> socket::watch(int fd, short_read what) noexcept {
  const core::header* const task = core::current_task();
  driver::io_driver* const driver = driver_here();
  if (driver == nullptr) return std::unexpected(make_error_code(errc::no_runtime));
  const auto slot = driver->add(fd);
  if (!slot.has_value()) return std::unexpected(slot.error());
  auto* const made = new (std::nothrow)
      socket(core::scheduler_for_children(*task), *driver, {.fd = fd, .slot = *slot, .kind = what});
  if (made == nullptr) {
    driver->remove_open(*slot, fd);
    return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  }
  return socket_ref(made);
}

socket::socket(core::scheduler& owner, driver::io_driver& d, watched what) noexcept
    : owner_(&owner), driver_(&d), fd_(what.fd), slot_(what.slot), kind_(what.kind) {
  owner_->ops->held(*owner_);
}

socket::~socket() {
  if (fd_ != -1) {
    // In this order: first events of the slot are dropped, then the number may be given to another
    // descriptor.
    driver_->remove(slot_);
    base::sys::close(fd_);
  }
  owner_->ops->freed(*owner_);
}

void socket::retain() noexcept {
  // relaxed: the caller owns a reference.
  references_.fetch_add(1, base::order::relaxed);
}

void socket::release() noexcept {
  // acq_rel: release: this owner's last use happens before the delete; acquire: the last owner sees every
  // other owner's use.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

void socket::close() noexcept {
  // acq_rel: release: pairs with the acquire in is_closed(); acquire: of two closes the second comes after
  // the first.
  if (closed_.exchange(true, base::order::acq_rel)) return;
  if (!driver_->is_own_process()) return;  // the parent goes on using it
  events().end();
  // ENOTCONN is ignored: the socket has no peer.
  static_cast<void>(base::sys::shutdown(fd_, SHUT_RDWR));
}

int socket::give_up() noexcept {
  // acquire: pairs with the release in release(): the uses of former owners come before.
  if (references_.load(base::order::acquire) != 1) return -1;
  driver_->remove_open(slot_, fd_);
  return std::exchange(fd_, -1);
}

socket_ref::socket_ref(const socket_ref& other) noexcept : socket_(other.socket_) {
  if (socket_ != nullptr) socket_->retain();
}

socket_ref::~socket_ref() {
  if (socket_ != nullptr) socket_->release();
}

int socket_ref::descriptor() const noexcept { return socket_ == nullptr ? -1 : socket_->descriptor(); }

result<int> socket_ref::release() noexcept {
  if (socket_ == nullptr) return std::unexpected(std::make_error_code(std::errc::bad_file_descriptor));
  const int fd = socket_->give_up();
  if (fd == -1) return std::unexpected(std::make_error_code(std::errc::device_or_resource_busy));
  std::exchange(socket_, nullptr)->release();
  return fd;
}

void socket_ref::close() const noexcept {
  if (socket_ != nullptr) socket_->close();
}

owned_descriptor::~owned_descriptor() {
  if (fd_ != -1) base::sys::close(fd_);
}

// ---- operations

/// Starts the operation. The last operation of a turn gives the turn up before it is tried: a cancellation
/// that comes meanwhile finds that nothing was done, so nothing is lost.
bool socket_leaf::start() {
  if (done_) begin_anew();
  done_ = untried_ = paused_ = waits_untried_ = false;
  if (socket_ == nullptr) [[unlikely]]
    return end(std::make_error_code(std::errc::bad_file_descriptor));  // its owner was moved from
  const bool drained = !for_writing_ && socket_->take_drained();
  if (task().budget <= 1) {
    untried_ = true;
    task().why = core::stop_reason::yield;
    return false;
  }
  return drained && reads_all() ? wait_or_try() : try_or_wait();
}

driver::direction socket_leaf::direction() const noexcept {
  return for_writing_ ? driver::direction::write : driver::direction::read;
}

bool socket_leaf::end(std::error_code why) noexcept {
  fail(why);
  return done_ = true;
}

/// Waits without a try, since the read before has drained the socket.
bool socket_leaf::wait_or_try() noexcept {
  if (socket_->is_closed() || !socket_->may_wait()) return try_or_wait();
  waker mine = make_waker();
  waits_untried_ = !socket_->events().arm_untried(direction(), mine);
  return !waits_untried_ && try_or_wait();
}

/// Tries, and waits if the try would block. An event between the try and the wait is consumed, and leads to
/// another try.
bool socket_leaf::try_or_wait() noexcept {
  for (;;) {
    if (socket_->is_closed()) return end(make_error_code(errc::closed));
    const attempt did = try_once();
    done_ = did == attempt::done;
    paused_ = did == attempt::paused;
    // Re-checks closed_ after the try: see S2.
    if (done_ && !has_moved() && socket_->is_closed()) fail(make_error_code(errc::closed));
    if (done_ || paused_) return done_;
    if (!socket_->may_wait()) return end(make_error_code(errc::forked));
    waker mine = make_waker();
    if (!socket_->events().arm(direction(), mine)) return false;
  }
}

bool socket_leaf::is_ready() noexcept {
  if (done_) return true;
  if (std::exchange(untried_, false)) return try_or_wait();
  if (paused_) return pause_is_over() && try_or_wait();
  if (!socket_->events().take_ready(direction())) return false;
  waits_untried_ = false;
  return try_or_wait();
}

cancel_progress socket_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  if (paused_) {
    end_pause();
  } else if (!done_ && !untried_) {
    socket_->events().disarm(direction());
    if (waits_untried_) socket_->put_drained_back();
  }
  return cancel_progress::ended;
}

/// Wakes the task at once if the budget is spent: so it waits in the queue behind the ready tasks, and tries
/// again then.
bool socket_leaf::gives_turn_up() noexcept {
  if (has_spent_budget()) {
    make_waker().wake();
    return true;
  }
  // The next system call counts as an operation, too, however little it moves.
  charge(core::bytes_per_operation + 1);
  return false;
}

void socket_leaf::note_read(bool drained) noexcept { socket_->note_read(drained); }

int socket_leaf::descriptor() const noexcept { return socket_->descriptor(); }

}  // namespace rota::net::detail
