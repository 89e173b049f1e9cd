#include <rota/sync/mutex.hpp>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;
using core::wait_state;

namespace {

mutex& self(void* of) noexcept { return *static_cast<mutex*>(of); }

}  // namespace

const core::wait_rules mutex::rules{
    .what = "mutex lock",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).take(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void* of, wait_section& section, wait_node& me) noexcept { self(of).leave(section, me); },
    .pass_on = [](void* of, wait_node&) noexcept { self(of).unlock(); },
    .is_end = core::always_an_end,
};

on_join mutex::join(wait_section& section, wait_node& me) noexcept {
  const bool again = me.state() == wait_state::called;
  if (again) called_ = false;
  // A waiter that was called and has not tried yet will call the next one: X2.
  const std::uint32_t with = called_ ? locked : locked | waiting;
  // acquire: pairs with the release in unlock(). Same word as there: of {the word becomes free, a waiter
  // joins} at least one side sees the other.
  const std::uint32_t before = word_.fetch_or(with, base::order::acquire);
  if ((before & locked) == 0) {
    // relaxed: the caller has the lock, and this bit is changed only under the list's lock.
    if (section.is_empty() && !called_) word_.fetch_and(~waiting, base::order::relaxed);
    if (section.is_empty()) starving_ = false;
    return on_join::done;
  }
  if (!again) {
    me.losses = 0;
    section.link_back(me);
    return on_join::linked;
  }
  if (++me.losses == most_losses) starving_ = true;
  section.link_front(me);
  return on_join::linked;
}

void mutex::unlock_slowly() noexcept {
  wait_section section(list_);
  // relaxed: the caller has the lock, and the other bit is changed only under the list's lock.
  if ((word_.load(base::order::relaxed) & locked) == 0) ROTA_FATAL("a sync::mutex was unlocked twice", 0);
  free_and_call(section);
}

/// Frees the word, and calls or grants the first in line. The caller holds the lock.
void mutex::free_and_call(wait_section& section) noexcept {
  wait_node* const first = section.first();
  if (first != nullptr && starving_ && !called_) {
    starving_ = false;
    section.grant(*first);
    // relaxed: the word stays locked, and the grant orders what was done under the lock.
    if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
    return;
  }
  if (first != nullptr && !called_) {
    called_ = true;
    section.call(*first);
  }
  // release: pairs with the acquire of the next owner.
  word_.fetch_and(~(locked | waiting), base::order::release);
}

void mutex::leave(wait_section& section, const wait_node& me) noexcept {
  if (me.state() == wait_state::called) called_ = false;
  if (section.is_empty()) {
    starving_ = false;
    // relaxed: the bit publishes nothing. Clearing it only allows the fast path of unlock().
    if (!called_) word_.fetch_and(~waiting, base::order::relaxed);
    return;
  }
  if (me.state() != wait_state::called) return;
  // relaxed: unlike in join(), the lock is handed on at once. The next owner sees, through the releases of
  // this word, what was done under the lock before. This thread has done nothing under it.
  const std::uint32_t before = word_.fetch_or(locked | waiting, base::order::relaxed);
  if ((before & locked) == 0) free_and_call(section);
}

/// Takes over a node from a condition variable's list. Wakes at most the first in line: X5.
void mutex::take_over(wait_section& section, wait_node& waiting_one) noexcept {
  section.take_over(waiting_one);
  // A waiter that was called and has not tried yet will call the next one: X2.
  if (called_) return;
  // relaxed: same reason as in leave().
  const std::uint32_t before = word_.fetch_or(locked | waiting, base::order::relaxed);
  if ((before & locked) == 0) free_and_call(section);
}

void mutex::end_in_use() noexcept { ROTA_FATAL("a sync::mutex was destroyed while it is locked", 0); }

}  // namespace rota::sync
