#include <rota/sync/shared_mutex.hpp>

namespace rota::sync {

using core::on_join;
using core::wait_node;
using core::wait_section;

namespace {

shared_mutex& self(void* of) noexcept { return *static_cast<shared_mutex*>(of); }

}  // namespace

const core::wait_rules shared_mutex::lock_rules{
    .what = "shared_mutex lock",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).take(); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join(section, me, who::writer); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on = [](void* of, wait_node&) noexcept { self(of).unlock(); },
    .is_end = core::always_an_end,
};

const core::wait_rules shared_mutex::shared_rules{
    .what = "shared_mutex lock_shared",
    .try_now = [](void* of, wait_node&) noexcept { return self(of).take_shared(); },
    .join = [](void* of,
               wait_section& section,
               wait_node& me) noexcept { return self(of).join(section, me, who::reader); },
    .leave = [](void* of, wait_section& section, wait_node&) noexcept { self(of).leave(section); },
    .pass_on = [](void* of, wait_node&) noexcept { self(of).unlock_shared(); },
    .is_end = core::always_an_end,
};

on_join shared_mutex::join(wait_section& section, wait_node& me, who kind) noexcept {
  me.kind = static_cast<unsigned char>(kind);
  const std::uint64_t mine = kind == who::writer ? writer : 1;
  const std::uint64_t in_the_way = kind == who::writer ? ~std::uint64_t{0} : writer | waiting;
  std::uint64_t seen = guess();
  for (;;) {
    const bool gets = (seen & in_the_way) == 0;
    const std::uint64_t next = gets ? seen + mine : seen | waiting;
    // acquire. Pairs with unlock() and unlock_shared(). Same word as there: of {it becomes free, somebody waits} at least one side sees the
    // other. failure: relaxed. Again a guess.
    if (!word_.compare_exchange_weak(seen, next, base::order::acquire, base::order::relaxed)) continue;
    if (gets) return on_join::done;
    section.link_back(me);
    return on_join::linked;
  }
}

void shared_mutex::unlock_slowly() noexcept {
  wait_section section(list_);
  // release. Pairs with take(): whoever waited may have left. It is ours alone, and else only a lock of the list's changes the word.
  word_.fetch_and(~writer, base::order::release);
  hand_over(section);
}

void shared_mutex::unlock_shared_slowly() noexcept {
  wait_section section(list_);
  // acq_rel. release: pairs with take(). acquire: if we are the last, what all readers did happens before the grant.
  const std::uint64_t before = word_.fetch_sub(1, base::order::acq_rel);
  if ((before & readers_mask) == 0) ROTA_FATAL("a sync::shared_mutex was unlocked too often", before);
  if ((before & readers_mask) == 1) hand_over(section);
}

/// Nobody has it.
void shared_mutex::hand_over(wait_section& section) noexcept {
  wait_node* const first = section.first();
  if (first == nullptr) return;
  if (is_reader(*first)) return let_readers_in(section);
  // relaxed. The grant orders what was done under the lock, and in this word nobody else changes anything beside `waiting`.
  word_.fetch_add(writer, base::order::relaxed);
  section.grant(*first);
  leave(section);
}

/// Those in front. Each round that gives the list's lock away has let in as many as a section wakes.
void shared_mutex::let_readers_in(wait_section& section) noexcept {
  for (;;) {
    wait_node* const first = section.first();
    if (first == nullptr || !is_reader(*first)) break;
    if (section.is_full()) {
      section.breathe();
      // Those let in may be gone, and the next in line may be a writer that has it. Nobody but us can be early here: H3.
      if (is_locked()) return;
      continue;
    }
    // relaxed. What was done under the lock before it joined it has seen by that, and what was done since by the list's lock.
    word_.fetch_add(1, base::order::relaxed);
    section.grant(*first);
  }
  // relaxed. Nothing is said by it but that nobody waits.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

/// Somebody is not in the list any more.
void shared_mutex::leave(wait_section& section) noexcept {
  if (!is_locked()) return let_readers_in(section);
  // relaxed. Nothing is said by it but that nobody waits.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void shared_mutex::make_shared() noexcept {
  std::uint64_t seen = writer;
  // release. Pairs with take_shared(). failure: relaxed. The list's lock decides.
  if (word_.compare_exchange_strong(seen, 1, base::order::release, base::order::relaxed)) return;
  wait_section section(list_);
  // release. As above; it is ours alone, and else only a lock of the list's changes the word.
  word_.fetch_sub(writer - 1, base::order::release);
  let_readers_in(section);
}

void shared_mutex::end_in_use() noexcept {
  ROTA_FATAL("a sync::shared_mutex was destroyed while it is locked", 0);
}
void shared_mutex::end_empty() noexcept {
  ROTA_FATAL("a guard of a sync::shared_mutex that has no lock was used", 0);
}

}  // namespace rota::sync
