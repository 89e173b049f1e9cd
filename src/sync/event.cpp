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
  // relaxed. A guess; the exchange decides. It fails only if somebody else has changed the word.
  std::uint32_t seen = word_.load(base::order::relaxed);
  for (;;) {
    const bool passes = (seen & flag) != 0;
    const std::uint32_t left = is_automatic_ ? 0 : flag;
    // acquire. Pairs with set(). Same word as there: of {it is set, somebody waits} at least one side sees the other; what is in the list
    // goes through its lock. failure: relaxed. Again a guess.
    if (!word_.compare_exchange_weak(
            seen, passes ? left : waiting, base::order::acquire, base::order::relaxed))
      continue;
    if (passes) return on_join::done;
    section.link_back(me);
    return on_join::linked;
  }
}

void event::leave(const wait_section& section) noexcept {
  // relaxed. Nothing is said by it but that nobody waits.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void event::wake_one() noexcept {
  wait_section section(list_);
  wait_node* const first = section.first();
  if (first == nullptr) {
    // release. Pairs with the acquire of who passes. They have all left, and the bit with them: E1.
    word_.fetch_or(flag, base::order::release);
    return;
  }
  section.grant(*first);
  // relaxed. As in leave(); the grant orders what was done before.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void event::wake_all() noexcept {
  wait_section section(list_);
  // release. Pairs with the acquire of who passes.
  word_.exchange(flag, base::order::release);
  section.grant_all();
}

}  // namespace rota::sync
