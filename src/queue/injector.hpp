// The injector: work from outside, and the items that full rings gave up. FIFO, unbounded, allocates nothing.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/mutex.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace rota::queue {

enum class [[nodiscard]] on_inject {
  accepted,
  closed,  // the caller keeps the items
};

/// Returns how many items a worker fetches under one lock: its share of the items, at least 4 and at most 32,
/// and never more than there are or than it can store. `room`: the free slots of its ring, plus one for the
/// item that it runs at once.
[[nodiscard]] constexpr std::size_t fetch_count(std::size_t length,
                                                std::size_t workers,
                                                std::size_t room) noexcept {
  constexpr std::size_t least = 4;
  constexpr std::size_t most = 32;
  const std::size_t share = std::clamp(length / std::max<std::size_t>(workers, 1), least, most);
  return std::min({length, room, share});
}

// PROTOCOL: injector
//
//   Two lists: producers append to the back, consumers take from the front. A consumer that finds the front
//   empty moves the whole back there. So a producer waits for three assignments at most, and never for a
//   thread that walks along items in another processor's cache.
//
//   back_mutex_   guards back_first_, back_last_, closed_, and every change of pushed_
//   front_mutex_  guards front_, and every change of taken_. A thread that needs both takes this one first
//   pushed_       how many items were ever accepted; taken_: how many were handed out. Any thread reads them
//                 without the locks
//   T::next       a base::cell<T*>, null outside the lists: an item is in one injector at a time
//
// The pusher may touch an item until push() returns `accepted`. Then only the injector touches it, until it
// is handed out. The injector does not own the items, and does not free them.
//
// Invariants (tests/unit/queue/injector_test.cpp, tests/model/injector_model.cpp):
//   I1  what was accepted is handed out exactly once, by pop_batch() or drain().
//   I2  items of one pusher, and items of one batch, are handed out in the order in which they were pushed.
//   I3  under both locks, pushed_ - taken_ counts the items of the lists. So with one consumer, if
//       has_items() returns true, pop_batch() hands out something.
//   I4  nothing is accepted after close() has returned.
//
// Why the orders suffice: the mutexes order the lists and the items. pushed_ is the published word of
// parking.
//   - The scheduler uses form (a) after a push: an RMW on its packed word, on both sides. Any order of
//     pushed_ would do for it, since pushed_ is changed before that RMW.
//   - Form (b) holds as well: the change is a seq_cst RMW, and has_items() loads with seq_cst. So after a
//     push a seq_cst load of the packed word is enough.
// has_items() reads taken_ first. Both numbers only grow, and taken_ <= pushed_. So if they are equal, the
// injector was empty at the first read, and what came since then was published after the parking worker's
// RMW.
template <class T>
class injector {
 public:
  injector() = default;
  injector(const injector&) = delete;
  injector& operator=(const injector&) = delete;
  ~injector() = default;

  /// Appends one item. Any thread may call it.
  on_inject push(T& item) noexcept { return push_batch(item, item, 1); }

  /// Appends a chain of `count` items, linked by `next` from first to last. No other item comes between them.
  on_inject push_batch(T& first, T& last, std::size_t count) noexcept {
    ROTA_ASSERT(is_chain(first, last, count));
    const base::lock_guard lock(back_mutex_);
    if (closed_.get()) return on_inject::closed;
    append(first, last);
    // relaxed: only the holder of this lock writes it.
    const std::size_t before = pushed_.load(base::order::relaxed);
    // seq_cst: the publish of form (b); see the protocol.
    pushed_.exchange(before + count, base::order::seq_cst);
    return on_inject::accepted;
  }

  /// Hands out the oldest items, at most as many as fit into `out`. Returns their number. Takes no lock if
  /// the injector looks empty.
  [[nodiscard]] std::size_t pop_batch(std::span<T*> out) noexcept {
    if (out.empty() || length_guess() == 0) return 0;
    const base::lock_guard lock(front_mutex_);
    std::size_t count = 0;
    while (count < out.size() && (front_.get() != nullptr || refill())) out[count++] = take_first();
    note_taken(count);
    return count;
  }

  /// Makes every later push fail; the items that are there stay. Idempotent.
  void close() noexcept {
    const base::lock_guard lock(back_mutex_);
    closed_.set(true);
  }

  /// Hands out all items as a chain, oldest first, linked by `next`. Returns null if there is none. For
  /// shutdown.
  [[nodiscard]] T* drain() noexcept {
    const base::lock_guard lock(front_mutex_);
    T* chain = nullptr;
    T* last = nullptr;
    std::size_t count = 0;
    while (front_.get() != nullptr || refill()) {
      T* const item = take_first();
      if (last != nullptr) last->next.set(item);
      if (chain == nullptr) chain = item;
      last = item;
      ++count;
    }
    note_taken(count);
    return chain;
  }

  /// Returns a guess of the length, for fetch_count(), for reports, and as a first check.
  [[nodiscard]] std::size_t length_guess() const noexcept {
    // relaxed, both: a guess. pushed_ is never older than what the caller has synchronised with. So a worker
    //          that learned of an item by has_items(), or by the packed word, sees it here, unless it is
    //          taken.
    const std::size_t taken = taken_.load(base::order::relaxed);
    const std::size_t pushed = pushed_.load(base::order::relaxed);
    return pushed > taken ? pushed - taken : 0;
  }

  /// The re-scan of a worker that is about to park.
  [[nodiscard]] bool has_items() const noexcept {
    // seq_cst: the fourth access of form (b): after the parking worker's RMW of the packed word. For this
    // order of the two loads see the protocol.
    const std::size_t taken = taken_.load(base::order::seq_cst);
    return pushed_.load(base::order::seq_cst) != taken;
  }

 private:
  // NOT IN A MODEL: the condition of an assertion
  [[nodiscard]] static bool is_chain(const T& first, const T& last, std::size_t count) noexcept {
    const T* item = &first;
    for (std::size_t i = 1; i < count && item != nullptr; ++i) item = item->next.get();
    return count > 0 && item == &last && last.next.get() == nullptr;
  }

  void append(T& first, T& last) noexcept {
    ROTA_ASSERT((back_first_.get() == nullptr) == (back_last_.get() == nullptr));
    if (T* const before = back_last_.get(); before != nullptr) {
      before->next.set(&first);
    } else {
      back_first_.set(&first);
    }
    back_last_.set(&last);
  }

  /// Moves the back to the front, under front_mutex_ and with an empty front. Returns false if there is no
  /// item.
  [[nodiscard]] bool refill() noexcept {
    const base::lock_guard lock(back_mutex_);
    front_.set(back_first_.get());
    back_first_.set(nullptr);
    back_last_.set(nullptr);
    return front_.get() != nullptr;
  }

  [[nodiscard]] T* take_first() noexcept {
    T* const item = front_.get();
    front_.set(item->next.get());
    item->next.set(nullptr);
    return item;
  }

  /// Adds to taken_, under front_mutex_.
  void note_taken(std::size_t count) noexcept {
    // relaxed, both: only the holder of this lock writes it. A parking worker that reads the larger number
    //          has missed nothing: this thread holds the items that are gone.
    taken_.store(taken_.load(base::order::relaxed) + count, base::order::relaxed);
  }

  alignas(base::cache_line) base::mutex back_mutex_;
  base::cell<T*> back_first_;
  base::cell<T*> back_last_;
  base::cell<bool> closed_;
  base::atomic<std::size_t> pushed_{0};
  alignas(base::cache_line) base::mutex front_mutex_;
  base::cell<T*> front_;
  base::atomic<std::size_t> taken_{0};
};

}  // namespace rota::queue
