// The part of a fan-in that does not depend on the type of its items: its segments, each with its gate, and
// their one consumer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <rota/detail/base.hpp>
#include <rota/detail/send_status.hpp>
#include <rota/gate/signal_gate.hpp>
#include <rota/gate/signal_waker.hpp>
#include <rota/gate/signal_word.hpp>

namespace rota::gate {

/// Every field has a default. The constructor checks them: std::invalid_argument names the field and its
/// range.
struct fan_in_options {
  std::size_t producers = 64;  // at a time, 1 to 4032
  std::size_t segment = 256;   // waiting items of each producer, 1 to 2^24; rounded up to a power of two
  std::uint32_t budget = 64;   // items for each visit, 1 to 65536; then other segments are served
};

/// What the consumer finds.
enum class [[nodiscard]] fan_in_state : std::uint8_t {
  ready,  // there is an item
  empty,  // there is no item now
  ended,  // there is no item, and none will come: closed, or no producer is left
};
[[nodiscard]] constexpr const char* to_string(fan_in_state state) noexcept {
  switch (state) {
    case fan_in_state::ready: return "ready";
    case fan_in_state::empty: return "empty";
    case fan_in_state::ended: return "ended";
  }
  return "unknown";
}

namespace detail {

// PROTOCOL: segment, a ring of one producer under the fan-in's consumer
//
//   tail   63 left   62 last look   61..0 position
//          written by the producer (stores), and by the consumer's last looks (fetch_or)
//   head   63 waiting               61..0 position
//          written by the consumer (exchange), and by the producer and a closer (waiting)
//
//   slot i    belongs to the producer while i is in [tail, head + capacity), and to the consumer while i is
//             in [head, tail)
//
//   push      write the slots; tail: store(release); schedule() the gate, always; check `closing`
//   round     begin; tail: load; take items out, and from time to time head: exchange; seen empty: finish.
//             Budget used up: finish_and_schedule
//   wait      The producer: head: fetch_or(waiting). If there is space after all, or it is closed, go on;
//             otherwise sleep while the upper half is unchanged. The thread that changes the head clears
//             `waiting` and wakes the producer: it is the consumer, or a closer. The producer and that thread
//             change one word, so one of the two changes comes second, and sees the other.
//   leave     tail: store(position + 1, left); there is no item at that position; schedule(). The segment is
//             given back by the round that has taken everything: head = that position. So a tail that says
//             `left` at the head's position means a free segment. Each leave is seen once, even by a consumer
//             that has slept through leave, reuse and the next leave.
//   reuse     under the lock, in which it was given back: tail: store(head's position). A late schedule of
//             the former producer finds this segment's gate, and costs the consumer one empty visit.
//   close     closed := 1 (lock); each head: fetch_and(~waiting), wake; each gate: schedule(); mark the
//             waker, because there may be no gate.
//   last look of the consumer, in a round that has seen `closed`:
//               (1) tail: fetch_or(last look)
//               (2) closing := 1; schedule() its own gate
//               (3) tail: fetch_or(last look)
//             What (3) finds is sent, and nothing else; the gate stays EXECUTING for ever.
//
// Why a push that runs beside a close returns the right status: if it returns `sent`, the items are taken; if
// it returns `closed`, they are not. A push checks `closing` after its schedule.
//   - `closing` is not set: that schedule came before (2), so (3) sees the tail.
//   - `closing` is set: (1) is over, and a CAS of the tail back to its old value decides. It fails if a last
//     look has seen these items: they are sent. It succeeds if they came after (1), and no last look has seen
//     them or will see them: the push takes its items back.
// Between (1) and (3) the consumer does not read the tail. That is why there are two last looks.
//
// Access: the first line of the segment belongs to its producer (`next`, `limit`), the second to the
// consumer. The thread that opens a segment becomes its producer. By the lock it acquires what the former
// producer and the consumer did. Memory: a reference count of the fan-in and its producers.
//
// Fork: a fan-in has no threads, so a child may use its copy, with threads of its own. The consumer notes its
// process (`consumed_in_`) when it searches for the next segment. A producer that would sleep, and finds that
// the consumer was last in another process, is refused. A call in which another thread was at the fork (the
// lock, a schedule, a round) never ends in the child. The destructor would have to wait for that, so it does
// nothing there.
//
// Invariants (tests/model/fan_in_model.cpp): F1 what was sent is taken, once, in order. F2 what was refused
// was not taken. F3 a producer that waits for space gets it, or sees the close. F4 a segment that its
// producer has left can be opened again. F5 the end comes, and nothing after it.
//
// Orders: the side that gives slots away releases (tail: items; head: space), and the side that takes them
// acquires. `closing` is ordered by the gate's flags, all changes of which are read-modify-writes. `waiting`
// and `closed` are each changed and checked in one word.
class fan_in_segment {
 public:
  fan_in_segment(unsigned bit, signal_word& word, signal_waker& waker) noexcept : gate_(bit, word, waker) {}
  fan_in_segment(const fan_in_segment&) = delete;
  fan_in_segment& operator=(const fan_in_segment&) = delete;
  ~fan_in_segment() = default;

  /// The position of the producer's next push, and that of the consumer's next item.
  [[nodiscard]] std::uint64_t next() const noexcept { return next_.get(); }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_.get(); }

 private:
  friend class fan_in_core;

  static constexpr std::uint64_t left = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t last_look = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t waiting = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t positions = last_look - 1;

  // The producer's.
  alignas(64) base::atomic<std::uint64_t> tail_{0};
  base::cell<std::uint64_t> next_{0};   // the producer's copy of the tail
  base::cell<std::uint64_t> limit_{0};  // up to here there is space for certain
  signal_gate gate_;
  base::atomic<std::uint32_t> closing_{0};

  // The consumer's.
  alignas(64) base::atomic<std::uint64_t> head_{0};
  base::cell<std::uint64_t> taken_{0};   // the consumer's copy of the head
  base::cell<std::uint64_t> given_{0};   // the value of head_
  base::cell<std::uint64_t> end_{0};     // up to here there are items for certain
  base::cell<std::uint64_t> seen_{0};    // the tail as last read
  fan_in_segment* next_free_ = nullptr;  // under the lock
};
static_assert(ROTA_MODEL != 0 || sizeof(fan_in_segment) == 128);

/// The memory layout of a segment, with its items behind it.
struct fan_in_layout {
  std::size_t bytes_of_item;
  std::size_t alignment;
  std::size_t first_item;
};

/// Threads, ownership, failure: as gate::fan_in says.
class ROTA_API fan_in_core {
 public:
  static constexpr std::chrono::steady_clock::time_point at_once =
      std::chrono::steady_clock::time_point::min();

  /// Starts with one reference: the caller's. Throws std::invalid_argument, std::bad_alloc.
  fan_in_core(const fan_in_options& options, const fan_in_layout& layout);
  fan_in_core(const fan_in_core&) = delete;
  fan_in_core& operator=(const fan_in_core&) = delete;

  // --- any thread with a reference

  void add_reference() noexcept {
    // relaxed: the caller holds a reference.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept;
  /// Returns false in a forked child of the process that made it.
  [[nodiscard]] bool is_own_process() const noexcept;
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire: pairs with close(): segments that were opened before are seen completely.
    return closed_.load(base::order::acquire) != 0;
  }
  /// Opens a segment for a new producer; null if the fan-in is closed. Throws std::length_error if all
  /// segments are in use, std::bad_alloc.
  [[nodiscard]] fan_in_segment* open_segment();

  // --- the segment's producer

  [[nodiscard]] std::size_t index_of(std::uint64_t position) const noexcept { return position & mask_; }
  /// Returns for how many items there is space, at most `wanted`.
  [[nodiscard]] std::size_t room_for(fan_in_segment& s, std::size_t wanted) const noexcept {
    const std::uint64_t next = s.next_.get();
    std::uint64_t room = s.limit_.get() - next;
    if (room < wanted) {
      // acquire: pairs with make_room(): the items of these slots have been taken out.
      s.limit_.set((s.head_.load(base::order::acquire) & fan_in_segment::positions) + mask_ + 1);
      room = s.limit_.get() - next;
    }
    return room < wanted ? room : wanted;
  }
  /// Publishes items that were written from next() on. Returns false if the fan-in is closed and the items
  /// are not in; then the caller owns them again.
  [[nodiscard]] bool push(fan_in_segment& s, std::size_t count) noexcept {
    const std::uint64_t end = s.next_.get() + count;
    // release: pairs with look(): a consumer that sees the tail sees the items.
    s.tail_.store(end, base::order::release);
    s.gate_.schedule();
    // acquire: pairs with look_for_the_last_time(): if this is set, its first step is over. If not, see the
    // protocol.
    if (s.closing_.load(base::order::acquire) != 0 && was_taken_back(s, count)) [[unlikely]]
      return false;
    s.next_.set(end);
    return true;
  }
  /// Sleeps while there is no space, unless it is closed. Returns `sent` when the caller should try again;
  /// `full` in a task or a handler, where it must not sleep; `forked` if the consumer is in a parent of this
  /// process.
  send_status wait_for_room(fan_in_segment& s) noexcept;
  /// The producer's last access to the segment.
  void leave(fan_in_segment& s) noexcept;

  // --- the consumer

  /// Returns the segment that is to be served next, with an item; null at the deadline, or if there will be
  /// no item any more.
  [[nodiscard]] fan_in_segment* find(std::chrono::steady_clock::time_point deadline) noexcept {
    fan_in_segment* const s = current_.get();
    if (s != nullptr && left_.get() != 0 && s->taken_.get() != s->end_.get()) return s;
    return search(deadline);
  }
  /// Counts an item of the found segment as taken out.
  void note_taken(fan_in_segment& s) noexcept {
    s.taken_.set(s.taken_.get() + 1);
    left_.set(left_.get() - 1);
    if (s.taken_.get() - s.given_.get() >= chunk_) make_room(s);
  }
  /// Gives the slots of the items that were taken out to the producer.
  void make_room() noexcept {
    fan_in_segment* const s = current_.get();
    if (s != nullptr && s->taken_.get() != s->given_.get()) make_room(*s);
  }
  [[nodiscard]] bool has_ended() const noexcept;
  /// After a find() that returned null: returns true if the fan-in had ended.
  [[nodiscard]] bool found_end() const noexcept { return found_end_.get(); }

 private:
  struct parts;  // used only in src/gate

  ~fan_in_core();
  [[nodiscard]] static std::uint64_t checked(const fan_in_options& options);

  [[nodiscard]] bool was_taken_back(fan_in_segment& s, std::size_t count) noexcept;
  void make_room(fan_in_segment& s) noexcept;
  static void wake(fan_in_segment& s) noexcept;
  void note_consumer() noexcept;
  [[nodiscard]] bool has_consumer_elsewhere() const noexcept;

  [[nodiscard]] void* allocate_segment() const;
  void free_segment(void* memory) const noexcept;
  [[nodiscard]] fan_in_segment* try_open(void*& spare) noexcept;

  [[nodiscard]] fan_in_segment* search(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool begin_next(std::chrono::steady_clock::time_point deadline) noexcept;
  [[nodiscard]] bool goes_on(fan_in_segment& s) noexcept;
  [[nodiscard]] bool end_round(fan_in_segment& s) noexcept;
  void look(fan_in_segment& s) noexcept;
  void look_for_the_last_time(fan_in_segment& s) noexcept;
  void give_back(fan_in_segment& s, bool to_others) noexcept;

  // Three groups of cache lines: what is mostly read; the consumer's; the waker, which has lines of its own.
  const std::uint64_t mask_;
  const std::uint32_t chunk_;  // items between two calls of make_room()
  const std::uint32_t budget_;
  const fan_in_layout layout_;
  parts* const parts_;
  base::atomic<std::uint32_t> closed_{0};
  // Segments that have a producer, or its items; changed under the lock.
  base::atomic<std::uint32_t> open_{0};
  base::atomic<std::uint32_t> references_{1};
  // The consumer's process; 0: the consumer has not searched yet.
  base::atomic<std::uint64_t> consumed_in_{0};

  alignas(64) base::cell<fan_in_segment*> current_{nullptr};  // the segment of the round that runs
  base::cell<std::uint32_t> left_{0};                         // of its budget
  base::cell<unsigned> word_{0};
  base::cell<std::uint64_t> ready_{0};  // bits taken out of that word, and not served yet
  base::cell<bool> found_end_{false};   // by the last search
  base::cell<bool> had_{false};         // a producer has existed, and left
  base::cell<std::uint64_t> noted_{0};  // the value of consumed_in_

  signal_waker waker_;
};

/// Called for a producer that was moved from.
[[noreturn]] ROTA_API void throw_no_producer();

}  // namespace detail
}  // namespace rota::gate
