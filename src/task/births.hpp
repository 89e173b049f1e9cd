// The tasks that have not suspended yet: what a report can say of a task before it is in the registry.
#pragma once

#include "base/atomic.hpp"
#include "base/mutex.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>

namespace rota::core {

// PROTOCOL: births
//   A task is in the registry's lists from its first suspension on. Until then it is in a queue, or runs, and
//   its memory may be freed at any moment: a report must not follow a pointer to it. So a spawn notes the id
//   and the spawn site of the task in an entry of a table that lives as long as the scheduler. The task's
//   first suspension, or its end, clears the entry. A report reads only entries.
//
//   word     written by                                             value
//   id_      the owner of the table, if it is 0; later the thread     0: the entry is free
//            that runs the task
//   site_    the owner, while id_ is 0; later the thread that runs    the site; lowest bit: it has begun
//            the task
//
//   The owner of a table is the thread that plays the worker's role, or the thread that holds the lock of the
//   table for other threads. The thread that runs the task got it from the owner, by the task's word. So both
//   words have one writer at a time. Ids are never reused.
//
//   The bad interleaving:
//     1. T1 (a report) reads id 1.
//     2. T2 clears the entry.
//     3. T3 uses the entry for task 2, with another site.
//     4. T1 reads that site and reports it for task 1.
//
//   Why it cannot happen: T3 has acquired the cleared id, and its store of the site is a release. T1 acquires
//   the site and reads the id a second time. It finds another value than 1, and drops what it has read.
//
//   Two threads write site_, one after the other: T2 (the task has begun) and T3 (the next task's site). T2
//   clears the id with release and T3 acquires the cleared id, so T2's store is the earlier one. Otherwise
//   the entry could keep the site of the task that has ended.
//
//   A table that is full: the owner tries `most_tries` entries and gives up. The task then enters the
//   registry before it is queued, so a report finds it there. A registry's list costs a lock when the task
//   enters and another when it leaves.
class birth {
 public:
  struct seen {
    std::uint64_t id;  // 0: the entry is free
    std::source_location site;
    bool has_begun;
  };

  /// Notes a task. Owner only. Returns false if another task has this entry.
  [[nodiscard]] bool note(std::uint64_t id, const void* site) noexcept {
    // acquire: pairs with clear(): a report that sees the site below does not see the id from before the
    // clear, and the site below is written after that of note_begun().
    if (id_.load(base::order::acquire) != 0) return false;
    // release: pairs with the acquire in read(): see the protocol.
    site_.store(reinterpret_cast<std::uintptr_t>(site), base::order::release);
    // release: pairs with the acquire in read(): the site is written.
    id_.store(id, base::order::release);
    return true;
  }
  /// Notes that the task has begun. Called by the thread that runs it, when it resumes it for the first time.
  void note_begun() noexcept {
    // relaxed: written by note(), which happened before.
    const std::uintptr_t site = site_.load(base::order::relaxed);
    // release: same reason as in note(): a report that sees it sees no older id.
    site_.store(site | begun, base::order::release);
  }
  /// Frees the entry. Called by the thread that runs the task.
  void clear() noexcept {
    // release: pairs with the acquire in note(): the stores of note_begun() come before those of the next
    // task.
    id_.store(0, base::order::release);
  }
  /// Reads the entry. Any thread.
  [[nodiscard]] seen read() const noexcept {
    // acquire: pairs with note(): the site is that of this task, or of a later one.
    const std::uint64_t id = id_.load(base::order::acquire);
    // acquire: pairs with note(): if the site is that of a later task, the next load does not find this id.
    const std::uintptr_t site = site_.load(base::order::acquire);
    // relaxed: the value is only compared.
    if (id_.load(base::order::relaxed) != id) return {0, {}, false};
    const auto* const where = reinterpret_cast<const void*>(site & ~begun);
    return {id, std::bit_cast<std::source_location>(where), (site & begun) != 0};
  }

 private:
  static constexpr std::uintptr_t begun = 1;

  base::atomic<std::uint64_t> id_{0};
  base::atomic<std::uintptr_t> site_{0};
};

/// The entries of one table that one owner fills: a range of the scheduler's births.
struct birth_range {
  static constexpr std::uint32_t entries = ROTA_MODEL ? 1 : 512;
  static constexpr std::uint32_t most_tries = 4;

  birth* all = nullptr;  // of the whole scheduler
  std::uint32_t first = 0;
  std::uint32_t next = 0;  // where the owner tries first: the entry that was filled longest ago

  /// Notes a task. Owner only. Returns the number of the entry, counted from 1; 0 if the entries that it
  /// tried are taken.
  [[nodiscard]] std::uint32_t note(std::uint64_t id, const void* site) noexcept {
    for (std::uint32_t tries = 0; tries < most_tries; ++tries) {
      const std::uint32_t number = first + next;
      next = (next + 1) % entries;
      if (all[number].note(id, site)) return number + 1;
    }
    return 0;
  }
};

/// The births of one scheduler.
class births {
 public:
  /// Throws std::bad_alloc.
  explicit births(unsigned workers)
      : count_((std::size_t{workers} + 1) * birth_range::entries),
        all_(std::make_unique<birth[]>(count_)),
        foreign_(range_of(workers)) {}
  births(const births&) = delete;
  births& operator=(const births&) = delete;
  ~births() = default;

  [[nodiscard]] birth* all() noexcept { return all_.get(); }
  /// Returns the range that only the thread in the role of this worker uses.
  [[nodiscard]] birth_range range_of(unsigned worker) noexcept {
    return {all_.get(), worker * birth_range::entries, 0};
  }
  /// As birth_range::note(), for a thread that plays no role.
  [[nodiscard]] std::uint32_t note_foreign(std::uint64_t id, const void* site) noexcept {
    const base::lock_guard lock(foreign_mutex_);
    return foreign_.note(id, site);
  }
  /// Calls `visit(const birth::seen&)` for every task that has not suspended. The tasks run on meanwhile.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const birth::seen here = all_[i].read();
      if (here.id != 0) visit(here);
    }
  }

 private:
  const std::size_t count_;
  const std::unique_ptr<birth[]> all_;
  base::mutex foreign_mutex_;  // guards the last range
  birth_range foreign_;
};

}  // namespace rota::core
