// The injector: work from outside, and what full rings gave up. FIFO, unbounded, allocates nothing.
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
  closed,  // the caller still has what it wanted to push
};

/// How many items a worker fetches under one lock: its share of what is there, at least 4 and at most 32, and
/// never more than there are or than it has room for (`room`: free slots of its ring, and one more for the
/// item it runs at once).
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
//   mutex_     guards first_, last_, `next` of every item in the list, closed_, and every change of length_
//   length_    items in the list; read by anybody without the lock
//   T::next    a base::cell<T*>, null outside the list: an item is in one injector at a time
//
// Who may touch an item: its pusher until push() returns `accepted`; then nobody but the injector until it is
// handed out. Who frees it: nobody here.
//
// Invariants (tests/unit/queue/injector_test.cpp, tests/model/injector_model.cpp):
//   I1  what was accepted is handed out exactly once, by pop_batch() or drain().
//   I2  items of one pusher, and items of one batch, are handed out in the order in which they were pushed.
//   I3  under the lock, length_ counts the list; so has_items() with one consumer means pop_batch() hands out
//       something.
//   I4  nothing is accepted after close() has returned.
//
// Why the orders suffice: the mutex orders the list and the items. length_ is the published word of parking.
// The scheduler uses form (a) after a push (an RMW on its packed word, on both sides), for which any order of
// length_ would do, as it is changed before that RMW. Form (b) holds as well: the change is a seq_cst RMW,
// and has_items() a seq_cst load, so a caller may follow a push with a mere seq_cst load of the packed word.
template <class T>
class injector {
 public:
  injector() = default;
  injector(const injector&) = delete;
  injector& operator=(const injector&) = delete;
  ~injector() = default;

  /// Appends one item. Any thread.
  on_inject push(T& item) noexcept { return push_batch(item, item, 1); }

  /// Appends a chain of `count` items, linked by `next` from first to last; nothing comes between them.
  on_inject push_batch(T& first, T& last, std::size_t count) noexcept {
    ROTA_ASSERT(is_chain(first, last, count));
    const base::lock_guard lock(mutex_);
    if (closed_.get()) return on_inject::closed;
    append(first, last);
    // seq_cst. The publish of form (b); see the protocol. An RMW, though the lock excludes other writers:
    //          form (b) asks for a seq_cst store or RMW.
    length_.fetch_add(count, base::order::seq_cst);
    return on_inject::accepted;
  }

  /// Hands out the oldest items, at most as many as `out` holds; returns how many. No lock if none.
  [[nodiscard]] std::size_t pop_batch(std::span<T*> out) noexcept {
    if (out.empty() || length_guess() == 0) return 0;
    const base::lock_guard lock(mutex_);
    std::size_t count = 0;
    while (count < out.size() && first_.get() != nullptr) out[count++] = take_first();
    ROTA_ASSERT(length_guess() >= count);
    // relaxed. A parker that reads the smaller length has missed nothing: we hold what is gone.
    length_.fetch_sub(count, base::order::relaxed);
    return count;
  }

  /// From now on every push is refused; what is there stays. Idempotent.
  void close() noexcept {
    const base::lock_guard lock(mutex_);
    closed_.set(true);
  }

  /// Hands out everything: a chain, oldest first, linked by `next`; null when there is nothing. For shutdown.
  [[nodiscard]] T* drain() noexcept {
    const base::lock_guard lock(mutex_);
    T* const chain = first_.get();
    first_.set(nullptr);
    last_.set(nullptr);
    // relaxed. As in pop_batch().
    length_.store(0, base::order::relaxed);
    return chain;
  }

  /// For fetch_count(), reports, and as a first look.
  [[nodiscard]] std::size_t length_guess() const noexcept {
    // relaxed. A guess. It is never older than what the caller has synchronised with, so a worker that was
    //          told of an item by has_items(), or by the packed word, sees it here, unless it is taken.
    return length_.load(base::order::relaxed);
  }

  /// The re-scan of a worker that is about to park.
  [[nodiscard]] bool has_items() const noexcept {
    // seq_cst. The fourth access of form (b): after the parker's RMW of the packed word.
    return length_.load(base::order::seq_cst) != 0;
  }

 private:
  [[nodiscard]] static bool is_chain(const T& first, const T& last, std::size_t count) noexcept {
    const T* item = &first;
    for (std::size_t i = 1; i < count && item != nullptr; ++i) item = item->next.get();
    return count > 0 && item == &last && last.next.get() == nullptr;
  }

  void append(T& first, T& last) noexcept {
    ROTA_ASSERT((first_.get() == nullptr) == (last_.get() == nullptr));
    if (T* const before = last_.get(); before != nullptr) {
      before->next.set(&first);
    } else {
      first_.set(&first);
    }
    last_.set(&last);
  }

  [[nodiscard]] T* take_first() noexcept {
    T* const item = first_.get();
    T* const second = item->next.get();
    item->next.set(nullptr);
    first_.set(second);
    if (second == nullptr) last_.set(nullptr);
    return item;
  }

  alignas(base::cache_line) base::atomic<std::size_t> length_{0};
  alignas(base::cache_line) base::mutex mutex_;
  base::cell<T*> first_;
  base::cell<T*> last_;
  base::cell<bool> closed_;
};

}  // namespace rota::queue
