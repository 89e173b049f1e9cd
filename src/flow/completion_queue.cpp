#include "flow/completion_queue.hpp"

#include "task/harness.hpp"
#include "task/scheduler_here.hpp"
#include "task/unreported.hpp"

#include <rota/detail/completion_queue.hpp>
#include <rota/error.hpp>

#include <utility>

namespace rota::core {

header& completion_queue::launch(promise_base& root, const result_vtable& type, std::source_location site) {
  scheduler* by = nullptr;
  try {
    by = &scheduler_here();
  } catch (...) {
    const unreported dropped;
    root.handle().destroy();
    throw;
  }
  const bool admitted = by->ops->admit(*by);
  header& child = make_header(root, *by, type, admitted ? spawned_word : entered_word, current_task());
  // The reference of the abort_handle. It is taken before the task is scheduled: afterwards the task may end
  // at once.
  child.word.retain();
  // relaxed: the set's own reference keeps this object alive meanwhile.
  references_.fetch_add(1, base::order::relaxed);
  {
    const base::lock_guard lock(mutex_);
    // relaxed: the child's word hands it over.
    child.bond.store(this, base::order::relaxed);
    fresh_.append(child);
    if (cancelling_.get() != 0) announce_cancel(child);
    resize(+1);
  }
  if (admitted) {
    note_birth(child, site);
    by->ops->schedule(child);
  } else {
    abandon(child, cancel_reason::shutdown);
  }
  return child;
}

/// Changes size_. Called under the lock.
void completion_queue::resize(std::int64_t by) noexcept {
  // relaxed, both: written under the lock alone.
  size_.store(size_.load(base::order::relaxed) + static_cast<std::uint64_t>(by), base::order::relaxed);
}

/// Takes a few tasks, each with a reference, because Q1 forbids to cancel under the lock. Returns 0 if none
/// is left; that ends what begin_cancelling() began.
// NOT IN A MODEL: more than 16 tasks: tests/unit/flow has them
unsigned completion_queue::pick(header** into, unsigned most, sibling_ring* to) noexcept {
  const base::lock_guard lock(mutex_);
  unsigned n = 0;
  for (sibling_ring* const from : {&fresh_, &asked_}) {
    if (from == to) continue;
    while (n < most && !from->is_empty()) {
      header& child = from->first();
      sibling_ring::remove(child);
      if (to != nullptr) to->append(child);
      child.word.retain();
      into[n++] = &child;
    }
  }
  if (n == 0) cancelling_.set(cancelling_.get() - 1);
  return n;
}

/// Announces the cancellation. Called under the lock. The caller then picks until nothing is left.
void completion_queue::begin_cancelling() noexcept {
  cancelling_.set(cancelling_.get() + 1);
  for (sibling_ring* const ring : {&fresh_, &asked_}) ring->for_each(announce_cancel);
}

void completion_queue::cancel_all(cancel_reason reason) noexcept {
  {
    const base::lock_guard lock(mutex_);
    begin_cancelling();
  }
  constexpr unsigned most = 16;
  header* picked[most];
  while (const unsigned n = pick(picked, most, &asked_)) {
    for (unsigned i = 0; i < n; ++i) {
      static_cast<void>(cancel(*picked[i], reason));
      core::release(*picked[i]);
    }
  }
}

void completion_queue::abandon_all() noexcept {
  {
    const base::lock_guard lock(mutex_);
    abandoned_.set(true);
    begin_cancelling();
  }
  constexpr unsigned most = 16;
  header* picked[most];
  while (const unsigned n = pick(picked, most, nullptr)) {
    for (unsigned i = 0; i < n; ++i) {
      static_cast<void>(cancel(*picked[i], cancel_reason::user));
      drop_handle(*picked[i]);
      core::release(*picked[i]);
    }
  }
  while (header* const child = take_next()) drop_handle(*child);
  release();
}

void completion_queue::ended(header& child, const ending& how, bool unseen) noexcept {
  if (unseen) dropped(child, how);
  waker next;
  {
    const base::lock_guard lock(mutex_);
    // In no ring: the set is gone, and has dropped the handle, or is about to.
    if (sibling_ring::is_in_one(child)) {
      sibling_ring::remove(child);
      ended_.append(child);
    }
    if (waiter_) next = waiter_.clone();
  }
  next.wake();
  release();
}

/// Counts an exception that no `next` has taken.
void completion_queue::dropped(header& child, const ending& how) noexcept {
  if (how.thrown != nullptr) child.owner->ops->suppressed(*child.owner);
}

void completion_queue::demand_no_waiter() {
  const base::lock_guard lock(mutex_);
  demand_no_waiter_locked();
}

void completion_queue::demand_no_waiter_locked() const {
  if (waiter_) throw error(errc::already_joined, "another task awaits this join_set already");
}

void completion_queue::set_waiter(waker w) {
  const base::lock_guard lock(mutex_);
  demand_no_waiter_locked();
  waiter_ = std::move(w);
}

void completion_queue::forget_waiter() noexcept {
  waker old;
  const base::lock_guard lock(mutex_);
  old = std::move(waiter_);
}

bool completion_queue::has_next() noexcept {
  const base::lock_guard lock(mutex_);
  return !ended_.is_empty() || (fresh_.is_empty() && asked_.is_empty());
}

bool completion_queue::is_next_cancelled() noexcept {
  const base::lock_guard lock(mutex_);
  if (ended_.is_empty()) return false;
  header& child = ended_.first();
  return child.result().cancelled(&child) != cancel_reason::none;
}

// NOT IN A MODEL: a task that is new while the set is closed: one task uses a set at a time, and it waits
bool completion_queue::all_ended() noexcept {
  const base::lock_guard lock(mutex_);
  return fresh_.is_empty() && asked_.is_empty();
}

header* completion_queue::take_next() noexcept {
  const base::lock_guard lock(mutex_);
  if (ended_.is_empty()) return nullptr;
  header& child = ended_.first();
  sibling_ring::remove(child);
  resize(-1);
  return &child;
}

void completion_queue::release() noexcept {
  // acq_rel: the release orders this thread's last use before the deletion. The acquire: the deleting thread
  // sees the last use of all others.
  if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
}

completion_queue_owner::completion_queue_owner() : queue_(new completion_queue) {}

completion_queue_owner::completion_queue_owner(completion_queue_owner&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)) {}

completion_queue_owner& completion_queue_owner::operator=(completion_queue_owner&& other) noexcept {
  completion_queue_owner old(std::move(*this));
  queue_ = std::exchange(other.queue_, nullptr);
  return *this;
}

completion_queue_owner::~completion_queue_owner() {
  if (queue_ != nullptr) queue_->abandon_all();
}

header& completion_queue_owner::launch(promise_base& root,
                                       const result_vtable& type,
                                       std::source_location site) {
  return queue().launch(root, type, site);
}

void completion_queue_owner::cancel_all() noexcept { queue().cancel_all(cancel_reason::user); }

std::size_t completion_queue_owner::size() const noexcept { return queue().size(); }

bool next_leaf::start() {
  // The waiter is set first: an end that comes in between wakes this task, and a second `next` throws before
  // it takes anything.
  queue_->set_waiter(make_waker());
  return queue_->has_next();
}

/// A set has the waker of one waiter only.
const void* next_leaf::check_beside() {
  queue_->demand_no_waiter();
  return queue_;
}

bool next_leaf::is_ready() noexcept { return queue_->has_next(); }

cancel_progress next_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  queue_->forget_waiter();
  return cancel_progress::ended;
}

bool next_leaf::is_discardable() noexcept { return queue_->is_next_cancelled(); }

header* next_leaf::take() noexcept {
  queue_->forget_waiter();
  return queue_->take_next();
}

bool drain_leaf::start() {
  queue_->set_waiter(make_waker());
  return queue_->all_ended();
}

bool drain_leaf::is_ready() noexcept { return queue_->all_ended(); }

cancel_progress drain_leaf::try_cancel(cancel_reason reason) noexcept {
  queue_->cancel_all(reason);
  return cancel_ended() ? cancel_progress::ended : cancel_progress::pending;
}

bool drain_leaf::cancel_ended() noexcept {
  if (!queue_->all_ended()) return false;
  queue_->forget_waiter();
  return true;
}

void drain_leaf::await_resume() noexcept {
  queue_->forget_waiter();
  while (header* const child = queue_->take_next()) drop_handle(*child);
}

}  // namespace rota::core
