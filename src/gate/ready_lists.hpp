// Which mailboxes are ready: a list for each consumer, from which the others may take.
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
//   shard i:   fresh[band]   a stack, newest first; anybody pushes (Treiber, 1986)
//              kept[band]    the same items the other way round, oldest first; the holder of the shard's lock
//              lock          0, 1: held. Only tried, but by who has several fresh ones in its hands
//              has_kept      is there anything in kept? For who looks without the lock
//
//   push       CAS on fresh; then look at the idle word (the scheduler's form (b): the push is seq_cst, and so is the look)
//   take       nothing is kept: exchange(fresh, null). It was one item: that is all, without the lock. Several: wait for the lock,
//              put them behind what is kept by now, take the oldest, give the lock back.
//              Something is kept: try the lock; kept is empty: exchange(fresh, null), turn it round, keep it; take the oldest; give
//              the lock back. Either way: something is left: look at the idle word as a pusher does
//   re-scan    who is about to sleep, after its announcement: fresh and has_kept of each shard, seq_cst
//
// The stack is only ever taken as a whole, so there is no ABA. Order: what became ready first in a shard and band is taken first,
// but for what several consumers take from it at one moment; between shards there is none.
//
// Who finds the lock held goes on to the next shard, and comes back before it sleeps: a critical section is a few dozen
// instructions, and a thread that was preempted in it gets the processor. The holder takes one and, if more is left, looks at the
// idle word afterwards.
// The bad interleaving: the holder has taken the stack, and has not said has_kept yet; a consumer announces that it parks, and sees
// neither; the holder looks before that announcement. It cannot be: the store of has_kept is seq_cst and comes before the look,
// the announcement is seq_cst and comes before the re-scan; so either the re-scan sees has_kept, or the look sees the sleeper.
//
// Invariants (tests/model/ready_model.cpp): R1 what was pushed is taken once. R2 while something is ready no consumer sleeps unless
// another is awake that will look again.
//
// `Item` has a cell next_ready_: whoever has the item.
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

  /// Anybody. The caller looks at the idle word afterwards.
  void push(unsigned where, unsigned band, Item& item) noexcept {
    base::atomic<Item*>& fresh = shards_[where].fresh[band];
    // relaxed. A guess; the exchange decides.
    Item* newest = fresh.load(base::order::relaxed);
    do {
      item.next_ready_.set(newest);
      // seq_cst. The first of the four seq_cst accesses; it releases the item. failure: relaxed. Again a guess.
    } while (!fresh.compare_exchange_weak(newest, &item, base::order::seq_cst, base::order::relaxed));
  }

  struct taken {
    Item* item = nullptr;
    bool more = false;  // the caller looks at the idle word
    bool held = false;  // nothing, because another has the lock
  };
  /// A consumer. From the band `first`, or else from the highest that has something.
  [[nodiscard]] taken take(unsigned where, unsigned first) noexcept {
    shard& here = shards_[where];
    // relaxed. A guess: who keeps something meanwhile takes it as well.
    if (here.has_kept.load(base::order::relaxed) == 0) return take_fresh(here, first);
    // acquire. Pairs with the release below: kept is as its last holder left it.
    if (here.lock.exchange(1, base::order::acquire) != 0) return {.held = true};
    return take_kept(here, first);
  }

  /// Who is about to sleep, after a seq_cst RMW of the idle word.
  [[nodiscard]] bool has_items() const noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      const shard& here = shards_[i];
      // seq_cst. After the announcement, against the store before the holder's look.
      if (here.has_kept.load(base::order::seq_cst) != 0) return true;
      for (const auto& fresh : here.fresh) {
        // seq_cst. After the announcement, against the push before the pusher's look.
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

  /// A guess, before the lock is tried.
  [[nodiscard]] static bool may_have(const shard& here) noexcept {
    // relaxed. A guess; who goes to sleep on it looks again, in order.
    if (here.has_kept.load(base::order::relaxed) != 0) return true;
    for (const auto& fresh : here.fresh) {
      // relaxed. As above.
      if (fresh.load(base::order::relaxed) != nullptr) return true;
    }
    return false;
  }

  /// The order in which a take that begins at `first` looks: 0 1 2, or 1 0 2, or 2 0 1.
  [[nodiscard]] static unsigned band_of(unsigned i, unsigned first) noexcept {
    return i == 0 ? first : i - (i <= first ? 1 : 0);
  }

  /// All of a stack, newest first.
  [[nodiscard]] static Item* take_all(shard& here, unsigned band) noexcept {
    // relaxed. A guess: most often there is nothing.
    if (here.fresh[band].load(base::order::relaxed) == nullptr) return nullptr;
    // seq_cst. It acquires the items; and who sees null in its re-scan because of this comes after it.
    return here.fresh[band].exchange(nullptr, base::order::seq_cst);
  }

  /// Nothing is kept.
  [[nodiscard]] taken take_fresh(shard& here, unsigned first) noexcept {
    for (unsigned i = 0; i < bands; ++i) {
      const unsigned band = band_of(i, first);
      Item* const newest = take_all(here, band);
      if (newest == nullptr) continue;
      if (newest->next_ready_.get() == nullptr) [[likely]]
        return {.item = newest, .more = may_have(here)};
      // acquire. Pairs with the release below.
      for (unsigned looks = 0; here.lock.exchange(1, base::order::acquire) != 0; ++looks)
        base::back_off(looks);
      keep(here, band, newest);
      return take_kept(here, first);
    }
    return {};
  }

  /// Under the lock, which it gives back.
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
    // relaxed. Only the holder writes it.
    const bool said = here.has_kept.load(base::order::relaxed) != 0;
    // seq_cst. The fourth of the four accesses: before the look that follows. To say that nothing is kept orders nothing.
    if (left && !said) here.has_kept.store(1, base::order::seq_cst);
    // relaxed. As said.
    if (!left && said) here.has_kept.store(0, base::order::relaxed);
    // release. Pairs with the acquire of the lock.
    here.lock.store(0, base::order::release);
    return found;
  }

  /// Under the lock: a stack, behind what is kept already.
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
