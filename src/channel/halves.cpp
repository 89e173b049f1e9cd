#include <rota/detail/channel_core.hpp>
#include <rota/detail/channel_held.hpp>

#include "base/thread.hpp"

namespace rota::channel::detail {

using core::on_join;
using core::wait_node;
using core::wait_section;

void end_empty_half() noexcept {
  ROTA_FATAL("an empty half of a channel was used: moved from, or of a oneshot that was sent", 0);
}

namespace {

halves& self(void* of) noexcept { return *static_cast<halves*>(of); }

}  // namespace

halves::halves() noexcept : process_(base::this_process_id()) {}

bool halves::may_miss_the_mover(unsigned looks) const noexcept {
  return looks >= base::looks_before_sleep && process_ != base::this_process_id();
}

template <class IsHeld>
bool halves::is_held_in_a_fork(IsHeld is_held) const noexcept {
  if (base::is_this_process(process_) || process_ == base::this_process_id()) return false;
  for (unsigned looks = 0; is_held(); ++looks) {
    // relaxed: both: a thread that does not see it polls as often itself.
    if (looks >= base::looks_before_sleep) misses_a_holder_.store(true, base::order::relaxed);
    if (misses_a_holder_.load(base::order::relaxed)) return true;
    base::back_off(looks);
  }
  return false;
}

bool halves::may_miss_the_holder(const base::mutex& lock) const noexcept {
  return is_held_in_a_fork([&lock] { return !lock.is_free(); });
}

bool halves::may_miss_the_holder(const core::wait_list& of) const noexcept {
  return is_held_in_a_fork([&of] { return of.is_locked(); });
}

const core::wait_rules halves::close_rules{
    .what = "channel close",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).is_told(); },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          // acquire: pairs with tell_closed(). Same word: of {closed, waiter} at least one side sees the
          // other.
          if ((self(of).close_.fetch_or(awaited, base::order::acquire) & told) != 0) return on_join::done;
          section.link_back(me);
          return on_join::linked;
        },
    .leave = [](void*, wait_section&, wait_node&) noexcept {},
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = core::always_an_end,
};

void halves::tell_closed() noexcept {
  // release: pairs with is_told() and the join: what was done before the close is seen.
  if ((close_.fetch_or(told, base::order::release) & awaited) == 0) return;
  if (may_miss_the_holder(closers_)) return;
  wait_section section(closers_);
  section.grant_all();
}

}  // namespace rota::channel::detail
