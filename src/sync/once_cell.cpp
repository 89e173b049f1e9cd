#include <rota/sync/once_cell.hpp>

namespace rota::core {

namespace {

once_core& self(void* of) noexcept { return *static_cast<once_core*>(of); }

}  // namespace

const wait_rules once_core::look_rules{
    .what = "once_cell wait",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).is_full(); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join(section, me, false); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on = [](void*, wait_node&) noexcept {},
    .is_end = always_an_end,
};

const wait_rules once_core::claim_rules{
    .what = "once_cell get_or_init",
    .try_now = [](void* of, wait_node& me) noexcept { return self(of).claim_now(me); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join(section, me, true); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on =
        [](void* of, wait_node& me) noexcept {
          if (has_claim(me)) self(of).abandon();
        },
    .is_end = always_an_end,
};

std::expected<void, sync::set_refusal> once_core::try_claim() noexcept {
  // relaxed: a guess; the exchange decides.
  std::uint32_t seen = word_.load(base::order::relaxed);
  do {
    if ((seen & mask) == full) return std::unexpected(sync::set_refusal::full);
    if ((seen & mask) == busy) return std::unexpected(sync::set_refusal::busy);
    // acquire: pairs with abandon(). The previous owner of the storage has left it. failure: relaxed: again a
    // guess.
  } while (!word_.compare_exchange_weak(seen, seen | busy, base::order::acquire, base::order::relaxed));
  return {};
}

/// Returns true if the caller has the claim, or the cell is full.
bool once_core::claim_now(wait_node& me) noexcept {
  me.kind = 0;
  const auto got = try_claim();
  if (got.has_value()) me.kind = claimed;
  return got.has_value() || is_full();
}

on_join once_core::join(wait_section& section, wait_node& me, bool claims) noexcept {
  me.kind = 0;
  me.wanted = claims ? 1 : 0;
  // acquire: pairs with fill(). A caller that sees the cell full need not write.
  std::uint32_t seen = word_.load(base::order::acquire);
  bool gets = false;
  do {
    if ((seen & mask) == full) return on_join::done;
    gets = claims && (seen & mask) == empty;
    // acquire: pairs with abandon(). Same word as there and in fill(): of {the claim ends, a waiter joins} at
    // least one side sees the other. failure: acquire: same reason as for the load above.
  } while (!word_.compare_exchange_weak(
      seen, gets ? seen | busy : seen | waiting, base::order::acquire, base::order::acquire));
  if (gets) {
    me.kind = claimed;
    return on_join::done;
  }
  section.link_back(me);
  return on_join::linked;
}

void once_core::leave(const wait_section& section) noexcept {
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void once_core::fill() noexcept {
  std::uint32_t seen = busy;
  // release: pairs with the acquire of the thread that sees the cell full. failure: relaxed: fill_slowly()
  // decides under the list's lock.
  if (!word_.compare_exchange_strong(seen, full, base::order::release, base::order::relaxed)) fill_slowly();
}

void once_core::fill_slowly() noexcept {
  wait_section section(list_);
  // release: pairs with the acquire of the thread that sees the cell full.
  word_.exchange(full, base::order::release);
  section.grant_all();
}

void once_core::abandon() noexcept {
  std::uint32_t seen = busy;
  // release: pairs with the acquire of the next claim. failure: relaxed: abandon_slowly() decides under the
  // list's lock.
  if (!word_.compare_exchange_strong(seen, empty, base::order::release, base::order::relaxed))
    abandon_slowly();
}

void once_core::abandon_slowly() noexcept {
  wait_section section(list_);
  wait_node* next = section.first();
  while (next != nullptr && next->wanted == 0) next = section.after(*next);
  if (next != nullptr) {
    next->kind = claimed;
    section.grant(*next);
  }
  const std::uint32_t left = (next != nullptr ? busy : empty) | (section.is_empty() ? 0 : waiting);
  // release: pairs with the acquire of the next claim. The caller has the claim, and the bit is changed only
  // under the list's lock.
  word_.exchange(left, base::order::release);
}

void once_core::end_in_use() noexcept {
  ROTA_FATAL("a sync::once_cell was destroyed while its value is being made", 0);
}

}  // namespace rota::core
