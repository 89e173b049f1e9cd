// The memory of works: slots that are reused. An id leads to its slot as long as the pool lives.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/mutex.hpp"
#include "pool/work.hpp"

#include <rota/pool/work.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace rota::pool::detail {

/// Drops a reference to a work at the end of its scope.
class reference {
 public:
  explicit reference(work_core& w) noexcept : work_(&w) {}
  reference(const reference&) = delete;
  reference& operator=(const reference&) = delete;
  ~reference() { release(*work_); }

 private:
  work_core* work_;
};

/// Returns true if the bytes are whole pages, so that madvise() would take nothing else. madvise() refuses a
/// start in the middle of a page, and rounds the end up.
[[nodiscard]] bool has_whole_pages(std::uintptr_t first, std::size_t bytes, std::size_t page_bytes) noexcept;

// PROTOCOL: slots
//   A slot is the memory of one work. An id is the slot's index and its generation: how often the slot was
//   drawn. The thread that draws a slot writes the id first and then the references (release). find() takes a
//   reference if there are any, and compares the id afterwards. So an old id leads to the right slot, and is
//   found to be old.
//
//   Free slots lie in stocks. Each thread of the pool has one, without a lock. All other threads use 16
//   shards, each under its lock. A stock takes a batch from the common store, and returns one to it. The
//   store is the bit words of the segments, under lock_.
//
//   A segment is 64 slots with one descriptor.
//
//   state     its slots                                    next state, by                          under
//   absent    all free; their pages may be the kernel's    present: open_segment()                 lock_
//   present   in use, in stocks, or free in the store      leaving: mark_free(), if all are free   lock_
//   leaving   all counted as drawn by one thread           absent: mark_absent()                   lock_
//
//   S1  The address range of a segment stays mapped until the pool's memory is freed. So a reader without a
//       reference may read `state` and `name` of any slot at any time: find(), for_each(), a thread that
//       reads the job of a seat.
//   S2  A page that the kernel has taken back reads as zeros, if `operator new` took it from an anonymous
//       private mapping, as the standard one does. A segment with a part of a larger page, which it shares
//       with another segment, keeps its memory: see has_whole_pages(). A `state` of zeros has no references,
//       like the `state` of any free slot. A compare-exchange of try_retain() that expects references fails
//       on it.
//   S3  A segment leaves only if no slot is in use and none is in a stock. So no thread holds a reference
//       into it.
//   S4  Generations continue. Before the pages go, the largest generation of the 64 slots is kept in the
//       descriptor (`base`). Each slot continues from there when the segment is opened again. So no id is
//       given out twice. was_drawn() reads `name` (acquire), then `base`: a reader that reads the zeros finds
//       `base`. For an id that was never given out, was_drawn() may return true if its generation is not
//       above `base`.
//   S5  Pages may not have been zeroed (madvise() failed, or a model). Then a slot in them is as its last
//       user left it: a free slot. So nothing but `name` relies on the zeros or on their absence.
//
//   Hysteresis: `kept_segments` segments that are wholly free stay present. Beyond that, a segment leaves
//   when its last slot becomes free. Its pages are given back outside of the lock, since that is a system
//   call.
//
//   When the pool has ended, close() counts the slots that are drawn, under all locks. Each slot that comes
//   back afterwards is counted down. The thread that counts the last one frees the pool. The following slots
//   count as drawn: those in the stock of a thread of the pool, those of a batch on its way from a shard to
//   the store, and those of a segment that leaves. The thread that moves them counts them down.
class slots {
 public:
  static constexpr unsigned index_bits = 24;
  static constexpr std::uint32_t index_mask = (1U << index_bits) - 1;
#if ROTA_MODEL
  static constexpr unsigned segment_slots = 2;  // a model fills and empties several
  static constexpr unsigned kept_segments = 0;
#else
  static constexpr unsigned segment_slots = 64;
  static constexpr unsigned kept_segments = 256;
#endif
  static constexpr std::uint32_t max_slots = (1U << index_bits) - 64;

  explicit slots(pool_core& pool) noexcept : pool_(&pool) {}
  slots(const slots&) = delete;
  slots& operator=(const slots&) = delete;
  ~slots();

  /// The free slots of one thread.
  struct stock {
    work_core* first = nullptr;
    std::uint32_t count = 0;
  };

  /// Draws a slot, gives it an id, and writes `references` into its word. With 0 references no other thread
  /// finds it until the word is written again. `own`: the stock of this thread, if it has one. Throws
  /// errc::too_many_works if all slots are in use, except free ones that other threads keep; std::bad_alloc.
  [[nodiscard]] work_core& draw(std::uint64_t references, stock* own) {
    work_core* drawn;
    if (own != nullptr) {
      if (own->first == nullptr) refill(*own);
      drawn = pop(*own);
    } else {
      drawn = draw_shared();
    }
    // relaxed: the last owner's release came before, by the lock, or by this thread itself. For readers
    // without a reference see the next store.
    const std::uint64_t times = (drawn->name.load(base::order::relaxed) >> index_bits) + 1;
    const std::uint64_t id = (times << index_bits) | (drawn->index + 1);
    drawn->name.store(id, base::order::relaxed);
    drawn->id = id;
    // release: pairs with try_retain(). A thread that finds references finds the id.
    drawn->state.store(references, base::order::release);
    return *drawn;
  }
  /// Takes a slot that has no reference left. Returns true if the pool has ended and this was the last slot.
  [[nodiscard]] bool put(work_core& slot, stock* own) noexcept {
    if (own == nullptr) return put_shared(slot);
    push(*own, slot);
    if (own->count > 3 * batch) [[unlikely]]
      give_surplus(*own);
    return false;
  }
  /// Returns all slots of a stock. The thread has no stock afterwards.
  void bring_back(stock& own) noexcept;
  /// Finds a work by its id, with a reference for the caller. Returns null if it is over and no reference is
  /// left, or if there never was one.
  [[nodiscard]] work_core* find(std::uint64_t id) noexcept;
  /// Returns true if this id was given out. For other ids see S4.
  [[nodiscard]] bool was_drawn(std::uint64_t id) const noexcept;
  /// Calls `f` for each slot that is in use, with a reference for the time of the call.
  template <class F>
  void for_each(F&& f);
  /// Closes the pool's memory, and returns how many slots are drawn. From now on put() tells when none is
  /// left. `others`: further owners, each of which calls leave().
  [[nodiscard]] std::uint64_t close(std::uint64_t others) noexcept;
  /// Counts one of the others down. Returns true if it was the last.
  [[nodiscard]] bool leave() noexcept;
  /// Lowers the number of slots that may be made. For tests: the real limit takes 6 GB.
  void limit_to(std::uint32_t most) noexcept;
  /// Returns how many segments are present. For tests.
  [[nodiscard]] std::uint32_t segments_held() noexcept;

 private:
  static constexpr unsigned shard_count = 16;
#if ROTA_MODEL
  static constexpr unsigned batch = 2;  // the model checker explores each of them
#else
  static constexpr unsigned batch = 32;
#endif
  static constexpr unsigned chunks =
      index_bits - std::countr_zero(segment_slots);  // chunk k has 2^k segments

  struct alignas(base::cache_line) shard {
    base::mutex lock;
    stock free;
  };

  /// Under lock_, except the atomics.
  struct segment {
    std::uint64_t free = 0;               // bit i: slot i is in the store
    base::atomic<std::uint64_t> base{0};  // see S4
    base::atomic<bool> is_present{false};
    std::uint32_t index = 0;
    work_core* first_slot = nullptr;
    segment* next = nullptr;  // in a list
    segment* previous = nullptr;
  };
  static constexpr std::uint64_t all_free = ~std::uint64_t{0} >> (64 - segment_slots);
  /// A list of the segments that are present and have a free slot, or of those that are absent.
  struct segment_list {
    segment* first = nullptr;
    void add(segment& one) noexcept;
    void remove(segment& one) noexcept;
  };
  using batch_indices = std::array<std::uint32_t, batch>;
  using batch_slots = std::array<work_core*, batch>;

  [[nodiscard]] work_core* slot_at(std::uint32_t index) const noexcept;
  [[nodiscard]] segment& segment_at(std::uint32_t index) const noexcept;
  [[nodiscard]] work_core* take_common(std::uint32_t& count);
  [[nodiscard]] std::uint32_t take_slots(batch_slots& into);
  [[nodiscard]] segment* open_segment();
  [[nodiscard]] segment* make_segment();
  [[nodiscard]] bool make_chunk(unsigned k);
  void add_present(segment& one) noexcept;
  [[nodiscard]] static batch_indices cut_batch(stock& from) noexcept;
  /// Returns a batch to the store. Returns how many slots the caller must count down because the pool has
  /// ended meanwhile.
  [[nodiscard]] std::uint32_t give_common(const batch_indices& given) noexcept;
  [[nodiscard]] segment* mark_all_free(const batch_indices& given) noexcept;
  [[nodiscard]] segment* mark_free(segment& one, std::uint64_t bits) noexcept;
  void discard(segment& leaving) noexcept;
  void mark_absent(segment& left) noexcept;
  static void push(stock& to, work_core& slot) noexcept {
    slot.link = to.first;
    to.first = &slot;
    ++to.count;
  }
  static void prefetch(const work_core& slot) noexcept {
    const auto* const lines = reinterpret_cast<const std::byte*>(&slot);
    for (std::size_t i = 0; i < 3 * base::cache_line; i += base::cache_line) __builtin_prefetch(lines + i, 1);
  }
  [[nodiscard]] static work_core* pop(stock& from) noexcept {
    work_core* const first = from.first;
    from.first = first->link;
    --from.count;
    // As a rule another thread has used that slot last. The prefetch hides the transfer of its cache lines
    // from the next draw.
    if (from.first != nullptr) prefetch(*from.first);
    return first;
  }
  void refill(stock& empty);
  [[noreturn]] void refuse();
  [[nodiscard]] work_core* draw_shared();
  [[nodiscard]] bool put_shared(work_core& slot) noexcept;
  void give_surplus(stock& own) noexcept;
  [[nodiscard]] bool leave_all(std::uint32_t count) noexcept;
  [[nodiscard]] shard& mine() noexcept;

  pool_core* const pool_;
  std::array<shard, shard_count> shards_;
  alignas(base::cache_line) base::mutex lock_;  // protects the fields below
  segment_list open_;                           // present, with a free slot
  segment_list absent_;
  std::uint32_t present_ = 0;      // segments
  std::uint32_t wholly_free_ = 0;  // of these, the wholly free ones
  std::uint64_t free_count_ = 0;   // slots in the store, with those of absent segments
  std::uint32_t limit_ = max_slots;
  base::atomic<std::uint32_t> made_{0};  // written under lock_
  std::array<base::atomic<work_core*>, chunks> chunk_{};
  std::array<segment*, chunks> described_{};  // written before made_ counts the first slot of that chunk
  base::atomic<bool> closed_{false};          // written under all locks
  base::atomic<std::uint64_t> left_{0};
};

template <class F>
void slots::for_each(F&& f) {
  // acquire: pairs with the release in make_segment(). The slots below are made.
  const std::uint32_t made = made_.load(base::order::acquire);
  for (std::uint32_t first = 0; first < made; first += segment_slots) {
    // relaxed: a guess, like the first load of try_retain(). A caller that was told of a work sees that its
    // segment is present.
    if (!segment_at(first).is_present.load(base::order::relaxed)) continue;
    for (std::uint32_t i = first; i < first + segment_slots; ++i) {
      work_core* const each = slot_at(i);
      if (!each->try_retain()) continue;
      const reference kept(*each);
      f(*each);
    }
  }
}

}  // namespace rota::pool::detail
