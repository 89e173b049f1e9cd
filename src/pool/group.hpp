// Groups of works: who belongs to which, what is above what, and how many run at once.
#pragma once

#include "base/mutex.hpp"
#include "pool/rest_waiters.hpp"
#include "pool/work.hpp"

#include <rota/pool/work.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rota::pool::detail {

/// Its fields are under the lock of `groups`.
class group_core {
 public:
  explicit group_core(std::string n) : name(std::move(n)) {}
  group_core(const group_core&) = delete;
  group_core& operator=(const group_core&) = delete;

  const std::string name;
  work_core* members = nullptr;    // not over
  std::uint64_t member_count = 0;  // and one for each hold
  unsigned limit = 0;
  unsigned placed = 0;  // in a queue or running, where there is a limit
  priority_queue parked{
      queue_order::fifo};  // those that wait for a place; each with the travelling reference
  bool paused = false;
  std::vector<group_core*> parents;
  std::vector<group_core*> children;
  std::uint64_t walk = 0;          // the last walk that came by
  group_core* next_met = nullptr;  // of that walk
  unsigned waiters = 0;            // threads in wait()
  rest_waiters tasks;              // that wait until it is empty
  bool is_called = false;          // in the list of those whose waiters are to be woken
  group_core* next_called = nullptr;
  base::atomic<std::uint32_t> left{0};  // raised when a member is over, here or below, and somebody waits
};

/// Works, with a reference to each.
class held_works {
 public:
  held_works() = default;
  held_works(held_works&&) = default;
  held_works(const held_works&) = delete;
  held_works& operator=(const held_works&) = delete;
  held_works& operator=(held_works&&) = delete;
  ~held_works() {
    for (work_core* const each : all_) release(*each);
  }
  void reserve(std::size_t count) { all_.reserve(count); }
  /// Within what was reserved.
  void add(work_core& w) noexcept {
    w.retain();
    all_.push_back(&w);
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  std::vector<work_core*> all_;
};

// PROTOCOL: groups
//   One lock for all of them: they are few, and only works that name one come here. A group is never forgotten, so a pointer to it
//   stays good. What is done to a group is done to the works that a snapshot, taken under the lock with a reference each, finds.
//   A walk goes from a group to all that are above it, or below it, and comes to each once, however many ways lead there: it marks them.
//   A waiter counts itself in before it looks. The thread that takes a work out of a group later, under the lock, raises the counts of the groups above
//   that have waiters, and puts them into a list. The thread that takes a group out of that list wakes, without the lock. It also looks
//   whether the group is empty: then all tasks that wait for it are granted, under the lock. See rest_waiters.
class groups {
 public:
  explicit groups(pool_core& pool) noexcept : pool_(pool) {}
  groups(const groups&) = delete;
  groups& operator=(const groups&) = delete;
  ~groups() = default;

  /// Makes it, if it is not there. Throws std::bad_alloc.
  [[nodiscard]] group_core& at(std::string_view name);
  [[nodiscard]] group_core* find(std::string_view name) noexcept;

  void join(group_core& g, work_core& w) noexcept;
  void leave(group_core& g, work_core& w) noexcept;
  /// Not empty until let_go(), though it may have no member.
  void hold(group_core& g) noexcept;
  void let_go(group_core& g) noexcept;
  /// May it be placed? If not it is parked, and the group has the travelling reference.
  [[nodiscard]] bool admit(group_core& g, work_core& w) noexcept;
  /// It is over, or waits for another attempt: it counts no longer. True: it was parked, and the travelling reference is the caller's.
  [[nodiscard]] bool yield(group_core& g, work_core& w) noexcept;
  /// One that there is a place for; null: there is none.
  [[nodiscard]] work_core* next_parked(group_core& g) noexcept;
  void limit(group_core& g, unsigned most) noexcept;
  /// Of any group; null: none is parked.
  [[nodiscard]] work_core* take_parked() noexcept;
  /// Throws errc::cycle, std::bad_alloc.
  void relate(std::string_view parent, std::string_view child);
  void unrelate(std::string_view parent, std::string_view child) noexcept;
  [[nodiscard]] bool is_paused(group_core& g) noexcept;
  /// True: it was not as it is now.
  [[nodiscard]] bool set_paused(group_core& g, bool to) noexcept;

  /// The members of the group and of those below it. Throws std::bad_alloc.
  [[nodiscard]] held_works snapshot(std::string_view name);
  /// Blocks until there are none, below it neither. False: the deadline passed first.
  bool wait(std::string_view name, base::time_point deadline);
  [[nodiscard]] bool is_at_rest(group_core& g, rest_waiter& me, waker& wake) noexcept;
  void take_out(rest_waiter& me) noexcept;
  /// All that wait look again.
  void rouse_all() noexcept;
  /// Is it that group, or below it?
  [[nodiscard]] bool is_within(group_core& g, std::string_view name) noexcept;

 private:
  class counted_waiter;
  using relations = std::vector<group_core*> group_core::*;

  [[nodiscard]] static work_core* unpark(group_core& g) noexcept;
  /// Under the lock: calls `f` for the group and for all that are above it, or below it, until it says true. Does it?
  template <class F>
  bool any_of(group_core& first, relations where, F f) noexcept;
  void tell_upwards(group_core& g) noexcept;
  void call(group_core& each) noexcept;
  void call_waiters() noexcept;
  [[nodiscard]] bool is_empty(group_core& g) noexcept;
  [[nodiscard]] bool is_above(const group_core& high, group_core& low) noexcept;

  pool_core& pool_;
  base::mutex lock_;
  std::uint64_t joined_ = 0;
  std::uint64_t walks_ = 0;
  group_core* called_ = nullptr;
  std::map<std::string, std::unique_ptr<group_core>, std::less<>> all_;
};

}  // namespace rota::pool::detail
