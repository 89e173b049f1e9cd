// Groups of jobs: their members, their parents and children, and how many of their jobs may run at once.
#pragma once

#include "base/mutex.hpp"
#include "pool/rest_waiters.hpp"
#include "pool/work.hpp"

#include <rota/pool/work.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::pool::detail {

class group_core;

/// Returns true for a job that submit() has accepted and that has not ended.
[[nodiscard]] bool may_change_groups(const work_core& w) noexcept;

/// The membership of a job in a group that it joined after its submit(). The job's slot owns it. Its fields
/// are guarded by the lock of `groups`.
struct membership {
  enum class stage : std::uint8_t {
    outside,  // was taken out, or has not joined yet
    member,   // owns a reference to the job
    ended,    // was a member when the job ended
  };

  membership(group_core& g, work_core& w) noexcept;
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;
  ~membership() = default;

  group_core* const group;
  work_core* const work;
  membership* next_of_work = nullptr;
  membership* next = nullptr;  // in the group
  membership* previous = nullptr;
  std::uint64_t turn = 0;  // its position among all joins
  stage now = stage::outside;
  waiting_node at_end;  // in the list of the job until that has ended
};

/// Its fields are guarded by the lock of `groups`.
class group_core {
 public:
  explicit group_core(std::string n) : name(std::move(n)) {}
  group_core(const group_core&) = delete;
  group_core& operator=(const group_core&) = delete;

  const std::string name;
  work_core* members = nullptr;    // jobs that named the group in their submit(), until they are over
  membership* joined = nullptr;    // jobs that joined later
  std::uint64_t member_count = 0;  // of both lists, and one for each hold
  unsigned limit = 0;
  unsigned placed = 0;  // jobs in a queue or running, if there is a limit
  // Jobs that wait for a place. Each has its travelling reference here.
  priority_queue parked{queue_order::fifo};
  bool paused = false;
  std::vector<group_core*> parents;
  std::vector<group_core*> children;
  std::uint64_t walk = 0;          // the last walk that visited this group
  group_core* next_met = nullptr;  // of that walk
  unsigned waiters = 0;            // threads in wait()
  rest_waiters tasks;              // tasks that wait until the group is empty
  bool is_called = false;          // it is in the list of groups with waiters to wake
  group_core* next_called = nullptr;
  base::atomic<std::uint32_t> left{0};  // raised when a member here or below is over, if there are waiters
};

/// Jobs, with a reference to each.
class held_works {
 public:
  struct entry {
    work_core* work;
    std::uint64_t turn;  // its position among all joins
  };

  held_works() = default;
  held_works(held_works&&) = default;
  held_works(const held_works&) = delete;
  held_works& operator=(const held_works&) = delete;
  held_works& operator=(held_works&&) = delete;
  ~held_works() {
    for (const entry& each : all_) release(*each.work);
  }
  void reserve(std::size_t count) { all_.reserve(count); }
  /// At most as many as were reserved.
  void add(work_core& w, std::uint64_t turn) noexcept {
    w.retain();
    all_.push_back({&w, turn});
  }
  /// Keeps one entry for each job, with its first turn. A job may be in several of the visited groups.
  void drop_duplicates() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  std::vector<entry> all_;
};

// PROTOCOL: groups
//   One lock guards all groups: they are few, and only jobs in groups use it. A group is never freed before
//   the pool, so a pointer to it stays valid. An operation on a group acts on the jobs of a snapshot, taken
//   under the lock with a reference to each.
//   A walk visits a group and all groups above it, or below it. It marks them, so it visits each once,
//   however many paths lead there.
//   A waiter counts itself in before it checks the group. A thread that takes a job out of a group later,
//   under the lock, raises the counts of the groups above that have waiters, and puts these groups into a
//   list. The thread that takes a group out of that list wakes the waiters without the lock. It also checks
//   whether the group is empty. If so, all tasks that wait for it are granted, under the lock. See
//   rest_waiters.
//
//   A job names at most one group in its submit(): `work_extras::group`, which does not change. It may join
//   others later, each by a membership, which has a node in the job's list of waiters. The thread that ends
//   the job wakes that node after it has set `over`, and so takes the job out of the group. A job without
//   options has no work_extras, so a membership needs none.
//
//   membership   event                                                    next
//   outside      join_late(), the job's status is not final               member
//   member       leave_early()                                            outside
//   member       the job has ended                                        ended
//   outside      the job has ended                                        outside
//
//   G1  join_late() puts the node into the job's list under the lock of the groups. So either the job is
//       `over` and join_late() returns false, or the ending thread finds the node later, and then takes the
//       lock.
//   G2  The node stays in the list when the job is taken out. When it joins again the same membership is
//       used. If the ending thread has already woken the node, the status is final, and join_late() returns
//       false.
//   G3  The thread that ends `member` drops the reference, once. So a job in a list of members has at least
//       one reference.
//   G4  Only jobs that named the group in submit() count against the group's limit. leave_early() gives the
//       place of such a job to another job, or takes the job out of `parked`, with the travelling reference.
//   G5  Order of locks: the pool's lock_, the groups' lock_, a job's lock.
class groups {
 public:
  explicit groups(pool_core& pool) noexcept : pool_(pool) {}
  groups(const groups&) = delete;
  groups& operator=(const groups&) = delete;
  ~groups() = default;

  /// Returns the group of that name. Makes it if there is none. Throws std::bad_alloc.
  [[nodiscard]] group_core& at(std::string_view name);
  [[nodiscard]] group_core* find(std::string_view name) noexcept;

  void join(group_core& g, work_core& w) noexcept;
  void leave(group_core& g, work_core& w) noexcept;

  // ---- membership.cpp
  /// Adds the job to the group. The caller has a reference. Returns false if the job is not accepted yet, or
  /// has ended. Throws std::bad_alloc.
  [[nodiscard]] bool join_late(group_core& g, work_core& w);
  struct departure {
    bool was_member = false;
    bool was_parked = false;  // the travelling reference is the caller's
  };
  /// Takes the job out of the group before its end. The caller has a reference.
  [[nodiscard]] departure leave_early(group_core& g, work_core& w) noexcept;
  /// Ends a membership. Called by the thread that ends the job, which has a reference.
  void end(membership& ended) noexcept;
  /// Frees the memberships of a job to which no reference is left.
  static void forget_memberships(work_core& w) noexcept;
  // For the next four, the job is the caller's or was accepted, so its extras do not change any more.
  /// Returns the group that the job named, or the first that it joined. Returns an empty string if there is
  /// none.
  [[nodiscard]] std::string_view name_of(const work_core& w) noexcept;
  [[nodiscard]] bool is_paused(const work_core& w) noexcept;
  /// Returns true if the job is in `top`, or in a group below it.
  [[nodiscard]] bool is_within(const work_core& w, const group_core& top) noexcept;
  /// Returns the turn in which the job joined that group or one below it, also if it has ended there. Returns
  /// 0 if it did not.
  [[nodiscard]] std::uint64_t turn_within(const work_core& w, std::string_view name) noexcept;

  /// The group counts as not empty until let_go(), even without a member.
  void hold(group_core& g) noexcept;
  void let_go(group_core& g) noexcept;
  /// Returns true if the job may be placed. Else the job is parked, and the group has the travelling
  /// reference.
  [[nodiscard]] bool admit(group_core& g, work_core& w) noexcept;
  /// Frees the place of a job that is over, or waits for another attempt. Returns true if the job was parked.
  /// Then the caller owns the travelling reference.
  [[nodiscard]] bool yield(group_core& g, work_core& w) noexcept;
  /// Takes out a parked job for which there is a place. Returns null if there is none.
  [[nodiscard]] work_core* next_parked(group_core& g) noexcept;
  void limit(group_core& g, unsigned most) noexcept;
  /// Takes a parked job out of any group. Returns null if none is parked.
  [[nodiscard]] work_core* take_parked() noexcept;
  /// Puts `child` below `parent`. Throws errc::cycle, std::bad_alloc.
  void relate(std::string_view parent, std::string_view child);
  void unrelate(std::string_view parent, std::string_view child) noexcept;
  /// Returns true if this changes the state.
  [[nodiscard]] bool set_paused(group_core& g, bool to) noexcept;

  /// Returns the members of the group and of all groups below it. Throws std::bad_alloc.
  [[nodiscard]] held_works snapshot(std::string_view name);
  /// Blocks until the group and all groups below it are empty. Returns false if the deadline passed first.
  /// Throws errc::would_deadlock inside a member, also inside a job that becomes a member meanwhile.
  bool wait(std::string_view name, base::time_point deadline);
  [[nodiscard]] bool is_at_rest(group_core& g, rest_waiter& me, waker& wake) noexcept;
  void take_out(rest_waiter& me) noexcept;
  /// Wakes all waiters, so that they check again.
  void rouse_all() noexcept;

 private:
  class counted_waiter;
  using relations = std::vector<group_core*> group_core::*;

  [[nodiscard]] static work_core* unpark(group_core& g) noexcept;
  /// Under the lock: calls `f` for the group and for all groups above it, or below it, until `f` returns
  /// true. Returns true if `f` did.
  template <class F>
  bool any_of(group_core& first, relations where, F f) noexcept {
    const std::uint64_t walk = ++walks_;
    first.walk = walk;
    first.next_met = nullptr;
    group_core* last = &first;
    for (group_core* each = &first; each != nullptr; each = each->next_met) {
      if (f(*each)) return true;
      for (group_core* const next : each->*where) {
        if (std::exchange(next->walk, walk) == walk) continue;
        next->next_met = nullptr;
        last->next_met = next;
        last = next;
      }
    }
    return false;
  }
  /// Under the lock: calls `f(group, turn, stage)` for each group that the job is in or was in when it ended,
  /// until `f` returns true.
  template <class F>
  static bool any_group_of(const work_core& w, F f) noexcept;
  static void unlink(group_core& g, work_core& w) noexcept;
  [[nodiscard]] bool has_within(const work_core& w, const group_core& top) noexcept;
  void enter(membership& m) noexcept;
  [[nodiscard]] bool exit(membership& m, membership::stage to) noexcept;
  [[nodiscard]] static membership* membership_in(const group_core& g, const work_core& w) noexcept;
  [[nodiscard]] departure leave_own(group_core& g, work_core& w) noexcept;
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
