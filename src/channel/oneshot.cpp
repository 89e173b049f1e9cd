#include <rota/channel/oneshot.hpp>

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

oneshot_core& self(void* of) noexcept { return *static_cast<oneshot_core*>(of); }

}  // namespace

const core::wait_rules oneshot_core::rules{
    .what = "oneshot receive",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).ask() != look::not_now; },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = [](void* of) noexcept { return self(of).ask() == look::ended; },
};

const core::wait_rules oneshot_core::close_rules{
    .what = "oneshot close",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).is_closed(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = core::always_an_end,
};

on_join oneshot_core::join(wait_section& section, wait_node& me) noexcept {
  // acquire: pairs with settle(). Same word: of {sent or closed, waits} at least one side sees the other.
  const std::uint32_t seen = word_.fetch_or(waits, base::order::acquire);
  if ((seen & (sent | closed)) != 0) return on_join::done;
  section.link_back(me);
  return on_join::linked;
}

/// Sets `how`. Returns true if the word was neither sent nor closed before.
bool oneshot_core::settle(std::uint32_t how) noexcept {
  // relaxed: an estimate; the exchange decides.
  std::uint32_t seen = word_.load(base::order::relaxed);
  do {
    if ((seen & (sent | closed)) != 0) return false;
    // release: pairs with ask() and the join: the item is there, and earlier writes are visible.
    // failure: relaxed: the value is an estimate again.
  } while (!word_.compare_exchange_weak(seen, seen | how, base::order::release, base::order::relaxed));
  if ((seen & waits) != 0) {
    wait_section section(line_);
    section.grant_all();
  }
  return true;
}

}  // namespace rota::channel::detail
