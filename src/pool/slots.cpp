#include "pool/slots.hpp"

#include "base/tls_slot.hpp"

#include <rota/error.hpp>
#include <rota/pool/work.hpp>

#include <bit>
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

}  // namespace

slots::~slots() {
  for (unsigned k = 0; k < chunks; ++k) {
    // relaxed. Nobody else is left.
    work_core* const first = chunk_[k].load(base::order::relaxed);
    if (first == nullptr) continue;
    for (std::uint32_t i = 0; i < chunk_size_[k]; ++i) first[i].~work_core();
    ::operator delete(first, std::align_val_t(alignof(work_core)));
  }
}

work_core* slots::slot_at(std::uint32_t index) const noexcept {
  const auto [chunk, offset] = position_of(index, first_chunk);
  // acquire. Pairs with take_common().
  return chunk_[chunk].load(base::order::acquire) + offset;
}

/// Threads that submit at once seldom share one.
slots::shard& slots::mine() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(&base::this_thread_locals());
  return shards_[((here >> 6U) * 0x9E37'79B9'7F4A'7C15U >> 60U) % shard_count];
}

/// A list of up to `batch` slots; null: there is no memory, or no index.
work_core* slots::take_common(std::uint32_t& count) {
  const base::lock_guard guard(lock_);
  if (free_ != nullptr) {
    work_core* const first = free_;
    free_ = static_cast<work_core*>(std::exchange(first->body, nullptr));
    free_count_ -= batch;
    count = batch;
    return first;
  }
  work_core* taken = nullptr;
  count = 0;
  // relaxed. Written under this lock.
  std::uint32_t made = made_.load(base::order::relaxed);
  for (; count != batch && made < limit_; ++count, ++made) {
    const auto [chunk, offset] = position_of(made, first_chunk);
    // relaxed. Written under this lock.
    work_core* first = chunk_[chunk].load(base::order::relaxed);
    if (first == nullptr) {
      const std::size_t size = std::size_t{first_chunk} << chunk;
      first = static_cast<work_core*>(
          ::operator new(size * sizeof(work_core), std::align_val_t(alignof(work_core)), std::nothrow));
      if (first == nullptr) break;
      // release. Pairs with slot_at().
      chunk_[chunk].store(first, base::order::release);
    }
    work_core* const next = ::new (static_cast<void*>(first + offset)) work_core(*pool_, made);
    chunk_size_[chunk] = offset + 1;
    next->link = taken;
    taken = next;
  }
  // release. Pairs with for_each() and find().
  made_.store(made, base::order::release);
  return taken;
}

/// Throws errc::too_many_works, std::bad_alloc.
void slots::refill(stock& empty) {
  empty.first = take_common(empty.count);
  if (empty.first == nullptr) refuse();
}

/// Throws: there is no index for one more slot, or no memory.
void slots::refuse() {
  static_assert(max_slots == 16'777'152, "the text below names it");
  bool is_limit;
  {
    const base::lock_guard guard(lock_);
    // relaxed. Written under this lock.
    is_limit = made_.load(base::order::relaxed) >= limit_;
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
  bool closed;
  {
    const base::lock_guard guard(here.lock);
    push(here.free, slot);
    // relaxed. Written under this lock, too.
    closed = closed_.load(base::order::relaxed);
    if (here.free.count > 3 * batch) static_cast<void>(give_common(here.free));
  }
  return closed && leave();
}

void slots::give_surplus(stock& own) noexcept {
  if (!give_common(own)) return;
  // This thread was given up, and what it had counted as drawn. It still is: the slot of what it ran.
  for (unsigned i = 0; i != batch; ++i) static_cast<void>(leave());
}

void slots::bring_back(stock& own) noexcept {
  while (own.first != nullptr) {
    // Never the last: the calling thread has come from a work, or its pool has not ended.
    static_cast<void>(put(*pop(own), nullptr));
  }
}

/// A shard's under its lock, so that close() finds each slot in one place.
bool slots::give_common(stock& from) noexcept {
  work_core* const first = from.first;
  work_core* last = first;
  for (unsigned i = 1; i != batch; ++i) last = last->link;
  from.first = std::exchange(last->link, nullptr);
  from.count -= batch;
  const base::lock_guard guard(lock_);
  first->body = free_;
  free_ = first;
  free_count_ += batch;
  // relaxed. Written under this lock, too.
  return closed_.load(base::order::relaxed);
}

bool slots::leave() noexcept {
  // acq_rel. Whoever is last frees what the others have used.
  return left_.fetch_sub(1, base::order::acq_rel) == 1;
}

work_core* slots::find(std::uint64_t id) noexcept {
  if (!was_drawn(id)) return nullptr;
  work_core* const slot = slot_at(static_cast<std::uint32_t>(id & index_mask) - 1);
  if (!slot->try_retain()) return nullptr;
  // relaxed. It does not change while there are references.
  if (slot->name.load(base::order::relaxed) == id) return slot;
  release(*slot);
  return nullptr;
}

bool slots::was_drawn(std::uint64_t id) const noexcept {
  const auto place = static_cast<std::uint32_t>(id & index_mask);
  // acquire. Pairs with take_common().
  if (id >> index_bits == 0 || place == 0 || place > made_.load(base::order::acquire)) return false;
  // relaxed. It only grows.
  return slot_at(place - 1)->name.load(base::order::relaxed) >= id;
}

std::uint64_t slots::close(std::uint64_t others) noexcept {
  for (shard& each : shards_) each.lock.lock();
  lock_.lock();
  // relaxed, all. Under every lock.
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
