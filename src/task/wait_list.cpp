#include <rota/detail/wait_leaf.hpp>
#include <rota/detail/wait_list.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "task/header.hpp"

#include <new>
#include <utility>

namespace rota::core {

/// W5: the thread inside of the section has granted what lets another thread destroy the list, and leaves the
/// section.
void wait_list::end_slowly(const char* words) noexcept {
  lock_after_all();
  const bool alone = ring_.is_alone();
  lock_.unlock();
  if (!alone) ROTA_FATAL(words, 0);
}

/// Locks when no section is away: W6.
void wait_list::lock_after_all() noexcept {
  for (;;) {
    lock_.lock();
    // relaxed: under the lock.
    const std::uint32_t seen = away_.load(base::order::relaxed);
    if (seen < one_away) return;
    // relaxed: under the lock.
    away_.store(seen | waited, base::order::relaxed);
    lock_.unlock();
    static_cast<void>(base::futex_wait(away_, seen | waited, base::never));
  }
}

/// Counts this section as away. Under the lock, which is released next.
void wait_list::go_away() noexcept {
  // relaxed: under the lock.
  const std::uint32_t seen = away_.load(base::order::relaxed);
  // relaxed: under the lock; the thread that takes the lock next sees it.
  away_.store((seen | begun) + one_away, base::order::relaxed);
}

/// Counts this section as back. Under the lock, which was taken again.
void wait_list::come_back() noexcept {
  // relaxed: under the lock.
  const std::uint32_t left = away_.load(base::order::relaxed) - one_away;
  // relaxed: under the lock.
  away_.store(left, base::order::relaxed);
  if ((left & waited) != 0) [[unlikely]]
    base::futex_wake(&away_, 1);
}

std::size_t wait_list::size() noexcept {
  const wait_section section(*this);
  return size_;
}

// ---- a section

wait_section::wait_section(wait_list& list) noexcept : list_(&list) {
  list_->lock_.lock();
  base::note_locked();
}

wait_section::~wait_section() { close(); }

/// Unlocks, then wakes. Nothing of the list is touched after the unlock.
void wait_section::close() noexcept {
  base::note_unlocked();
  list_->lock_.unlock();
  demand_unguarded();
  for (unsigned i = 0; i < count_; ++i) {
    woken_[i].wake();
    woken_[i].~waker();
  }
  count_ = 0;
}

void wait_section::breathe() noexcept {
  list_->go_away();
  close();
  list_->lock_.lock();
  base::note_locked();
  list_->come_back();
}

void wait_section::insert(wait_links& where, wait_node& node) noexcept {
  base::note_write(&node);
  ROTA_ASSERT(node.is_alone() && node.wake);
  node.next = &where;
  node.before = std::exchange(where.before, &node);
  node.before->next = &node;
  ++list_->size_;
}

void wait_section::link_before(wait_links& where, wait_node& node) noexcept {
  insert(where, node);
  node.set(wait_state::waiting);
}

/// The word keeps its value: what a thread was told on it since it sleeps there must not be lost.
void wait_section::take_over(wait_node& node) noexcept {
  ROTA_ASSERT(node.state() == wait_state::waiting);
  insert(list_->ring_, node);
}

void wait_section::unlink(wait_node& node) noexcept {
  base::note_write(&node);
  ROTA_ASSERT(!node.is_alone());
  node.before->next = node.next;
  node.next->before = node.before;
  node.next = node.before = &node;
  --list_->size_;
}

void wait_section::grant(wait_node& node, wait_state how) noexcept {
  ROTA_ASSERT(!is_full());
  unlink(node);
  base::note_write(&node);
  ::new (static_cast<void*>(&woken_[count_++])) waker(std::move(node.wake));
  // The last access: see W2.
  node.set(how);
}

void wait_section::grant_all(wait_state how) noexcept {
  wait_links now;
  if (is_empty()) return;
  // The nodes move to a ring of this call, under the same lock. A cancelled waiter unlinks itself from the
  // ring that it is in.
  now.next = std::exchange(list_->ring_.next, &list_->ring_);
  now.before = std::exchange(list_->ring_.before, &list_->ring_);
  now.next->before = now.before->next = &now;
  while (!now.is_alone()) {
    if (is_full()) {
      breathe();
    } else {
      grant(static_cast<wait_node&>(*now.next), how);
    }
  }
}

// ---- shared by a leaf and a thread

on_join join_list(const wait_target& at, wait_section& section, wait_node& me) noexcept {
  const on_join did = at.rules->join(at.of, section, me);
  if (did == on_join::done) me.set(wait_state::granted);
  if (did == on_join::closed) me.set(wait_state::closed);
  return did;
}

on_give_up give_up(const wait_target& at, wait_node& me, if_granted then) noexcept {
  waker dropped;  // outlives the section
  if (const wait_state seen = me.state(); seen == wait_state::waiting || seen == wait_state::called) {
    wait_section section(*at.list);
    const wait_state now = me.state();
    if (now == wait_state::waiting) section.unlink(me);
    if (now == wait_state::waiting || now == wait_state::called) {
      at.rules->leave(at.of, section, me);
      dropped = std::move(me.wake);
      me.set(wait_state::idle);
      return on_give_up::left;
    }
  }
  if (then == if_granted::keep) return on_give_up::ended;
  const bool granted = me.state() == wait_state::granted;
  me.set(wait_state::idle);
  if (granted) at.rules->pass_on(at.of, me);
  return on_give_up::left;
}

// ---- tasks

bool wait_leaf::start() {
  if (attempt_ != attempt::none) [[unlikely]]
    return start_after(std::exchange(attempt_, attempt::none));
  if (task().budget > 1) [[likely]]
    return try_or_join();
  attempt_ = attempt::put_off;
  task().why = stop_reason::yield;
  return false;
}

bool wait_leaf::start_after(attempt before) {
  switch (before) {
    case attempt::in_vain: return join();
    case attempt::granted: return true;
    default: return start();
  }
}

bool wait_leaf::try_now() noexcept {
  if (!at_.rules->try_now(at_.of, me_)) return false;
  me_.set(wait_state::granted);
  return true;
}

bool wait_leaf::try_or_join() noexcept { return try_now() || join(); }

bool wait_leaf::join() noexcept {
  waker unused;  // outlives the section
  me_.wake = make_waker();
  wait_section section(*at_.list);
  if (join_list(at_, section, me_) == on_join::linked) return false;
  unused = std::move(me_.wake);
  return true;
}

bool wait_leaf::is_ready() noexcept {
  if (attempt_ == attempt::put_off) [[unlikely]] {
    attempt_ = attempt::none;
    return try_or_join();
  }
  switch (me_.state()) {
    case wait_state::waiting: return false;
    case wait_state::called: return (at_.rules->called_may_try && me_.was_last && try_now()) || join();
    default: return true;
  }
}

cancel_progress wait_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  // A leaf that is awaited again has not given up a turn.
  if (std::exchange(attempt_, attempt::none) != attempt::put_off)
    static_cast<void>(give_up(at_, me_, if_granted::pass_on));
  return cancel_progress::ended;
}

}  // namespace rota::core
