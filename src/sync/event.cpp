#include <rota/sync/event.hpp>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

event& self(void* of) noexcept { return *static_cast<event*>(of); }

}  // namespace

const core::wait_rules event::manual_rules{
    .what = "event wait",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).is_set(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = core::always_an_end,
};

const core::wait_rules event::automatic_rules{
    .what = "event wait",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).take(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on = [](void* of, wait_node&) noexcept { self(of).set(); },
    .is_end = core::always_an_end,
};

on_join event::join(wait_section& section, wait_node& me) noexcept {
  // relaxed: a guess; the exchange decides. It fails only if another thread has changed the word.
  std::uint32_t seen = word_.load(base::order::relaxed);
  for (;;) {
    const bool passes = (seen & flag) != 0;
    const std::uint32_t left = is_automatic_ ? 0 : flag;
    // acquire: pairs with set(). Same word as there: of {the event is set, a waiter joins} at least one side
    // sees the other. What is in the list goes through its lock. failure: relaxed: again a guess.
    if (!word_.compare_exchange_weak(
            seen, passes ? left : waiting, base::order::acquire, base::order::relaxed))
      continue;
    if (passes) return on_join::done;
    section.link_back(me);
    return on_join::linked;
  }
}

void event::leave(const wait_section& section) noexcept {
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void event::wake_one() noexcept {
  wait_section section(list_);
  wait_node* const first = section.first();
  if (first == nullptr) {
    // release: pairs with the acquire of the thread that passes. All waiters have left, and the bit is clear:
    // E1.
    word_.fetch_or(flag, base::order::release);
    return;
  }
  section.grant(*first);
  // relaxed: same reason as in leave(). The grant orders what was done before.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void event::wake_all() noexcept {
  wait_section section(list_);
  // release: pairs with the acquire of the thread that passes.
  word_.exchange(flag, base::order::release);
  section.grant_all();
}

}  // namespace rota::sync
