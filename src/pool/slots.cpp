#include "pool/slots.hpp"

#include "base/sys/files.hpp"
#include "base/tls_slot.hpp"
#include "base/uninitialized.hpp"

#include <rota/error.hpp>
#include <rota/pool/work.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace rota::pool::detail {

namespace {

struct position {
  unsigned chunk;
  std::uint32_t offset;
};

/// Chunk k holds first << k slots.
constexpr position position_of(std::uint32_t index, std::uint32_t first) noexcept {
  const std::uint32_t scaled = index / first + 1;
  const auto chunk = static_cast<unsigned>(std::bit_width(scaled) - 1);
  return {chunk, index - first * ((1U << chunk) - 1)};
}
static_assert(position_of(63, 64).chunk == 0 && position_of(64, 64).chunk == 1 &&
              position_of(191, 64).chunk == 1 && position_of(192, 64).offset == 0 &&
              position_of(192, 64).chunk == 2);
static_assert(position_of(slots::max_slots - 1, slots::segment_slots).chunk + 1 ==
              slots::index_bits - std::countr_zero(slots::segment_slots));

constexpr std::size_t page = 4096;
static_assert(slots::segment_slots * sizeof(work_core) % page == 0 || ROTA_MODEL,
              "a segment has whole pages");

#if !ROTA_MODEL
std::size_t page_bytes() noexcept {
  static const std::size_t known = base::sys::page_size();
  return known;
}
#endif

/// Gives the pages of a segment back to the system. From now on they read as zeros, or as before.
void give_back_pages(work_core* first, unsigned count) noexcept {
#if ROTA_MODEL
  // The zeros that a reader without a reference can see.
  for (unsigned i = 0; i != count; ++i) {
    // relaxed: like the last state, this state has no references.
    first[i].state.store(0, base::order::relaxed);
    // release: stands for the kernel, which takes a page after everything that was done before the call.
    // Pairs with was_drawn().
    first[i].name.store(0, base::order::release);
  }
#else
  // An error does no harm: the memory stays.
  const std::size_t bytes = count * sizeof(work_core);
  if (!has_whole_pages(reinterpret_cast<std::uintptr_t>(first), bytes, page_bytes())) return;
  const int before = errno;  // this may run in a destructor of the user's code
  static_cast<void>(base::sys::advise_mapped(first, bytes, MADV_DONTNEED));
  errno = before;
#endif
}

}  // namespace

bool has_whole_pages(std::uintptr_t first, std::size_t bytes, std::size_t page_bytes) noexcept {
  return first % page_bytes == 0 && bytes % page_bytes == 0;
}

slots::~slots() {
  // relaxed, all: no other thread is left.
  const std::uint32_t made = made_.load(base::order::relaxed);
  for (std::uint32_t first = 0; first != made; first += segment_slots) {
    if (!segment_at(first).is_present.load(base::order::relaxed)) continue;
    for (std::uint32_t i = first; i != first + segment_slots; ++i) slot_at(i)->~work_core();
  }
  for (unsigned k = 0; k < chunks; ++k) {
    delete[] described_[k];
    // relaxed: no other thread is left.
    work_core* const memory = chunk_[k].load(base::order::relaxed);
    if (memory != nullptr) ::operator delete(memory, std::align_val_t(page));
  }
}

work_core* slots::slot_at(std::uint32_t index) const noexcept {
  const auto [chunk, offset] = position_of(index, segment_slots);
  // acquire: pairs with the release in make_chunk().
  return chunk_[chunk].load(base::order::acquire) + offset;
}

slots::segment& slots::segment_at(std::uint32_t index) const noexcept {
  const auto [chunk, offset] = position_of(index, segment_slots);
  return described_[chunk][offset / segment_slots];
}

/// Returns the shard of this thread. Threads that submit at the same time seldom share one.
slots::shard& slots::mine() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(&base::this_thread_locals());
  return shards_[((here >> 6U) * 0x9E37'79B9'7F4A'7C15U >> 60U) % shard_count];
}

// ---- the common store -------------------------------------------------------------------------------------

void slots::segment_list::add(segment& one) noexcept {
  one.previous = nullptr;
  one.next = first;
  if (first != nullptr) first->previous = &one;
  first = &one;
}

void slots::segment_list::remove(segment& one) noexcept {
  (one.previous == nullptr ? first : one.previous->next) = one.next;
  if (one.next != nullptr) one.next->previous = one.previous;
}

/// Returns a list of up to `batch` slots; null if there is no memory, or no index.
work_core* slots::take_common(std::uint32_t& count) {
  ROTA_UNINITIALIZED batch_slots taken;
  {
    const base::lock_guard guard(lock_);
    count = take_slots(taken);
  }
  // Outside of the lock: as a rule these cache lines come from other processors.
  work_core* list = nullptr;
  for (std::uint32_t i = count; i != 0; --i) {
    taken[i - 1]->link = list;
    list = taken[i - 1];
  }
  return list;
}

/// Takes up to a batch of slots out of the store. Under lock_. Takes fewer only if it would have to open
/// another segment.
std::uint32_t slots::take_slots(batch_slots& into) {
  std::uint32_t count = 0;
  segment* from = open_.first != nullptr ? open_.first : open_segment();
  while (from != nullptr && count != batch) {
    if (from->free == all_free) --wholly_free_;
    for (; from->free != 0 && count != batch; from->free &= from->free - 1)
      into[count++] = from->first_slot + std::countr_zero(from->free);
    if (from->free == 0) open_.remove(*from);
    from = open_.first;
  }
  free_count_ -= count;
  return count;
}

/// Under lock_. Returns null if there is no memory, or no index.
slots::segment* slots::open_segment() {
  segment* const one = absent_.first;
  if (one == nullptr) return make_segment();
  absent_.remove(*one);
  // relaxed: written by the last owner of the segment, before it took this lock.
  const std::uint64_t base = one->base.load(base::order::relaxed);
  work_core* const first = one->first_slot;
  for (std::uint32_t i = 0; i != segment_slots; ++i) {
    first[i].pool = pool_;
    first[i].index = one->index + i;
    // relaxed: it only grows, except for the zeros in between: see S4.
    first[i].name.store(base << index_bits, base::order::relaxed);
  }
  add_present(*one);
  return one;
}

/// Makes a new segment. Under lock_.
slots::segment* slots::make_segment() {
  // relaxed: written under this lock.
  const std::uint32_t made = made_.load(base::order::relaxed);
  if (made + segment_slots > limit_) return nullptr;
  const auto [chunk, offset] = position_of(made, segment_slots);
  if (offset == 0 && !make_chunk(chunk)) return nullptr;
  work_core* const first = slot_at(made);
  for (std::uint32_t i = 0; i != segment_slots; ++i)
    ::new (static_cast<void*>(first + i)) work_core(*pool_, made + i);
  segment& one = segment_at(made);
  one.index = made;
  one.first_slot = first;
  one.free = all_free;
  free_count_ += segment_slots;
  add_present(one);
  // release: pairs with the acquire loads in for_each() and was_drawn().
  made_.store(made + segment_slots, base::order::release);
  return &one;
}

/// Returns false if there is no memory.
bool slots::make_chunk(unsigned k) {
  const std::size_t segments = std::size_t{1} << k;
  std::unique_ptr<segment[]> described(new (std::nothrow) segment[segments]);
  if (described == nullptr) return false;
  auto* const memory = static_cast<work_core*>(
      ::operator new(segments * segment_slots * sizeof(work_core), std::align_val_t(page), std::nothrow));
  if (memory == nullptr) return false;
  described_[k] = described.release();
  // release: pairs with the acquire in slot_at().
  chunk_[k].store(memory, base::order::release);
  return true;
}

/// Under lock_.
void slots::add_present(segment& one) noexcept {
  ++present_;
  ++wholly_free_;
  open_.add(one);
  // relaxed: see for_each().
  one.is_present.store(true, base::order::relaxed);
}

/// Takes the newest slots, which are still in the cache of this thread.
slots::batch_indices slots::cut_batch(stock& from) noexcept {
  ROTA_UNINITIALIZED batch_indices cut;
  for (std::uint32_t& each : cut) {
    each = from.first->index;
    from.first = from.first->link;
  }
  from.count -= batch;
  return cut;
}

std::uint32_t slots::give_common(const batch_indices& given) noexcept {
  segment* leaving = nullptr;
  bool was_closed;
  {
    const base::lock_guard guard(lock_);
    // relaxed: written under this lock, too.
    was_closed = closed_.load(base::order::relaxed);
    free_count_ += batch;
    leaving = mark_all_free(given);
  }
  std::uint32_t due = was_closed ? batch : 0;
  while (leaving != nullptr) {
    segment& one = *std::exchange(leaving, leaving->next);
    discard(one);
    const base::lock_guard guard(lock_);
    mark_absent(one);
    // relaxed: written under this lock, too.
    if (!was_closed && closed_.load(base::order::relaxed)) due += segment_slots;
  }
  return due;
}

/// Under lock_. Returns a list of the segments that leave. Slots that were drawn together mostly lie in one
/// segment: a segment is looked up once for all consecutive slots in it.
slots::segment* slots::mark_all_free(const batch_indices& given) noexcept {
  segment* leaving = nullptr;
  for (std::size_t i = 0; i != given.size();) {
    segment& one = segment_at(given[i]);
    std::uint64_t bits = 0;
    for (; i != given.size() && given[i] - one.index < segment_slots; ++i)
      bits |= std::uint64_t{1} << (given[i] - one.index);
    segment* const surplus = mark_free(one, bits);
    if (surplus != nullptr) surplus->next = std::exchange(leaving, surplus);
  }
  return leaving;
}

/// Under lock_. `bits`: the slots of the segment that become free. Returns it if it leaves.
slots::segment* slots::mark_free(segment& one, std::uint64_t bits) noexcept {
  if (one.free == 0) open_.add(one);
  one.free |= bits;
  if (one.free != all_free) return nullptr;
  // relaxed: written under this lock, too. A pool that has ended gives back everything soon.
  if (wholly_free_ < kept_segments || closed_.load(base::order::relaxed)) {
    ++wholly_free_;
    return nullptr;
  }
  open_.remove(one);
  one.free = 0;
  free_count_ -= segment_slots;
  --present_;
  // relaxed: no work is in it, so for_each() has nothing to find.
  one.is_present.store(false, base::order::relaxed);
  return &one;
}

/// Frees the timers and the pages of a leaving segment. No other thread uses it.
void slots::discard(segment& leaving) noexcept {
  work_core* const first = leaving.first_slot;
  std::uint64_t newest = 0;
  for (std::uint32_t i = 0; i != segment_slots; ++i) {
    // relaxed: the last owner's store came before, by lock_.
    newest = std::max(newest, first[i].name.load(base::order::relaxed) >> index_bits);
    first[i].free_timer();
  }
  // relaxed: the system call that follows orders it before the zeros.
  leaving.base.store(newest, base::order::relaxed);
  give_back_pages(first, segment_slots);
}

/// Under lock_.
void slots::mark_absent(segment& left) noexcept {
  left.free = all_free;
  free_count_ += segment_slots;
  absent_.add(left);
}

// ---- stocks -----------------------------------------------------------------------------------------------

/// Throws errc::too_many_works, std::bad_alloc.
void slots::refill(stock& empty) {
  empty.first = take_common(empty.count);
  if (empty.first == nullptr) refuse();
}

/// Throws because there is no index for one more slot, or no memory.
void slots::refuse() {
  static_assert(max_slots == 16'777'152, "the text below names it");
  bool is_limit;
  {
    const base::lock_guard guard(lock_);
    // relaxed: written under this lock.
    is_limit = made_.load(base::order::relaxed) + segment_slots > limit_;
  }
  if (is_limit) throw error(errc::too_many_works, "a thread_pool has at most 16777152 works at once");
  throw std::bad_alloc();
}

void slots::limit_to(std::uint32_t most) noexcept {
  const base::lock_guard guard(lock_);
  limit_ = most;
}

work_core* slots::draw_shared() {
  shard& here = mine();
  const base::lock_guard guard(here.lock);
  if (here.free.first == nullptr) refill(here.free);
  return pop(here.free);
}

bool slots::put_shared(work_core& slot) noexcept {
  shard& here = mine();
  bool was_closed;
  bool has_surplus;
  ROTA_UNINITIALIZED batch_indices surplus;
  {
    const base::lock_guard guard(here.lock);
    push(here.free, slot);
    // relaxed: written under this lock, too.
    was_closed = closed_.load(base::order::relaxed);
    has_surplus = here.free.count > 3 * batch;
    if (has_surplus) surplus = cut_batch(here.free);
  }
  // If a batch was cut after the end of the pool, its slots lay in the shard at close(), and counted as free,
  // or were counted down one by one. So only this slot is due.
  std::uint32_t due = 0;
  if (has_surplus) due = give_common(surplus);
  if (was_closed) due = 1;
  return due != 0 && leave_all(due);
}

void slots::give_surplus(stock& own) noexcept {
  // If the pool has ended, these are never the last slots: this thread was given up, and the slot of the work
  // that it ran is still drawn.
  if (const std::uint32_t due = give_common(cut_batch(own)); due != 0) static_cast<void>(leave_all(due));
}

void slots::bring_back(stock& own) noexcept {
  while (own.first != nullptr) {
    // Never the last slot: the calling thread has come from a work, or its pool has not ended.
    static_cast<void>(put(*pop(own), nullptr));
  }
}

/// Returns true if these were the last.
bool slots::leave_all(std::uint32_t count) noexcept {
  // acq_rel: the last thread frees what the others have used.
  return left_.fetch_sub(count, base::order::acq_rel) == count;
}

bool slots::leave() noexcept { return leave_all(1); }

work_core* slots::find(std::uint64_t id) noexcept {
  if (!was_drawn(id)) return nullptr;
  work_core* const slot = slot_at(static_cast<std::uint32_t>(id & index_mask) - 1);
  if (!slot->try_retain()) return nullptr;
  // relaxed: it does not change while there are references.
  if (slot->name.load(base::order::relaxed) == id) return slot;
  release(*slot);
  return nullptr;
}

bool slots::was_drawn(std::uint64_t id) const noexcept {
  const auto place = static_cast<std::uint32_t>(id & index_mask);
  const std::uint64_t times = id >> index_bits;
  // acquire: pairs with the release in make_segment().
  if (times == 0 || place == 0 || place > made_.load(base::order::acquire)) return false;
  // acquire: pairs with discard(). A reader of the zeros finds the base. Without zeros the name only grows.
  if (slot_at(place - 1)->name.load(base::order::acquire) >> index_bits >= times) return true;
  // relaxed: ordered by the acquire above.
  return segment_at(place - 1).base.load(base::order::relaxed) >= times;
}

std::uint32_t slots::segments_held() noexcept {
  const base::lock_guard guard(lock_);
  return present_;
}

std::uint64_t slots::close(std::uint64_t others) noexcept {
  for (shard& each : shards_) each.lock.lock();
  lock_.lock();
  // relaxed, all: under every lock.
  std::uint64_t free = free_count_;
  for (const shard& each : shards_) free += each.free.count;
  const std::uint64_t drawn = made_.load(base::order::relaxed) - free;
  left_.store(drawn + others, base::order::relaxed);
  closed_.store(true, base::order::relaxed);
  lock_.unlock();
  for (shard& each : shards_) each.lock.unlock();
  return drawn;
}

}  // namespace rota::pool::detail
