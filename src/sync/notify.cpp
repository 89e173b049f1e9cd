#include <rota/sync/notify.hpp>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

notify& self(void* of) noexcept { return *static_cast<notify*>(of); }

}  // namespace

const core::wait_rules notify::rules{
    .what = "notify wait",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).try_now(me); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on =
        [](void* of, wait_node& me) noexcept {
          if (me.kind == by_one) self(of).notify_one();
        },
    .is_end = core::always_an_end,
};

on_join notify::join(wait_section& section, wait_node& me) noexcept {
  // acquire: same reason as in try_now().
  std::uint64_t seen = word_.load(base::order::acquire);
  for (;;) {
    if (seen / one_call != me.wanted) return on_join::done;
    const bool stored = (seen & permit) != 0;
    // acquire: pairs with notify_one(). Same word as there and in notify_all(): of {a call, a waiter joins}
    // at least one side sees the other. What is in the list goes through its lock. failure: acquire: same
    // reason as in try_now().
    if (!word_.compare_exchange_weak(
            seen, stored ? seen & ~permit : seen | waiting, base::order::acquire, base::order::acquire))
      continue;
    if (stored) {
      me.kind = by_one;
      return on_join::done;
    }
    section.link_back(me);
    return on_join::linked;
  }
}

void notify::leave(const wait_section& section) noexcept {
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void notify::wake_one() noexcept {
  wait_section section(list_);
  wait_node* const first = section.first();
  if (first == nullptr) {
    // release: pairs with the acquire of the thread that takes the permit. All waiters have left, and the bit
    // is clear: N1.
    word_.fetch_or(permit, base::order::release);
    return;
  }
  first->kind = by_one;
  section.grant(*first);
  // relaxed: same reason as in leave(). The grant orders what was done before.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void notify::wake_all() noexcept {
  wait_section section(list_);
  // relaxed: a guess; the exchange decides.
  std::uint64_t seen = word_.load(base::order::relaxed);
  // release: pairs with the acquire of a wait() that was called before, has not joined yet, and sees the
  // call. failure: relaxed: again a guess.
  while (!word_.compare_exchange_weak(
      seen, (seen & ~waiting) + one_call, base::order::release, base::order::relaxed)) {
  }
  section.grant_all();
}

}  // namespace rota::sync
