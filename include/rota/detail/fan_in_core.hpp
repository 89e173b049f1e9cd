// What a fan-in is apart from the type of its items: its segments, each with its gate, and their one consumer.
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

/// Every field has a default. Checked by the constructor: std::invalid_argument names the field and its range.
struct fan_in_options {
  std::size_t producers = 64;  // at a time, 1 to 4032
  std::size_t segment = 256;   // items of each producer that wait, 1 to 2^24; rounded up to a power of two
  std::uint32_t budget = 64;   // items for each visit, 1 to 65536; then it is the others' turn
};

/// What the consumer finds.
enum class [[nodiscard]] fan_in_state : std::uint8_t {
  ready,  // there is an item
  empty,  // nothing now
  ended,  // nothing, and nothing comes: closed, or no producer is left
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
//   tail   63 left   62 last look   61..0 position      written by the producer (stores), and the consumer's last looks (fetch_or)
//   head   63 waiting               61..0 position      written by the consumer (exchange), the producer and a closer (waiting)
//
//   slot i    the producer's, while i is in [tail, head + capacity); the consumer's, while i is in [head, tail)
//
//   push      write the slots; tail: store(release); schedule() the gate, always; look at `closing`
//   round     begin; tail: load; take items out, and now and then head: exchange; seen empty: finish. Budget gone: finish_and_schedule
//   wait      the producer: head: fetch_or(waiting); room after all, or closed: go on; else sleep while the upper half is that.
//             Whoever changes the head takes `waiting` away, and wakes: the consumer, or a closer. One word, so one comes second.
//   leave     tail: store(position + 1, left), where no item is; schedule(). The segment is given back by the round that has taken
//             everything: head = that position. So a tail that says `left` at the head's position is a free segment, and each leave
//             is seen once, also by a consumer that has slept through leave, reuse and the next leave.
//   reuse     under the lock, in which it was given back: tail: store(head's position). A schedule of the former producer, which may
//             still come, finds its gate, and costs the consumer a look.
//   close     closed := 1 (lock); each head: fetch_and(~waiting), wake; each gate: schedule(); mark the waker, for there may be no gate.
//   last look of the consumer, in a round that has seen `closed`:
//             (1) tail: fetch_or(last look)   (2) closing := 1; schedule() its own gate   (3) tail: fetch_or(last look)
//             What (3) finds is in, and nothing else; the gate stays EXECUTING for ever.
//
// Why what is `sent` beside a close is in, and what is `closed` is not: a push looks at `closing` after its schedule. It is not set:
// that schedule came before (2), so (3) sees the tail. It is set: (1) is over, and a CAS of the tail back to where it was decides. It
// fails if a last look has seen these items: they are sent. It succeeds if they came after (1) and no last look has seen them,
// nor will: the push has its items back. Between (1) and (3) the consumer does not read the tail: that is why there are two.
//
// Who may touch what: the segment's first line its producer (`next`, `limit`), the second the consumer. Whoever opens a segment is its
// producer; it acquires, by the lock, what the former one and the consumer did. Memory: a count of the fan-in and its producers.
//
// Fork: a fan-in has no threads, so a child may use its copy, with threads of its own. The consumer notes its process (`consumed_in_`) when it
// looks for the next segment. A producer that would sleep, and finds that the consumer was last in another process, is refused. What other
// threads were inside of at the fork (the lock, a schedule, a round) never ends in the child. The destructor would have to wait for that,
// and does nothing there.
//
// Invariants (tests/model/fan_in_model.cpp): F1 what was sent is taken, once, in order. F2 what was refused was not taken. F3 who waits
// for room gets it, or hears of the close. F4 a slot whose producer has left is open again. F5 the end comes, and nothing after it.
//
// Orders: release by whoever gives slots away (tail: items; head: room), acquire by whoever takes them. `closing` is ordered by the
// gate's flags, all of whose changes are read-modify-writes. The looks at `waiting` and `closed` are changes of one word each.
class fan_in_segment {
 public:
  fan_in_segment(unsigned bit, signal_word& word, signal_waker& waker) noexcept : gate_(bit, word, waker) {}
  fan_in_segment(const fan_in_segment&) = delete;
  fan_in_segment& operator=(const fan_in_segment&) = delete;
  ~fan_in_segment() = default;

  /// Where the producer's next item goes, and where the consumer's comes from.
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
  base::cell<std::uint64_t> next_{0};   // its own tail
  base::cell<std::uint64_t> limit_{0};  // so far there is room, for certain
  signal_gate gate_;
  base::atomic<std::uint32_t> closing_{0};

  // The consumer's.
  alignas(64) base::atomic<std::uint64_t> head_{0};
  base::cell<std::uint64_t> taken_{0};   // its own head
  base::cell<std::uint64_t> given_{0};   // what head_ says
  base::cell<std::uint64_t> end_{0};     // so far there are items, for certain
  base::cell<std::uint64_t> seen_{0};    // the tail
  fan_in_segment* next_free_ = nullptr;  // under the lock
};
static_assert(ROTA_MODEL != 0 || sizeof(fan_in_segment) == 128);

/// The room that a segment takes, with its items behind it.
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

  /// One reference: the caller's. Throws std::invalid_argument, std::bad_alloc.
  fan_in_core(const fan_in_options& options, const fan_in_layout& layout);
  fan_in_core(const fan_in_core&) = delete;
  fan_in_core& operator=(const fan_in_core&) = delete;

  // --- whoever has a reference

  void add_reference() noexcept {
    // relaxed. The caller has one.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept;
  /// Returns false in a forked child of the process that made it.
  [[nodiscard]] bool is_own_process() const noexcept;
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire. Pairs with close(): segments that were opened before are seen as they are.
    return closed_.load(base::order::acquire) != 0;
  }
  /// A segment for a new producer; null if it is closed. Throws std::length_error if all are taken, std::bad_alloc.
  [[nodiscard]] fan_in_segment* open_segment();

  // --- its producer

  [[nodiscard]] std::size_t index_of(std::uint64_t position) const noexcept { return position & mask_; }
  /// Room for so many, at most as `wanted`.
  [[nodiscard]] std::size_t room_for(fan_in_segment& s, std::size_t wanted) const noexcept {
    const std::uint64_t next = s.next_.get();
    std::uint64_t room = s.limit_.get() - next;
    if (room < wanted) {
      // acquire. Pairs with make_room(): what was in these slots has been taken out.
      s.limit_.set((s.head_.load(base::order::acquire) & fan_in_segment::positions) + mask_ + 1);
      room = s.limit_.get() - next;
    }
    return room < wanted ? room : wanted;
  }
  /// So many items were written from next() on. False: it is closed, and they are not in; the caller has them back.
  [[nodiscard]] bool push(fan_in_segment& s, std::size_t count) noexcept {
    const std::uint64_t end = s.next_.get() + count;
    // release. Pairs with look(): who sees the tail sees the items.
    s.tail_.store(end, base::order::release);
    s.gate_.schedule();
    // acquire. Pairs with look_for_the_last_time(): its first step is over where this is set. Not set: see the protocol.
    if (s.closing_.load(base::order::acquire) != 0 && was_taken_back(s, count)) [[unlikely]]
      return false;
    s.next_.set(end);
    return true;
  }
  /// Sleeps while there is no room, unless it is closed; then `sent`: the caller tries again. `full`: not here, in a task or in a handler.
  /// `forked`: the consumer is in a parent of this process.
  send_status wait_for_room(fan_in_segment& s) noexcept;
  /// The last that it does with it.
  void leave(fan_in_segment& s) noexcept;

  // --- the consumer

  /// The segment whose turn it is, with an item; null if there is none until the deadline, or ever.
  [[nodiscard]] fan_in_segment* find(std::chrono::steady_clock::time_point deadline) noexcept {
    fan_in_segment* const s = current_.get();
    if (s != nullptr && left_.get() != 0 && s->taken_.get() != s->end_.get()) return s;
    return search(deadline);
  }
  /// It was found, and its item has been taken out.
  void note_taken(fan_in_segment& s) noexcept {
    s.taken_.set(s.taken_.get() + 1);
    left_.set(left_.get() - 1);
    if (s.taken_.get() - s.given_.get() >= chunk_) make_room(s);
  }
  /// Lets the producer have what was taken.
  void make_room() noexcept {
    fan_in_segment* const s = current_.get();
    if (s != nullptr && s->taken_.get() != s->given_.get()) make_room(*s);
  }
  [[nodiscard]] bool has_ended() const noexcept;
  /// After a find() that found nothing: because it had ended?
  [[nodiscard]] bool found_end() const noexcept { return found_end_.get(); }

 private:
  struct parts;  // what only src/gate needs to know

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

  // Three parts: what is only read, most of the time; the consumer's; the waker, which has lines of its own.
  const std::uint64_t mask_;
  const std::uint32_t chunk_;  // items between two make_room()
  const std::uint32_t budget_;
  const fan_in_layout layout_;
  parts* const parts_;
  base::atomic<std::uint32_t> closed_{0};
  base::atomic<std::uint32_t> open_{
      0};  // segments that have a producer, or its items; changed under the lock
  base::atomic<std::uint32_t> references_{1};
  base::atomic<std::uint64_t> consumed_in_{
      0};  // the consumer's process; 0: it has not looked for anything yet

  alignas(64) base::cell<fan_in_segment*> current_{nullptr};  // its round runs
  base::cell<std::uint32_t> left_{0};                         // of its budget
  base::cell<unsigned> word_{0};
  base::cell<std::uint64_t> ready_{0};  // bits that were taken out of that word, and have not had their turn
  base::cell<bool> found_end_{false};   // by the last look for something
  base::cell<bool> had_{false};         // a producer has been here, and left
  base::cell<std::uint64_t> noted_{0};  // what consumed_in_ says

  signal_waker waker_;
};

/// What a call on a producer that was moved from gets.
[[noreturn]] ROTA_API void throw_no_producer();

}  // namespace detail
}  // namespace rota::gate
