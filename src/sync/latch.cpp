#include <rota/sync/latch.hpp>

#include <stdexcept>
#include <string>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

latch& self(void* of) noexcept { return *static_cast<latch*>(of); }

[[noreturn]] void refuse(const char* what, std::uint64_t n, std::uint64_t most) {
  throw std::invalid_argument(std::string("sync::latch: ") + what + " is " + std::to_string(n) +
                              ": must be 0.." + std::to_string(most));
}

}  // namespace

const core::wait_rules latch::rules{
    .what = "latch wait",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).left() == 0; },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept { return self(of).join(section, me); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = core::always_an_end,
};

latch::latch(count things) : word_(things) {
  if (things > max_count) refuse("count", things, max_count);
}

on_join latch::join(wait_section& section, wait_node& me) noexcept {
  // acquire: pairs with count_down(). A caller that sees 0 need not write.
  std::uint64_t seen = word_.load(base::order::acquire);
  for (;;) {
    if (seen == 0) return on_join::done;
    // acquire: no weaker than the failure. Same word as count_down(): of {the count becomes 0, a waiter
    // joins} at least one side sees the other. What is in the list goes through its lock. failure: acquire:
    // same reason as for the load above.
    if (word_.compare_exchange_weak(seen, seen | waiting, base::order::acquire, base::order::acquire)) break;
  }
  section.link_back(me);
  return on_join::linked;
}

void latch::leave(const wait_section& section) noexcept {
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void latch::count_down_slowly(count n) {
  count there = 0;
  bool done = false;
  {
    wait_section section(list_);
    done = count_down_in(section, n, there);
  }
  if (!done) refuse("n of count_down", n, there);
}

/// Counts down to 0; the caller has seen that `n` is the whole rest, and the count only goes down. Returns
/// false if there are fewer than `n`: `there` is what is left.
bool latch::count_down_in(wait_section& section, count n, count& there) noexcept {
  // relaxed: a guess; the exchange decides. It fails only if another thread has counted down.
  std::uint64_t seen = word_.load(base::order::relaxed);
  do {
    there = seen & ~waiting;
    if (n > there) return false;
    ROTA_ASSERT(n == there);
    // acq_rel: the release pairs with the thread that sees 0. The acquire: a waiter that is granted below
    // sees, through the lock and its node, what was done before the counts of others. failure: relaxed: again
    // a guess.
  } while (!word_.compare_exchange_weak(seen, 0, base::order::acq_rel, base::order::relaxed));
  section.grant_all();
  return true;
}

}  // namespace rota::sync
