// The deque of one worker's forks. Its owner pushes and pops the newest items; thieves take the oldest.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::queue {

template <class T, std::uint32_t Capacity>
class fork_thief;

/// How the two halves of the pop barrier are made on this machine.
enum class pop_barrier : unsigned char {
  light,     // the owner's half is empty; each thief calls the heavy half
  exchange,  // there is no heavy half: the owner's pop is a read-modify-write
};

// PROTOCOL: fork deque (Chase, Lev, "Dynamic circular work-stealing deque", 2005; the orders as in Le, Pop,
// Cohen, Zappa Nardelli, "Correct and efficient work-stealing for weak memory models", 2013)
//
//          taken already            queued               free
//   ... --------------------|----------------------|-------------- ...
//                          top                   bottom
//
//   word      changed by
//   top       thief: a CAS to top + 1; owner: the same, for the last item only. It only grows
//   bottom    owner
//   limit     owner: at most Capacity above a top that it has seen; others: to a mark below every bottom
//   slot i    owner, while i is not in [top, bottom)
//
// The owner pops without a read-modify-write, unless the item is the last one: it lowers bottom, then reads
// top. If the item lies above top, it belongs to the owner. A thief reads top, then bottom, then takes the
// item by a CAS.
//
// The bad interleaving (store buffering), with the items 5 and 6 left:
//   1. The owner lowers bottom to 6. The store stays in its store buffer. The owner reads top = 5, so it
//      takes item 6.
//   2. Thief A takes item 5.
//   3. Thief B reads top = 6, and bottom = 7, since the owner's store has not arrived. It takes item 6 as
//      well.
//
// Why it cannot happen: between its two reads the thief passes the heavy half of a barrier. The light half
// lies between the owner's store and its load. If the light half came first, the thief sees the lower bottom.
// If the heavy half came first, the owner reads a top that is not older than the one that thief B has read
// (6). Item 6 is then the last one, and the owner needs the CAS for it. Without a heavy half the owner's
// store is an exchange, and all four accesses are seq_cst.
//
// A thief may read a slot that is being written for a later round. Then top has moved, and the CAS of the
// thief fails. So slots are atomic. The deque does not own the items, and does not free them.
//
// Invariants (tests/unit/queue/fork_deque_test.cpp, tests/model/fork_deque_model.cpp):
//   D1  Every item that was pushed is handed out exactly once.
//   D2  The owner gets the newest item, a thief the oldest.
//   D3  bottom - top <= Capacity.
//   D4  The thread that gets an item sees what its pusher did before the push.
//
// The owner's side is in this header, since a fork is part of the program's own code. The thief's side is in
// src/queue/fork_deque.hpp.
template <class T, std::uint32_t Capacity>
class fork_deque {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  static constexpr std::uint32_t capacity = Capacity;

  explicit fork_deque(pop_barrier barrier) noexcept : exchanges_(barrier == pop_barrier::exchange) {}
  fork_deque(const fork_deque&) = delete;
  fork_deque& operator=(const fork_deque&) = delete;
  ~fork_deque() = default;

  /// Owner only. Returns true if so many items are sure to fit. A false may be out of date: look_again() has
  /// the exact answer.
  [[nodiscard]] bool has_room(std::uint32_t items) const noexcept {
    // relaxed: the owner wrote it, or another thread stored the mark, which is only a message.
    return own_bottom() + items <= limit_.load(base::order::relaxed);
  }
  /// Owner only. Returns true if another thread has called since the last look_again(). A call may be seen
  /// late.
  [[nodiscard]] bool is_called() const noexcept {
    // relaxed: only a message.
    return limit_.load(base::order::relaxed) < 0;
  }
  /// Owner only. The exact number of items that fit, and whether the owner was called.
  struct room {
    std::uint32_t items;
    bool called;
  };
  [[nodiscard]] room look_again() noexcept {
    // acquire: pairs with the CAS of the thief, which has read its slot before that is written again.
    const std::int64_t limit = top_.load(base::order::acquire) + Capacity;
    // relaxed, both operations on limit_: see has_room(). An exchange, since a mark that is stored now must
    // not be lost.
    const bool called = limit_.exchange(limit, base::order::relaxed) == called_mark;
    if (called) ++calls_;
    return {static_cast<std::uint32_t>(limit - own_bottom()), called};
  }
  /// Any thread. Calls the owner: its next has_room() returns false, and the look_again() that follows
  /// reports the call.
  void call() noexcept {
    // relaxed: only a message, which publishes nothing else.
    limit_.store(called_mark, base::order::relaxed);
  }

  /// Owner only. Returns how often look_again() has found a call; wraps around.
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }

  /// Owner only; requires that the items fit. `item(0)` will be popped first, `item(count - 1)` will be
  /// stolen first.
  template <class Item>
  [[gnu::always_inline]] void push(std::uint32_t count, Item item) noexcept {
    std::int64_t bottom = own_bottom();
    // The count often differs between calls: an unrolled loop would cost one more branch misprediction.
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
    for (std::uint32_t i = count; i != 0; --i) {
      // relaxed: set_bottom() publishes it.
      slot(bottom++).store(&item(i - 1), base::order::relaxed);
    }
    set_bottom(bottom);
  }

  /// Owner only. Removes and returns the newest item; null if there is none.
  [[nodiscard, gnu::always_inline]] T* pop() noexcept {
    const std::int64_t at = own_bottom() - 1;
    if (exchanges_) [[unlikely]] {
      // seq_cst: the first of the four accesses; see PROTOCOL above, and steal() in src/queue/fork_deque.hpp.
      bottom_.exchange(at, base::order::seq_cst);
    } else {
      set_bottom(at);
      base::barrier_light();
    }
    // seq_cst: the second of the four accesses, if the owner pops by an exchange. On x86-64 it is a plain
    // load, so it costs nothing if there is the barrier.
    const std::int64_t top = top_.load(base::order::seq_cst);
    if (top >= at) [[unlikely]]
      return pop_last(at, top);
    // relaxed: the owner wrote it.
    T* const item = slot(at).load(base::order::relaxed);
    if (item == nullptr) __builtin_unreachable();
    return item;
  }

  /// Owner only. Exact if it returns true.
  [[nodiscard]] bool is_empty() const noexcept {
    // relaxed: items that thieves took meanwhile may still be counted.
    return own_bottom() <= top_.load(base::order::relaxed);
  }

 private:
  friend class fork_thief<T, Capacity>;

  [[nodiscard]] base::atomic<T*>& slot(std::int64_t index) noexcept {
    return slots_[static_cast<std::uint64_t>(index) % Capacity];
  }
  [[nodiscard]] std::int64_t own_bottom() const noexcept {
    // relaxed: only the owner writes it.
    return bottom_.load(base::order::relaxed);
  }
  void set_bottom(std::int64_t bottom) noexcept {
    // release: pairs with the thief's acquire. The slots below bottom are written, and so is what they point
    // to. Also where bottom goes down: a later store is not part of the release sequence of an earlier one.
    bottom_.store(bottom, base::order::release);
  }

  /// Takes the only item that is left. Returns null if a thief takes it, or if there was none.
  [[gnu::noinline]] T* pop_last(std::int64_t at, std::int64_t top) noexcept {
    T* item = nullptr;
    if (top == at) {
      // relaxed: the owner wrote it.
      item = slot(at).load(base::order::relaxed);
      // seq_cst: same reason as the thief's CAS. failure: relaxed: a thief has the item.
      if (!top_.compare_exchange_strong(top, top + 1, base::order::seq_cst, base::order::relaxed))
        item = nullptr;
    }
    set_bottom(at + 1);
    return item;
  }

  alignas(128) base::atomic<std::int64_t> top_{0};
  alignas(128) base::atomic<std::int64_t> bottom_{0};
  static constexpr std::int64_t called_mark = INT64_MIN;
  base::atomic<std::int64_t> limit_{Capacity};
  const bool exchanges_;
  std::uint32_t calls_ = 0;  // the owner's
  alignas(128) base::atomic<T*> slots_[Capacity];
};

}  // namespace rota::queue
