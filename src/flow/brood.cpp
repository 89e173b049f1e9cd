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
      deadline_(on_behalf_of == nullptr ? base::never : on_behalf_of->deadline.get()) {
  if (on_behalf_of != nullptr) waiter_ = make_waker(*on_behalf_of);
}

brood::~brood() {
  // Left are at most failures in handles that somebody else holds; one may be on its way to dropped() at this moment.
  for (unsigned looks = 0; !try_close(); ++looks) {
    if (size() != 0) ROTA_FATAL("a scope ended before its children", size());
    base::back_off(looks);
  }
  // Without a task around it an async_scope may go after its runtime: then nobody is left who counts.
  const header* const here = on_behalf_of_ != nullptr ? on_behalf_of_ : current_task();
  if (first_.thrown == nullptr || here == nullptr) return;  // NOT IN A MODEL: nobody counts outside of tasks
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
      // A child like the others, which is cancelled: the scope hears of it.
      abandon(*child, cancel_reason::shutdown);
    }
    return *child;
  }
  header& refused = make_header(root, *by, type, entered_word, current_task());
  abandon(refused, admitted ? reason() : cancel_reason::shutdown);
  return refused;
}

/// Why no more are taken.
cancel_reason brood::reason() noexcept {
  const base::lock_guard lock(mutex_);
  return reason_.get() == cancel_reason::none ? cancel_reason::user : reason_.get();
}

/// Null: no more are taken.
header* brood::take_in(promise_base& root,
                       scheduler& by,
                       const result_vtable& type,
                       snapshot initial) noexcept {
  const base::lock_guard lock(mutex_);
  if (state_.get() != state::open) return nullptr;
  header& child = make_header(root, by, type, initial, current_task());
  // Of the place where the scope is: what holds around the caller of spawn() is its own affair.
  child.deadline.set(deadline_);
  note_watched(child);
  used_.set(true);
  // relaxed. The child's word hands it over.
  child.bond.store(this, base::order::relaxed);
  fresh_.append(child);
  // relaxed, both. Written under the lock alone.
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

/// A few at a time, since B1 forbids to cancel under the lock. Nobody is added meanwhile, so it ends.
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
    // It is linked, so its end has not come to us yet, or its handle is still held.
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
    // A failure whose handle is still there stays linked. Without a handle nobody else can break the bond.
    const bool goes = unseen || (!how.failed() && break_bond(child) != nullptr);
    if (goes) sibling_ring::remove(child);
    // relaxed, both. Written under the lock alone.
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

/// Under the lock.
waker brood::waker_if_done() const noexcept {
  // relaxed. Written under the lock alone.
  if (!awaited_.get() || live_.load(base::order::relaxed) != 0) return {};
  return waiter_.clone();
}

void brood::note_failure(const ending& how, scheduler& by) noexcept {
  waker failed;
  {
    const base::lock_guard lock(mutex_);
    // Who was asked to stop and does is no failure.
    if (how.thrown == nullptr && state_.get() != state::open) return;
    if (first_.failed()) {
      by.ops->suppressed(by);
      return;
    }
    first_ = how;
    if (state_.get() == state::open) reason_.set(cancel_reason::sibling_failed);
    state_.set(state::stopped);
    awaited_.set(true);
    // relaxed. The wake below hands it over.
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
  if (waiter_) throw error(errc::already_joined, "somebody awaits the end of this scope already");
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
  // relaxed. Written under the lock alone.
  return live_.load(base::order::relaxed) == 0;
}

bool brood::try_close() noexcept {
  const base::lock_guard lock(mutex_);
  // relaxed. Written under the lock alone.
  if (live_.load(base::order::relaxed) != 0) return false;
  let_kept_go();
  if (!asked_.is_empty()) return false;
  state_.set(state::closed);
  return true;
}

/// Under the lock. Those whose bond somebody else has broken stay, as asked ones: their dropped() is on its way. The others may
/// be freed as soon as their bond is broken, since no reference of ours keeps them: so that comes last.
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
