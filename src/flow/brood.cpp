#include "flow/brood.hpp"

#include "base/thread.hpp"
#include "task/harness.hpp"
#include "task/scheduler_here.hpp"
#include "task/unreported.hpp"

#include <rota/error.hpp>

#include <utility>

namespace rota::core {

brood::brood(header* on_behalf_of) noexcept
    : on_behalf_of_(on_behalf_of),
      deadline_(on_behalf_of == nullptr ? base::never : on_behalf_of->deadline.get()),
      own_deadline_(on_behalf_of == nullptr ? base::never : core::own_deadline(*on_behalf_of)) {
  if (on_behalf_of != nullptr) waiter_ = make_waker(*on_behalf_of);
}

brood::~brood() {
  // What is left is at most kept failures. The owner of such a handle may be on its way to dropped() now.
  for (unsigned looks = 0; !try_close(); ++looks) {
    if (size() != 0) ROTA_FATAL("a scope ended before its children", size());
    base::back_off(looks);
  }
  // Without a task around it an async_scope may be destroyed after its runtime: then no scheduler is left
  // that counts.
  const header* const here = on_behalf_of_ != nullptr ? on_behalf_of_ : current_task();
  if (first_.thrown == nullptr || here == nullptr) return;  // NOT IN A MODEL: outside of tasks no count
  scheduler& by = scheduler_for_children(*here);
  by.ops->suppressed(by);
}

header& brood::launch(promise_base& root, const result_vtable& type, std::source_location site) {
  scheduler* by = nullptr;
  try {
    by = on_behalf_of_ == nullptr ? &scheduler_here() : &scheduler_for_children_of(*on_behalf_of_);
  } catch (...) {
    const unreported dropped;
    root.handle().destroy();
    throw;
  }
  const bool admitted = by->ops->admit(*by);
  if (header* const child = take_in(root, *by, type, admitted ? spawned_word : entered_word)) {
    if (admitted) {
      note_birth(*child, site);
      by->ops->schedule(*child);
    } else {
      // A child like the others, which is cancelled: the scope is notified.
      abandon(*child, cancel_reason::shutdown);
    }
    return *child;
  }
  header& refused = make_header(root, *by, type, entered_word, current_task());
  abandon(refused, admitted ? reason() : cancel_reason::shutdown);
  return refused;
}

/// Returns why the scope takes no more children.
cancel_reason brood::reason() noexcept {
  const base::lock_guard lock(mutex_);
  return reason_.get() == cancel_reason::none ? cancel_reason::user : reason_.get();
}

/// Makes and links a child. Returns null if the scope takes no more.
header* brood::take_in(promise_base& root,
                       scheduler& by,
                       const result_vtable& type,
                       snapshot initial) noexcept {
  const base::lock_guard lock(mutex_);
  if (state_.get() != state::open) return nullptr;
  header& child = make_header(root, by, type, initial, current_task());
  // The deadline of the place where the scope is. What holds around the caller of spawn() does not apply to
  // the child.
  child.deadline.set(deadline_);
  note_watched(child);
  used_.set(true);
  // relaxed: the child's word hands it over.
  child.bond.store(this, base::order::relaxed);
  fresh_.append(child);
  // relaxed, both: written under the lock alone.
  live_.store(live_.load(base::order::relaxed) + 1, base::order::relaxed);
  return &child;
}

void brood::stop(cancel_reason reason) noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (state_.get() == state::closed) return;
    state_.set(state::stopped);
    if (reason_.get() == cancel_reason::none) reason_.set(reason);
    fresh_.for_each(announce_cancel);
  }
  cancel_all(reason);
}

void brood::announce_stop() noexcept {
  const base::lock_guard lock(mutex_);
  fresh_.for_each(announce_cancel);
}

/// Cancels the fresh children, a few at a time, because B1 forbids to cancel under the lock. No child is
/// added meanwhile, so the loop ends.
void brood::cancel_all(cancel_reason reason) noexcept {
  constexpr unsigned most = 16;
  header* picked[most];
  while (const unsigned n = pick(picked, most)) {
    for (unsigned i = 0; i < n; ++i) {
      static_cast<void>(cancel(*picked[i], reason));
      release(*picked[i]);
    }
  }
}

// NOT IN A MODEL: more than 16 children: tests/unit/flow has them
unsigned brood::pick(header** into, unsigned most) noexcept {
  const base::lock_guard lock(mutex_);
  unsigned n = 0;
  while (n < most && !fresh_.is_empty()) {
    header& child = fresh_.first();
    sibling_ring::remove(child);
    asked_.append(child);
    // The child is linked. So it has not reported its end yet, or its handle still exists.
    child.word.retain();
    into[n++] = &child;
  }
  return n;
}

void brood::ended(header& child, const ending& how, bool unseen) noexcept {
  if (unseen && how.failed()) note_failure(how, *child.owner);
  waker done;
  {
    const base::lock_guard lock(mutex_);
    // A failure with an existing handle stays linked. Without a handle no other thread can break the bond.
    const bool goes = unseen || (!how.failed() && break_bond(child) != nullptr);
    if (goes) sibling_ring::remove(child);
    // relaxed, both: written under the lock alone.
    live_.store(live_.load(base::order::relaxed) - 1, base::order::relaxed);
    done = waker_if_done();
  }
  done.wake();
}

void brood::dropped(header& child, const ending& how) noexcept {
  if (how.failed()) note_failure(how, *child.owner);
  waker done;
  {
    const base::lock_guard lock(mutex_);
    sibling_ring::remove(child);
    done = waker_if_done();
  }
  done.wake();
}

/// Called under the lock.
waker brood::waker_if_done() const noexcept {
  // relaxed: written under the lock alone.
  if (!awaited_.get() || live_.load(base::order::relaxed) != 0) return {};
  return waiter_.clone();
}

void brood::note_failure(const ending& how, scheduler& by) noexcept {
  waker failed;
  {
    const base::lock_guard lock(mutex_);
    // A child that was asked to stop, and stops, is no failure.
    if (how.thrown == nullptr && state_.get() != state::open) return;
    if (first_.failed()) {
      by.ops->suppressed(by);
      return;
    }
    first_ = how;
    if (state_.get() == state::open) reason_.set(cancel_reason::sibling_failed);
    state_.set(state::stopped);
    awaited_.set(true);
    // relaxed: the wake below hands it over.
    broken_.store(true, base::order::relaxed);
    fresh_.for_each(announce_cancel);
    failed = waiter_.clone();
  }
  failed.wake();
  cancel_all(cancel_reason::sibling_failed);
}

void brood::expect_end() noexcept {
  const base::lock_guard lock(mutex_);
  awaited_.set(true);
}

void brood::expect_end(waker w) {
  const base::lock_guard lock(mutex_);
  if (waiter_) throw error(errc::already_joined, "the end of this scope is awaited already");
  awaited_.set(true);
  waiter_ = std::move(w);
}

void brood::forget_waiter() noexcept {
  waker old;
  const base::lock_guard lock(mutex_);
  old = std::move(waiter_);
}

bool brood::all_ended() noexcept {
  const base::lock_guard lock(mutex_);
  // relaxed: written under the lock alone.
  return live_.load(base::order::relaxed) == 0;
}

bool brood::try_close() noexcept {
  const base::lock_guard lock(mutex_);
  // relaxed: written under the lock alone.
  if (live_.load(base::order::relaxed) != 0) return false;
  let_kept_go();
  if (!asked_.is_empty()) return false;
  state_.set(state::closed);
  return true;
}

/// Unlinks the kept failures and breaks their bonds. Called under the lock. A child of which another thread
/// has broken the bond stays linked, in asked_: its dropped() is on its way. The others may be freed as soon
/// as their bond is broken, because this object has no reference to them. So breaking the bond comes last.
void brood::let_kept_go() noexcept {
  sibling_ring staying;
  for (sibling_ring* const ring : {&fresh_, &asked_}) {
    while (!ring->is_empty()) {
      header& child = ring->first();
      sibling_ring::remove(child);
      if (break_bond(child) == nullptr) staying.append(child);
    }
  }
  while (!staying.is_empty()) {
    header& child = staying.first();
    sibling_ring::remove(child);
    asked_.append(child);
  }
}

bool brood::was_cancelled_from_outside() noexcept {
  const base::lock_guard lock(mutex_);
  return first_.cancelled != cancel_reason::none;
}

bool brood::was_used() noexcept {
  const base::lock_guard lock(mutex_);
  return used_.get();
}

ending brood::take_failure() noexcept {
  const base::lock_guard lock(mutex_);
  return std::exchange(first_, ending{});
}

}  // namespace rota::core
