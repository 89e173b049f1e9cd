// The deque of one worker's forks: its owner pushes and pops the newest, thieves take the oldest.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::queue {

template <class T, std::uint32_t Capacity>
class fork_thief;

/// What a barrier of two halves is made of here.
enum class pop_barrier : unsigned char {
  light,     // the owner's half is none; each thief calls the heavy one
  exchange,  // there is no heavy half: the owner's pop is a read-modify-write
};

// PROTOCOL: fork deque (Chase, Lev, "Dynamic circular work-stealing deque", 2005; the orders as in Le, Pop, Cohen, Zappa
//           Nardelli, "Correct and efficient work-stealing for weak memory models", 2013)
//
//          taken already            queued               free
//   ... --------------------|----------------------|-------------- ...
//                          top                   bottom
//
//   word      changed by
//   top       thief: a CAS to top + 1; owner: the same, for the last item only. It only grows
//   bottom    owner
//   limit     owner: at most Capacity behind a top that it has seen; anybody else: to a mark that lies before every bottom
//   slot i    owner, while i is not in [top, bottom)
//
// The owner pops without a read-modify-write, unless the item is the last one: it lowers bottom, then looks at top. Above top,
// the item is its own. A thief looks at top, then at bottom, then takes by a CAS.
//
// The bad interleaving: items 5 and 6. The owner lowers bottom to 6, which stays in its store buffer, and reads top: 5, so 6 is
// its own. Thief A takes 5. Thief B reads top: 6, and bottom: 7, since the store has not arrived. It takes 6 as well.
// Why it cannot happen: between its two looks the thief passes the heavy half of a barrier, whose light half lies between the
// owner's store and its load. Either the light half came first, and then the thief sees the lower bottom; or the heavy one
// did, and then the owner reads no older top than the thief has: 6, and for the last item it needs the CAS. Without the heavy
// half the owner's store is an exchange, and all four accesses are seq_cst.
//
// A thief may read a slot that is being written for a later round: then top has moved, and its CAS fails. So slots are atomic.
// Who frees the items: nobody here.
//
// Invariants (tests/unit/queue/fork_deque_test.cpp, tests/model/fork_deque_model.cpp):
//   D1  every item that was pushed is handed out exactly once.        D2  the owner gets the newest, a thief the oldest.
//   D3  bottom - top <= Capacity.                                     D4  who gets an item sees what its pusher did before.
//
// The owner's side is here, since a fork is part of the program's own code; a thief's is in src/queue/fork_deque.hpp.
template <class T, std::uint32_t Capacity>
class fork_deque {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  static constexpr std::uint32_t capacity = Capacity;

  explicit fork_deque(pop_barrier barrier) noexcept : exchanges_(barrier == pop_barrier::exchange) {}
  fork_deque(const fork_deque&) = delete;
  fork_deque& operator=(const fork_deque&) = delete;
  ~fork_deque() = default;

  /// The owner. Are so many sure to fit? The answer no may be out of date; look_again() says.
  [[nodiscard]] bool has_room(std::uint32_t items) const noexcept {
    // relaxed. The owner wrote it, or somebody put a mark there, which is a message and nothing more.
    return own_bottom() + items <= limit_.load(base::order::relaxed);
  }
  /// The owner. Has somebody called since it looked again last? It may hear of it later.
  [[nodiscard]] bool is_called() const noexcept {
    // relaxed. A message.
    return limit_.load(base::order::relaxed) < 0;
  }
  /// The owner. How many fit, in truth; and was it called?
  struct room {
    std::uint32_t items;
    bool called;
  };
  [[nodiscard]] room look_again() noexcept {
    // acquire. Pairs with the thief's CAS: it has read its slot before that is written again.
    const std::int64_t limit = top_.load(base::order::acquire) + Capacity;
    // relaxed, all of it. See has_room(). An exchange, since a mark that comes now must not be lost.
    const bool called = limit_.exchange(limit, base::order::relaxed) == called_mark;
    if (called) ++calls_;
    return {static_cast<std::uint32_t>(limit - own_bottom()), called};
  }
  /// Anybody. The owner's next look for room is a look_again(), which says so.
  void call() noexcept {
    // relaxed. A message, which need not come with anything else.
    limit_.store(called_mark, base::order::relaxed);
  }

  /// The owner. How often it has found out that it was called; wraps around.
  [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }

  /// The owner, who knows that there is room: `item(0)` will be the next to be popped, `item(count - 1)` the first to be stolen.
  template <class Item>
  [[gnu::always_inline]] void push(std::uint32_t count, Item item) noexcept {
    std::int64_t bottom = own_bottom();
    // How many there are is often another number each time: a loop within the loop would be guessed wrong once more.
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
    for (std::uint32_t i = count; i != 0; --i) {
      // relaxed. The bottom publishes it.
      slot(bottom++).store(&item(i - 1), base::order::relaxed);
    }
    set_bottom(bottom);
  }

  /// The owner. The newest item; null when there is none left.
  [[nodiscard, gnu::always_inline]] T* pop() noexcept {
    const std::int64_t at = own_bottom() - 1;
    if (exchanges_) [[unlikely]] {
      // seq_cst. The first of four; see has_items() and fork_thief.
      bottom_.exchange(at, base::order::seq_cst);
    } else {
      set_bottom(at);
      base::barrier_light();
    }
    // seq_cst. The second of four, with the exchange; a plain load on x86-64 and with the barrier.
    const std::int64_t top = top_.load(base::order::seq_cst);
    if (top >= at) [[unlikely]]
      return pop_last(at, top);
    // relaxed. The owner wrote it.
    T* const item = slot(at).load(base::order::relaxed);
    if (item == nullptr) __builtin_unreachable();
    return item;
  }

  /// The owner. Exact when it says yes.
  [[nodiscard]] bool is_empty() const noexcept {
    // relaxed. What thieves took meanwhile may still be counted.
    return own_bottom() <= top_.load(base::order::relaxed);
  }

 private:
  friend class fork_thief<T, Capacity>;

  [[nodiscard]] base::atomic<T*>& slot(std::int64_t index) noexcept {
    return slots_[static_cast<std::uint64_t>(index) % Capacity];
  }
  [[nodiscard]] std::int64_t own_bottom() const noexcept {
    // relaxed. Only the owner writes it.
    return bottom_.load(base::order::relaxed);
  }
  void set_bottom(std::int64_t bottom) noexcept {
    // release. Pairs with the thief's acquire: the slots below are written, and so is what they point to. Also where it goes
    //          down: a store after a release is no part of what that has released.
    bottom_.store(bottom, base::order::release);
  }

  /// One item, which a thief may be taking; or none.
  [[gnu::noinline]] T* pop_last(std::int64_t at, std::int64_t top) noexcept {
    T* item = nullptr;
    if (top == at) {
      // relaxed. The owner wrote it.
      item = slot(at).load(base::order::relaxed);
      // seq_cst. As the thief's. failure: relaxed. A thief has it.
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
