// The ready mailboxes: a list for each consumer, from which the other consumers may take.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/thread.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace rota::gate::detail {

// PROTOCOL: ready lists
//
//   shard i:   fresh[band]   a stack, newest first; any thread pushes (Treiber, 1986)
//              kept[band]    the same items in reverse order, oldest first; accessed by the holder of the
//                            shard's lock
//              lock          0, 1: held. Only tried, except by a consumer that has taken several fresh items
//              has_kept      kept is not empty: for checks without the lock
//
//   push       CAS on fresh; then check the idle word (the scheduler's form (b): the push is seq_cst, and so
//              is that check)
//   take       Nothing is kept: exchange(fresh, null). If it was one item, that is all, without the lock. If
//              several: wait for the lock, append them to what is kept by now, take the oldest, unlock.
//              Something is kept: try the lock. If kept is empty: exchange(fresh, null), reverse it, keep it.
//              Take the oldest, unlock.
//              In both cases, if items are left: check the idle word as a push does.
//   re-scan    a consumer that is about to sleep, after its announcement: fresh and has_kept of each shard,
//              seq_cst
//
// The stack is only ever taken as a whole, so there is no ABA. Order: the item that became ready first in a
// shard and band is taken first, except among several consumers that take from it at one moment. Between
// shards there is no order.
//
// A consumer that finds the lock held goes on to the next shard, and comes back before it sleeps. The
// critical section is a few dozen instructions, and a thread that was preempted in it gets the processor. The
// holder takes one item and, if more are left, checks the idle word afterwards.
// A lost wakeup that must not happen:
//   1. T1 (the holder) takes the stack and stores has_kept; the store is not visible to T2 yet.
//   2. T1 checks the idle word and finds no sleeper.
//   3. T2 (a consumer) announces that it parks. Its re-scan sees neither fresh nor has_kept, and T2 sleeps.
// It cannot happen (store buffering): the store of has_kept is seq_cst and comes before T1's check; T2's
// announcement is seq_cst and comes before its re-scan. So either the re-scan sees has_kept, or T1's check
// sees the sleeper.
//
// Invariants (tests/model/ready_model.cpp): R1 a pushed item is taken once. R2 while an item is ready no
// consumer sleeps, unless another consumer is awake that will check again.
//
// `Item` has a cell next_ready_, owned by the thread that has the item.
template <class Item>
class ready_lists {
 public:
  static constexpr unsigned bands = 3;

  /// Throws std::bad_alloc.
  explicit ready_lists(unsigned shards) : count_(shards), shards_(std::make_unique<shard[]>(shards)) {}
  ready_lists(const ready_lists&) = delete;
  ready_lists& operator=(const ready_lists&) = delete;
  ~ready_lists() = default;

  [[nodiscard]] unsigned shards() const noexcept { return count_; }

  /// Pushes an item. Any thread. The caller checks the idle word afterwards.
  void push(unsigned where, unsigned band, Item& item) noexcept {
    base::atomic<Item*>& fresh = shards_[where].fresh[band];
    // relaxed: a hint; the compare-exchange decides.
    Item* newest = fresh.load(base::order::relaxed);
    do {
      item.next_ready_.set(newest);
      // seq_cst: the first of the four seq_cst accesses; it also releases the item. failure: relaxed: again a
      // hint.
    } while (!fresh.compare_exchange_weak(newest, &item, base::order::seq_cst, base::order::relaxed));
  }

  struct taken {
    Item* item = nullptr;
    bool more = false;  // the caller has to check the idle word
    bool held = false;  // no item, because another consumer holds the lock
  };
  /// Takes one item for a consumer: from the band `first`, or else from the highest band that has one.
  [[nodiscard]] taken take(unsigned where, unsigned first) noexcept {
    shard& here = shards_[where];
    // relaxed: a hint: a thread that keeps items meanwhile takes one as well.
    if (here.has_kept.load(base::order::relaxed) == 0) return take_fresh(here, first);
    // acquire: pairs with the release in take_kept(): kept is as its last holder left it.
    if (here.lock.exchange(1, base::order::acquire) != 0) return {.held = true};
    return take_kept(here, first);
  }

  /// Returns true if a shard has items. For a consumer that is about to sleep, after a seq_cst RMW of the
  /// idle word.
  [[nodiscard]] bool has_items() const noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      const shard& here = shards_[i];
      // seq_cst: after the announcement; pairs with the store before the holder's check of the idle word.
      if (here.has_kept.load(base::order::seq_cst) != 0) return true;
      for (const auto& fresh : here.fresh) {
        // seq_cst: after the announcement; pairs with the push before the pusher's check of the idle word.
        if (fresh.load(base::order::seq_cst) != nullptr) return true;
      }
    }
    return false;
  }

 private:
  struct alignas(base::cache_line) shard {
    std::array<base::atomic<Item*>, bands> fresh{};
    base::atomic<std::uint32_t> lock{0};
    base::atomic<std::uint32_t> has_kept{0};
    std::array<base::cell<Item*>, bands> kept{};
  };

  /// Returns true if the shard may have items: a hint, before the lock is tried.
  [[nodiscard]] static bool may_have(const shard& here) noexcept {
    // relaxed: a hint; a consumer checks again, with seq_cst, before it sleeps.
    if (here.has_kept.load(base::order::relaxed) != 0) return true;
    for (const auto& fresh : here.fresh) {
      // relaxed: same reason as for has_kept.
      if (fresh.load(base::order::relaxed) != nullptr) return true;
    }
    return false;
  }

  /// The i-th band that a take with this `first` tries: 0 1 2, or 1 0 2, or 2 0 1.
  [[nodiscard]] static unsigned band_of(unsigned i, unsigned first) noexcept {
    return i == 0 ? first : i - (i <= first ? 1 : 0);
  }

  /// Takes a whole stack, newest first.
  [[nodiscard]] static Item* take_all(shard& here, unsigned band) noexcept {
    // relaxed: a hint: usually the stack is empty.
    if (here.fresh[band].load(base::order::relaxed) == nullptr) return nullptr;
    // seq_cst: acquires the items; and a re-scan that sees null because of this exchange comes after it.
    return here.fresh[band].exchange(nullptr, base::order::seq_cst);
  }

  /// Takes an item while nothing is kept.
  [[nodiscard]] taken take_fresh(shard& here, unsigned first) noexcept {
    for (unsigned i = 0; i < bands; ++i) {
      const unsigned band = band_of(i, first);
      Item* const newest = take_all(here, band);
      if (newest == nullptr) continue;
      if (newest->next_ready_.get() == nullptr) [[likely]]
        return {.item = newest, .more = may_have(here)};
      // acquire: pairs with the release in take_kept().
      for (unsigned looks = 0; here.lock.exchange(1, base::order::acquire) != 0; ++looks)
        base::back_off(looks);
      keep(here, band, newest);
      return take_kept(here, first);
    }
    return {};
  }

  /// Takes an item under the lock, and unlocks.
  [[nodiscard]] taken take_kept(shard& here, unsigned first) noexcept {
    taken found;
    bool left = false;
    for (unsigned i = 0; i < bands; ++i) {
      const unsigned band = band_of(i, first);
      if (here.kept[band].get() == nullptr) {
        if (Item* const newest = take_all(here, band)) keep(here, band, newest);
      }
      Item* const oldest = here.kept[band].get();
      if (oldest == nullptr) continue;
      if (found.item == nullptr) {
        found.item = oldest;
        here.kept[band].set(oldest->next_ready_.get());
      }
      left = left || here.kept[band].get() != nullptr;
    }
    found.more = left;
    // relaxed: only the holder of the lock writes it.
    const bool said = here.has_kept.load(base::order::relaxed) != 0;
    // seq_cst: the fourth of the four accesses: before the check of the idle word that follows. Only a store
    // of 1 needs that order.
    if (left && !said) here.has_kept.store(1, base::order::seq_cst);
    // relaxed: a store of 0 orders nothing.
    if (!left && said) here.has_kept.store(0, base::order::relaxed);
    // release: pairs with the acquire of the lock.
    here.lock.store(0, base::order::release);
    return found;
  }

  /// Under the lock: appends a stack, in reverse order, to what is kept already.
  static void keep(shard& here, unsigned band, Item* newest) noexcept {
    Item* oldest = nullptr;
    while (newest != nullptr) {
      Item* const next = newest->next_ready_.get();
      newest->next_ready_.set(oldest);
      oldest = newest;
      newest = next;
    }
    Item* last = here.kept[band].get();
    if (last == nullptr) {
      here.kept[band].set(oldest);
      return;
    }
    while (Item* const next = last->next_ready_.get()) last = next;
    last->next_ready_.set(oldest);
  }

  const unsigned count_;
  const std::unique_ptr<shard[]> shards_;
};

}  // namespace rota::gate::detail
