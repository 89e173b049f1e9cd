// The stealable ring of one worker: a bounded FIFO that its owner fills and that any thief may take half of.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "queue/ring_head.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace rota::queue {

/// The result of a push by the owner.
enum class [[nodiscard]] on_push {
  stored,      // it is in the ring, and published
  refused,     // full, and a thief is copying: the caller keeps the item, and puts it into the injector
  moved_half,  // full: the older half and the item are in the caller's batch, for the injector
};

/// The result of an attempt to steal.
enum class [[nodiscard]] on_steal {
  stolen,
  empty,
  busy,  // another thief is copying, or the owner went on between the two loads
};

// PROTOCOL: stealable ring
//
//             written already     claimed by a thief      queued             free
//   ... ------------------------|--------------------|---------------|--------------- ...
//                             steal                 real            tail
//
//   word      changed by                                              counts
//   real      owner: pop(), push() of a full ring; thief: claim()     taken from the front
//   steal     owner, together with real; thief: release()             copied, so that the slot is free again
//   tail      owner                                                   published
//   slot i    owner, while i is not in [steal, tail)
//
// head = {steal, real} is one word (ring_head.hpp); only a CAS changes it. tail is a word of its own.
//
// The owner may write a slot when its index is free. The owner may read a slot with an index that it took
// from the front. The thief that claimed an index may read its slot until its release(). Slots are plain
// data: a thief reads only after its claim, and the owner writes only indices in [tail, steal + Capacity), so
// no slot is read while it is written. The ring holds pointers: it does not own the items, and does not free
// them.
//
// Invariants (tests/unit/queue/ring_test.cpp, tests/model/ring_model.cpp):
//   I1  steal <= real <= tail <= steal + Capacity, modulo 2^32.
//   I2  every item that was stored is handed out exactly once: by pop, by a batch, or by one steal.
//   I3  at most one thief is between claim() and release(). Then steal != real, and the owner moves only
//       real.
//   I4  a thief that has claimed releases: steal_into() has no exit between the two.
//
// Why the orders suffice: publish() releases slots to the thief's load of the tail. release() releases them
// back to the owner's load of the head: every change of the head is an RMW, so later changes continue the
// release sequence. The re-scan of a parking worker is form (b) of the parking rule: publish() and
// has_items() are seq_cst on the tail.
template <class T, std::uint32_t Capacity = 256>
class ring {
  static_assert(Capacity >= 2 && Capacity <= (1U << 16U) && (Capacity & (Capacity - 1)) == 0,
                "a power of two");

 public:
  static constexpr std::uint32_t capacity = Capacity;

  class owner;
  class thief;

  /// The output of push() on a full ring: the older half, oldest first, then the pushed item.
  using batch = std::array<T*, Capacity / 2 + 1>;

  struct steal_result {
    on_steal status;
    T* first = nullptr;       // the caller runs it at once
    std::uint32_t count = 0;  // with `first`; the others are in the thief's ring
  };

  /// `start`: the first index. Tests start a little below 2^32.
  explicit ring(std::uint32_t start = 0) noexcept : head_(ring_head{start, start}.word()), tail_(start) {}
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() = default;

  /// Gives out the owner's end. There is one: the worker takes it when it is made, and keeps it private.
  [[nodiscard]] owner take_owner_end() noexcept {
    if (owner_taken_) ROTA_FATAL("the owner's end of a ring was taken twice", capacity);
    owner_taken_ = true;
    return owner{*this};
  }

  /// Returns the other end, for any thread.
  [[nodiscard]] thief thief_end() noexcept { return thief{*this}; }

 private:
  friend struct ring_test_access;

  [[nodiscard]] base::cell<T*>& slot(std::uint32_t index) noexcept { return slots_[index % Capacity]; }

  /// Returns how many items are queued, as a guess: other threads may change that at the same time.
  // NOT IN A MODEL: nothing is decided by it
  [[nodiscard]] std::uint32_t guess_length() const noexcept {
    // relaxed: a guess, for reports.
    const ring_head head = ring_head::of(head_.load(base::order::relaxed));
    // relaxed: same reason as above; the two were not read at one moment.
    const std::uint32_t queued = head.queued(tail_.load(base::order::relaxed));
    return queued <= Capacity ? queued : 0;
  }

  alignas(base::cache_line) base::atomic<std::uint64_t> head_;
  alignas(base::cache_line) base::atomic<std::uint32_t> tail_;
  bool owner_taken_ = false;
  alignas(base::cache_line) base::cell<T*> slots_[Capacity];
};

/// The owner's end of a ring. It cannot be copied. It moves with the worker's role, and the hand-off of the
/// role orders the accesses of the two threads.
template <class T, std::uint32_t Capacity>
class ring<T, Capacity>::owner {
 public:
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;
  owner(owner&& other) noexcept : ring_(std::exchange(other.ring_, nullptr)) {}
  owner& operator=(owner&& other) noexcept {
    ring_ = std::exchange(other.ring_, nullptr);
    return *this;
  }
  ~owner() = default;

  /// Appends `item`. `out` is written only for `moved_half`, and then whole.
  on_push push(T& item, batch& out) noexcept {
    for (;;) {  // another round only if a thief claimed or released in between
      const ring_head head = load_head();
      if (append(item, head)) return on_push::stored;
      if (head.is_stealing()) return on_push::refused;
      if (move_half(head, out)) {
        out.back() = &item;
        return on_push::moved_half;
      }
    }
  }

  /// Appends `item`. Returns false if the ring is full. Short, so that it is inlined into each push: push()
  /// needs a batch.
  [[nodiscard]] bool push_if_room(T& item) noexcept { return append(item, load_head()); }

  /// Appends all of `items` with one publish. There must be at most free_space() of them.
  void push_batch(std::span<T* const> items) noexcept {
    if (items.empty()) return;  // NOT IN A MODEL: nothing is done
    if (items.size() > free_space()) ROTA_FATAL("a batch does not fit into the ring", items.size());
    std::uint32_t tail = load_tail();
    for (T* item : items) ring_->slot(tail++).set(item);
    publish(tail);
  }

  /// Takes the oldest item. Returns null if there is none.
  [[nodiscard]] T* pop() noexcept {
    const std::uint32_t tail = load_tail();
    // relaxed: a guess; the CAS below decides. A stale real that equals the tail is the newest one.
    std::uint64_t seen = ring_->head_.load(base::order::relaxed);
    for (;;) {  // another round only if a thief claimed or released in between
      const ring_head head = ring_head::of(seen);
      ROTA_ASSERT(head.queued(tail) <= Capacity);
      if (head.queued(tail) == 0) return nullptr;
      if (change_head(seen, head.taken(1))) return ring_->slot(head.real).get();
    }
  }

  /// Returns the number of free slots. It can only grow until the owner fills them.
  [[nodiscard]] std::uint32_t free_space() const noexcept { return Capacity - load_head().used(load_tail()); }

  [[nodiscard]] std::uint32_t length_guess() const noexcept { return ring_->guess_length(); }
  /// Returns true only if the ring is empty: only the owner appends.
  [[nodiscard]] bool is_empty() const noexcept {
    // relaxed: items that thieves took in between may still be counted.
    return ring_head::of(ring_->head_.load(base::order::relaxed)).queued(load_tail()) == 0;
  }

 private:
  friend class ring;
  friend class thief;
  explicit owner(ring& r) noexcept : ring_(&r) {}

  [[nodiscard]] ring_head load_head() const noexcept {
    // acquire: pairs with release(): a thief has read its slots before the owner overwrites them.
    return ring_head::of(ring_->head_.load(base::order::acquire));
  }

  [[nodiscard]] std::uint32_t load_tail() const noexcept {
    // relaxed: only the owner writes the tail.
    return ring_->tail_.load(base::order::relaxed);
  }

  [[nodiscard]] bool append(T& item, ring_head head) noexcept {
    const std::uint32_t tail = load_tail();
    ROTA_ASSERT(head.used(tail) <= Capacity);
    if (head.used(tail) < Capacity) [[likely]] {
      ring_->slot(tail).set(&item);
      publish(tail + 1);
      return true;
    }
    return false;
  }

  void publish(std::uint32_t tail) noexcept {
    // seq_cst: as a release it pairs with the acquire in claim(): slots are written before the tail passes
    //          them. And it is the first of the four seq_cst accesses of parking: after it the producer reads
    //          the packed word; the parking worker reads the tail after its RMW of that word. At least one of
    //          the two sees the other.
    ring_->tail_.store(tail, base::order::seq_cst);
  }

  [[nodiscard]] bool change_head(std::uint64_t& seen, ring_head next) noexcept {
    // release: pairs with the acquire in claim(): a thief that sees the new real sees a tail that is not
    //          behind it. Not acquire: the owner wrote every slot itself.
    // failure: relaxed: the reloaded word is again only a guess.
    return ring_->head_.compare_exchange_weak(seen, next.word(), base::order::release, base::order::relaxed);
  }

  /// Takes the older half out of a full ring that no thief copies from. Returns false if the head has
  /// changed.
  [[nodiscard]] bool move_half(ring_head head, batch& out) noexcept {
    std::uint64_t seen = head.word();
    if (!change_head(seen, head.taken(Capacity / 2))) return false;
    for (std::uint32_t i = 0; i < Capacity / 2; ++i) out[i] = ring_->slot(head.real + i).get();
    return true;
  }

  ring* ring_;
};

/// The end of a ring for all threads: checks and steals. It may be copied, and must not outlive the ring.
template <class T, std::uint32_t Capacity>
class ring<T, Capacity>::thief {
 public:
  /// Steals half (rounded up) of the queued items. It returns the oldest one, to be run, and publishes the
  /// others in `mine`, the ring of the stealing worker. If `mine` is full, it takes only the one to be run.
  /// The caller is a searching worker, and stays one until this returns.
  steal_result steal_into(owner& mine) noexcept {
    ROTA_ASSERT(mine.ring_ != ring_);
    const claimed got = claim(mine.free_space() + 1);
    if (got.count == 0) return {got.status};
    T* const first = copy(got, mine);
    release();
    if (got.count > 1) mine.publish(mine.load_tail() + got.count - 1);
    return {on_steal::stolen, first, got.count};
  }

  /// The re-scan of a worker that is about to park. It may return true wrongly. It returns false only if
  /// everything that was published before is taken.
  [[nodiscard]] bool has_items() const noexcept {
    // acquire: pairs with the release in pop() and release(): the tail that is read next is not behind this
    // real.
    const ring_head head = ring_head::of(ring_->head_.load(base::order::acquire));
    // seq_cst: the fourth of the four seq_cst accesses of parking; see publish().
    return head.queued(ring_->tail_.load(base::order::seq_cst)) != 0;
  }

  [[nodiscard]] std::uint32_t length_guess() const noexcept { return ring_->guess_length(); }

 private:
  friend class ring;
  friend struct ring_test_access;
  explicit thief(ring& r) noexcept : ring_(&r) {}

  struct claimed {
    on_steal status;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  /// Phase 1: claims the first `count` indices. From now on they belong to this thief, and their slots do not
  /// change.
  [[nodiscard]] claimed claim(std::uint32_t most) noexcept {
    for (;;) {  // another round only if the owner or another thief took something in between
      // acquire: pairs with the release in pop() and release(): the tail that is read next is not behind this
      // real.
      std::uint64_t seen = ring_->head_.load(base::order::acquire);
      const ring_head head = ring_head::of(seen);
      if (head.is_stealing()) return {on_steal::busy};
      // acquire: pairs with publish(): the slots below this tail are written.
      const std::uint32_t half = head.half(ring_->tail_.load(base::order::acquire));
      if (half == 0) return {on_steal::empty};
      if (half > Capacity / 2) return {on_steal::busy};  // the tail is younger than the head by a whole ring
      const std::uint32_t count = std::min(half, most);
      // relaxed: the slots came with the tail, and go back with release(). failure: relaxed: the loop starts
      // over.
      const std::uint64_t next = head.claimed(count).word();
      if (ring_->head_.compare_exchange_weak(seen, next, base::order::relaxed, base::order::relaxed)) {
        return {on_steal::stolen, head.real, count};
      }
    }
  }

  /// Phase 2: copies all but the first item into free slots of `mine`, not published yet. Returns the first.
  [[nodiscard]] T* copy(claimed got, owner& mine) noexcept {
    const std::uint32_t tail = mine.load_tail();
    for (std::uint32_t i = 1; i < got.count; ++i) {
      mine.ring_->slot(tail + i - 1).set(ring_->slot(got.first + i).get());
    }
    return ring_->slot(got.first).get();
  }

  /// Phase 3: gives the slots back to the owner. It loops until it succeeds: a steal that gave up here would
  /// lose what it claimed, and block the ring for ever. Each failure is a pop of the owner.
  void release() noexcept {
    // relaxed: a guess; the CAS below decides.
    std::uint64_t seen = ring_->head_.load(base::order::relaxed);
    for (;;) {
      ROTA_ASSERT(ring_head::of(seen).is_stealing());
      const std::uint64_t next = ring_head::of(seen).released().word();
      // release: pairs with the acquire in owner::load_head(): the thief's reads of the slots happen before
      // they are overwritten.
      // failure: relaxed: the reloaded word is again only a guess.
      if (ring_->head_.compare_exchange_weak(seen, next, base::order::release, base::order::relaxed)) return;
    }
  }

  ring* ring_;
};

}  // namespace rota::queue
