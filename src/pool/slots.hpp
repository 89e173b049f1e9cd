// The memory of works: slots that are used again, and that an id leads to for as long as the pool lives.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/mutex.hpp"
#include "pool/work.hpp"

#include <rota/pool/work.hpp>

#include <array>
#include <cstdint>

namespace rota::pool::detail {

/// Gives a reference to a work back at its end.
class reference {
 public:
  explicit reference(work_core& w) noexcept : work_(&w) {}
  reference(const reference&) = delete;
  reference& operator=(const reference&) = delete;
  ~reference() { release(*work_); }

 private:
  work_core* work_;
};

// PROTOCOL: slots
//   A slot is memory of type work_core from the first time it is drawn until the pool's memory goes. An id is its index and how
//   often it was drawn, so an old id leads to the right slot and is found to be old: find() takes a reference if there are any,
//   and looks at the slot's id afterwards. Who draws a slot writes the id first and then the references (release).
//   Free slots lie in shards, each under its lock; a thread has a shard by its number. A thread of the pool has a stock instead,
//   without a lock; it takes batches from the common list, and brings them back there.
//   When the pool has ended, close() counts the slots that are still drawn, under all locks; each that comes back afterwards
//   counts down, and the last one says so: then nobody can find this memory any more. What lies in the stock of a thread that was
//   given up counts as drawn until that thread brings it back.
class slots {
 public:
  static constexpr unsigned index_bits = 24;
  static constexpr std::uint32_t index_mask = (1U << index_bits) - 1;
  static constexpr std::uint32_t max_slots = (1U << index_bits) - 64;  // what `chunks` hold

  explicit slots(pool_core& pool) noexcept : pool_(&pool) {}
  slots(const slots&) = delete;
  slots& operator=(const slots&) = delete;
  ~slots();

  /// What one thread has for itself.
  struct stock {
    work_core* first = nullptr;
    std::uint32_t count = 0;
  };

  /// With an id, and `references` in the word; none: nobody finds it, before the word says otherwise. `own`: of this thread, if it
  /// has one. Throws errc::too_many_works if all slots are in use, but for the free ones that other threads keep; std::bad_alloc.
  [[nodiscard]] work_core& draw(std::uint64_t references, stock* own) {
    work_core* drawn;
    if (own != nullptr) {
      if (own->first == nullptr) refill(*own);
      drawn = pop(*own);
    } else {
      drawn = draw_shared();
    }
    // relaxed. The last owner's release came before, by the lock, or by this thread itself; see the next store.
    const std::uint64_t times = (drawn->name.load(base::order::relaxed) >> index_bits) + 1;
    const std::uint64_t id = (times << index_bits) | (drawn->index + 1);
    drawn->name.store(id, base::order::relaxed);
    drawn->id = id;
    // release. Pairs with try_retain(): who finds references finds the id.
    drawn->state.store(references, base::order::release);
    return *drawn;
  }
  /// No reference is left. True: the pool has ended, and this was the last slot.
  [[nodiscard]] bool put(work_core& slot, stock* own) noexcept {
    if (own == nullptr) return put_shared(slot);
    push(*own, slot);
    if (own->count > 3 * batch) [[unlikely]]
      give_surplus(*own);
    return false;
  }
  /// The thread has no stock any more.
  void bring_back(stock& own) noexcept;
  /// With a reference for the caller; null: it is over and nobody keeps it, or there never was one.
  [[nodiscard]] work_core* find(std::uint64_t id) noexcept;
  /// Was such an id given out?
  [[nodiscard]] bool was_drawn(std::uint64_t id) const noexcept;
  /// Calls `f` for each slot that is in use, with a reference for the time of the call.
  template <class F>
  void for_each(F&& f);
  /// How many are drawn. From now on put() tells when there are none.
  [[nodiscard]] std::uint64_t close(std::uint64_t others) noexcept;
  /// One of the others. True: it was the last.
  [[nodiscard]] bool leave() noexcept;
  /// Lowers the number of slots that may be made. For tests: the real limit takes 6 GB.
  void limit_to(std::uint32_t most) noexcept;

 private:
  static constexpr unsigned shard_count = 16;
#if ROTA_MODEL
  static constexpr unsigned batch = 2;  // a model looks at each
#else
  static constexpr unsigned batch = 32;
#endif
  static constexpr unsigned first_chunk = 64;
  static constexpr unsigned chunks = 18;

  struct alignas(base::cache_line) shard {
    base::mutex lock;
    stock free;
  };

  [[nodiscard]] work_core* slot_at(std::uint32_t index) const noexcept;
  [[nodiscard]] work_core* take_common(std::uint32_t& count);
  /// A batch. True: the pool has ended.
  [[nodiscard]] bool give_common(stock& from) noexcept;
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
    // Another thread has used it last, as a rule: that it comes from there need not be waited for by the next that draws.
    if (from.first != nullptr) prefetch(*from.first);
    return first;
  }
  void refill(stock& empty);
  [[noreturn]] void refuse();
  [[nodiscard]] work_core* draw_shared();
  [[nodiscard]] bool put_shared(work_core& slot) noexcept;
  void give_surplus(stock& own) noexcept;
  [[nodiscard]] shard& mine() noexcept;

  pool_core* const pool_;
  std::array<shard, shard_count> shards_;
  alignas(base::cache_line) base::mutex lock_;  // of what follows
  work_core* free_ =
      nullptr;  // a list of whole batches: the first of each points to the next one with `body`
  std::uint64_t free_count_ = 0;
  std::uint32_t limit_ = max_slots;
  base::atomic<std::uint32_t> made_{0};  // written under lock_
  std::array<base::atomic<work_core*>, chunks> chunk_{};
  std::array<std::uint32_t, chunks> chunk_size_{};
  base::atomic<bool> closed_{false};  // written under all locks
  base::atomic<std::uint64_t> left_{0};
};

template <class F>
void slots::for_each(F&& f) {
  // acquire. Pairs with take_common(): the slots below are made.
  const std::uint32_t made = made_.load(base::order::acquire);
  for (std::uint32_t i = 0; i < made; ++i) {
    work_core* const each = slot_at(i);
    if (!each->try_retain()) continue;
    const reference kept(*each);
    f(*each);
  }
}

}  // namespace rota::pool::detail
