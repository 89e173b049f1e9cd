// Every task that has suspended, in lists that a report can walk. The other tasks: births.hpp.
#pragma once

#include "base/cache_line.hpp"
#include "base/mutex.hpp"
#include "task/header.hpp"

#include <memory>

namespace rota::core {

/// Lists of tasks. A task enters at its first suspension or shield: a task that never suspends should pay
/// nothing. Before that it is in a queue, or runs. Sharded, so that workers do not contend. A shard's lock
/// guards its list, and the name of every task in it. While the lock is held no task of the list ends, since
/// a task withdraws before its word says `complete`.
class registry {
 public:
  /// Throws std::bad_alloc.
  explicit registry(unsigned shards);
  registry(const registry&) = delete;
  registry& operator=(const registry&) = delete;
  ~registry() = default;

  void enroll(header& task, unsigned shard) noexcept;
  void withdraw(header& task) noexcept;
  void rename(header& task, void* name) noexcept;

  /// Calls `visit` for every task, one shard at a time, under the shard's lock. `visit` must not wake, cancel
  /// or free a task.
  template <class Visit>
  void for_each(Visit visit) {
    for (unsigned s = 0; s < count_; ++s) {
      shard& here = shards_[s];
      const base::lock_guard lock(here.mutex);
      for (list_links* at = here.first; at != nullptr; at = at->list_next) {
        if (at != &here.cursor) visit(static_cast<header&>(*at));
      }
    }
  }

  /// Calls `act` for every task that is enrolled now, oldest first, with a reference held and no lock. One
  /// caller at a time.
  template <class Act>
  void act_on_each(Act act) {
    for (unsigned s = 0; s < count_; ++s) {
      begin_sweep(shards_[s]);
      while (header* const task = next_in_sweep(shards_[s])) {
        act(*task);
        release(*task);
      }
    }
  }

 private:
  struct alignas(base::cache_line) shard {
    base::mutex mutex;
    list_links* first = nullptr;
    list_links* last = nullptr;
    list_links cursor;  // in the list during a sweep: the nodes before it were visited

    void append(list_links& node) noexcept;
    void remove(list_links& node) noexcept;
    void insert_after(list_links* where, list_links& node) noexcept;
  };

  static void begin_sweep(shard& in) noexcept;
  /// Moves the cursor behind the next task and returns that task, with a reference. Returns null at the end:
  /// the cursor has left the list.
  static header* next_in_sweep(shard& in) noexcept;

  unsigned count_;
  std::unique_ptr<shard[]> shards_;
};

}  // namespace rota::core
