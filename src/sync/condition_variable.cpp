#include <rota/sync/condition_variable.hpp>

namespace rota::sync {

using core::on_join;
using core::wait_links;
using core::wait_node;
using core::wait_section;
using core::wait_state;

// ---- the list

void condition_variable::join(node& me) noexcept {
  me.kind = static_cast<unsigned char>(place::here);
  me.losses = 0;
  wait_section section(list_);
  // relaxed: the mutex orders it. A notifier that must see it takes the mutex later. See V4.
  somebody_.store(1, base::order::relaxed);
  section.link_back(me);
}

void condition_variable::settle(const wait_section& section) noexcept {
  // relaxed: it publishes nothing. It only allows the fast path of a notify.
  if (section.is_empty()) somebody_.store(0, base::order::relaxed);
}

/// Takes the node out of the list. Returns true if it was here, false if it was moved.
bool condition_variable::leave(node& me) noexcept {
  waker dropped;  // outlives the section
  wait_section section(list_);
  if (place_of(me) != place::here) return false;
  section.unlink(me);
  me.kind = static_cast<unsigned char>(place::moved);
  settle(section);
  dropped = std::move(me.wake);
  me.set(wait_state::idle);
  return true;
}

/// Passes a notification on that came to this node alone. The node was moved.
void condition_variable::pass_on(node& me) noexcept {
  if (place_of(me) != place::moved_by_one) return;
  me.kind = static_cast<unsigned char>(place::moved);
  notify_one();
}

condition_variable::node& condition_variable::take_first(wait_section& section, place to) noexcept {
  node& first = static_cast<node&>(*section.first());
  section.unlink(first);
  first.kind = static_cast<unsigned char>(to);
  return first;
}

void condition_variable::move_one() noexcept {
  node* moved = nullptr;
  {
    wait_section section(list_);
    if (section.is_empty()) return;
    moved = &take_first(section, place::moved_by_one);
    settle(section);
  }
  mutex& to = *moved->of;
  wait_section section(to.list_);
  to.take_over(section, *moved);
}

/// Moves all waiters in their order. Each round moves successive nodes with the same mutex, and unlocks its
/// list after a batch.
void condition_variable::move_all() noexcept {
  node* moved = nullptr;  // in their order, linked by `next`; only this thread uses the chain
  {
    wait_links* last = nullptr;
    wait_section section(list_);
    while (!section.is_empty()) {
      node& next = take_first(section, place::moved);
      if (last == nullptr) {
        moved = &next;
      } else {
        last->next = &next;
      }
      last = &next;
    }
    settle(section);
  }
  while (moved != nullptr) {
    mutex& to = *moved->of;
    wait_section section(to.list_);
    for (unsigned i = 0; i < wait_section::capacity && moved != nullptr && moved->of == &to; ++i) {
      node& next = *moved;
      moved = next.is_alone() ? nullptr : static_cast<node*>(next.next);
      next.next = &next;
      to.take_over(section, next);
    }
  }
}

// ---- the mutex

mutex& condition_variable::mutex_of(const mutex::guard& held) noexcept {
  if (held.of_ == nullptr) [[unlikely]]
    ROTA_FATAL("a sync::condition_variable was waited in with a guard that has no lock", 0);
  return *held.of_;
}

void condition_variable::unlock(const node& me) noexcept { me.of->unlock(); }

/// Locks the mutex anew for a node that was here and has left. Returns true if it has the mutex.
bool condition_variable::relock(node& me, waker mine) noexcept {
  if (!me.of->take()) return rejoin(me, std::move(mine));
  me.set(wait_state::granted);
  return true;
}

/// Joins the mutex's list, under its lock. Returns true if the node has the mutex.
bool condition_variable::rejoin(node& me, waker mine) noexcept {
  waker unused;  // outlives the section
  me.wake = std::move(mine);
  const core::wait_target at = me.of->target();
  wait_section section(*at.list);
  if (core::join_list(at, section, me) == on_join::linked) return false;
  unused = std::move(me.wake);
  return true;
}

// ---- threads

std::expected<void, timed_out> condition_variable::block(const mutex::guard& held, time_point deadline) {
  mutex& of = mutex_of(held);
  node me;
  me.of = &of;
  me.wake = core::thread_waker_of(me);
  join(me);
  of.unlock();
  const core::on_sleep how = core::sleep_while_waiting(me, deadline);
  const bool gave_up = how != core::on_sleep::ended && leave(me);
  // Nothing ends this wait early: V2, and the caller may rely on the mutex.
  core::block_firmly(of.target(), me);
  if (how == core::on_sleep::forced) {
    if (!gave_up) pass_on(me);
    core::throw_forced();
  }
  if (gave_up) return std::unexpected(timed_out{});
  return {};
}

// ---- tasks

bool condition_variable::wait_base::start() {
  // A repeated await begins anew.
  has_waited_ = done_ = untried_ = false;
  me_.kind = static_cast<unsigned char>(place::moved);  // it has no notification
  thrown_ = nullptr;
  if (task().budget <= 1) [[unlikely]] {
    untried_ = true;
    task().why = core::stop_reason::yield;
    return false;
  }
  done_ = is_met();
  if (!done_) join();
  return done_;
}

void condition_variable::wait_base::join() noexcept {
  me_.wake = make_waker();
  in_->join(me_);
  // The last access: the node may be called, and granted, at once.
  unlock(me_);
}

/// Calls the predicate, with the mutex. Returns true if the wait is over.
bool condition_variable::wait_base::look() noexcept {
  try {
    done_ = is_met();
  } catch (...) {
    thrown_ = std::current_exception();
    done_ = true;
  }
  return done_;
}

/// Returns true if the task has the mutex. Called after the node has left the list, or was moved.
bool condition_variable::wait_base::has_mutex() noexcept {
  switch (me_.state()) {
    case wait_state::waiting: return false;
    case wait_state::called: return rejoin(me_, make_waker());
    default: return true;
  }
}

bool condition_variable::wait_base::is_ready() noexcept {
  if (done_) return true;
  if (!std::exchange(untried_, false) && !has_mutex()) return false;
  if (look()) return true;
  join();
  return false;
}

cancel_progress condition_variable::wait_base::try_cancel(cancel_reason /*reason*/) noexcept {
  if (untried_) return cancel_progress::ended;
  bool has_it = done_;
  if (!done_ && in_->leave(me_)) {
    has_it = relock(me_, make_waker());
  } else {
    in_->pass_on(me_);
    if (!done_) has_it = has_mutex();
  }
  return has_it ? cancel_progress::ended : cancel_progress::pending;
}

}  // namespace rota::sync
