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
    // acquire: pairs with unlock() and unlock_shared(). Same word as there: of {the lock becomes free, a
    // waiter joins} at least one side sees the other. failure: relaxed: again a guess.
    if (!word_.compare_exchange_weak(seen, next, base::order::acquire, base::order::relaxed)) continue;
    if (gets) return on_join::done;
    section.link_back(me);
    return on_join::linked;
  }
}

void shared_mutex::unlock_slowly() noexcept {
  wait_section section(list_);
  // release: pairs with take(), because the waiters may have left. The caller holds the lock alone, and
  // otherwise the word changes only under the list's lock.
  word_.fetch_and(~writer, base::order::release);
  hand_over(section);
}

void shared_mutex::unlock_shared_slowly() noexcept {
  wait_section section(list_);
  // acq_rel: the release pairs with take(). The acquire: if this is the last reader, what all readers did
  // happens before the grant.
  const std::uint64_t before = word_.fetch_sub(1, base::order::acq_rel);
  if ((before & readers_mask) == 0) ROTA_FATAL("a sync::shared_mutex was unlocked too often", before);
  if ((before & readers_mask) == 1) hand_over(section);
}

/// Grants the free lock to the first in line.
void shared_mutex::hand_over(wait_section& section) noexcept {
  wait_node* const first = section.first();
  if (first == nullptr) return;
  if (is_reader(*first)) return let_readers_in(section);
  // relaxed: the grant orders what was done under the lock. While `waiting` is set and the lock is free, no
  // other thread changes this word.
  word_.fetch_add(writer, base::order::relaxed);
  section.grant(*first);
  leave(section);
}

/// Grants the lock to the readers at the front. Each round between two breathe() calls lets in as many as a
/// section wakes.
void shared_mutex::let_readers_in(wait_section& section) noexcept {
  for (;;) {
    wait_node* const first = section.first();
    if (first == nullptr || !is_reader(*first)) break;
    if (section.is_full()) {
      section.breathe();
      // The readers let in may have left, and the next in line may be a writer that has the lock. No other
      // thread can let the same readers in: H3.
      if (is_locked()) return;
      continue;
    }
    // relaxed: what was done under the lock before, the reader has seen when it joined. What was done since,
    // it sees through the list's lock.
    word_.fetch_add(1, base::order::relaxed);
    section.grant(*first);
  }
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

/// Updates the word after a node has left the list.
void shared_mutex::leave(wait_section& section) noexcept {
  if (!is_locked()) return let_readers_in(section);
  // relaxed: the bit publishes nothing; it only says that there is no waiter.
  if (section.is_empty()) word_.fetch_and(~waiting, base::order::relaxed);
}

void shared_mutex::make_shared() noexcept {
  std::uint64_t seen = writer;
  // release: pairs with take_shared(). failure: relaxed: the list's lock decides.
  if (word_.compare_exchange_strong(seen, 1, base::order::release, base::order::relaxed)) return;
  wait_section section(list_);
  // release: pairs with take_shared(). The caller holds the lock alone, and otherwise the word changes only
  // under the list's lock.
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
