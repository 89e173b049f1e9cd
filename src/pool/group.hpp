// Groups of works: who belongs to which, what is above what, and how many run at once.
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

/// A job in a group that it joined after its submit(). Its job's slot owns it. Its fields are under the lock of `groups`.
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
  std::uint64_t turn = 0;  // in which it joined, of all
  stage now = stage::outside;
  waiting_node at_end;  // in the list of the job until that has ended
};

/// Its fields are under the lock of `groups`.
class group_core {
 public:
  explicit group_core(std::string n) : name(std::move(n)) {}
  group_core(const group_core&) = delete;
  group_core& operator=(const group_core&) = delete;

  const std::string name;
  work_core* members = nullptr;    // not over; those that named the group in their submit()
  membership* joined = nullptr;    // those that joined later
  std::uint64_t member_count = 0;  // of both lists, and one for each hold
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
  struct entry {
    work_core* work;
    std::uint64_t turn;  // in which it joined, of all
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
  /// Within what was reserved.
  void add(work_core& w, std::uint64_t turn) noexcept {
    w.retain();
    all_.push_back({&w, turn});
  }
  /// A work may be in several of the groups that were looked through: keeps the first turn of each.
  void drop_duplicates() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  std::vector<entry> all_;
};

// PROTOCOL: groups
//   One lock for all of them: they are few, and only works that name one come here. A group is never forgotten, so a pointer to it
//   stays good. What is done to a group is done to the works that a snapshot, taken under the lock with a reference each, finds.
//   A walk goes from a group to all that are above it, or below it, and comes to each once, however many ways lead there: it marks them.
//   A waiter counts itself in before it looks. The thread that takes a work out of a group later, under the lock, raises the counts of the groups above
//   that have waiters, and puts them into a list. The thread that takes a group out of that list wakes, without the lock. It also looks
//   whether the group is empty: then all tasks that wait for it are granted, under the lock. See rest_waiters.
//
//   A job names at most one group in its submit(): `work_extras::group`, which does not change. It may join others later, each by a
//   membership, which has a node in the job's list of waiters: the thread that ends the job wakes that node after it has set `over`, and so
//   takes the job out of the group. A job without options has no work_extras, so a membership needs none.
//
//   membership   event                                                    next
//   outside      join_late(), the job's status is not final               member
//   member       leave_early()                                            outside
//   member       the job has ended                                        ended
//   outside      the job has ended                                        outside
//
//   G1  join_late() puts the node into the job's list under the lock of the groups. So either the job is `over` and join_late() says no, or
//       the ending thread finds the node later, and then takes the lock.
//   G2  The node stays in the list when the job is taken out. When it joins again the same membership is used: if the ending thread has
//       been there already, the status is final, and join_late() says no.
//   G3  The thread that ends `member` drops the reference, once. So a job in a list of members has at least one reference.
//   G4  Only the list of a group that was named in submit() has a part in the group's limit. leave_early() gives the place of such a job on,
//       or takes it out of `parked`, with the travelling reference.
//   G5  Order of locks: the pool's lock_, the groups' lock_, a job's lock.
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

  // ---- membership.cpp
  /// The caller has a reference. Returns false if the job is not accepted yet, or has ended. Throws std::bad_alloc.
  [[nodiscard]] bool join_late(group_core& g, work_core& w);
  struct departure {
    bool was_member = false;
    bool was_parked = false;  // the travelling reference is the caller's
  };
  /// The caller has a reference.
  [[nodiscard]] departure leave_early(group_core& g, work_core& w) noexcept;
  /// By the thread that ends the job, which has a reference.
  void end(membership& ended) noexcept;
  /// No reference is left.
  static void forget_memberships(work_core& w) noexcept;
  // Of a job that is the caller's, or was accepted: its extras are not written any more.
  /// The group that it named, or the first that it joined; empty: none.
  [[nodiscard]] std::string_view name_of(const work_core& w) noexcept;
  [[nodiscard]] bool is_paused(const work_core& w) noexcept;
  /// Is it in that group, or in one below it?
  [[nodiscard]] bool is_within(const work_core& w, const group_core& top) noexcept;
  /// The same, also of one that has ended there. Returns the turn in which it joined; 0: it is not.
  [[nodiscard]] std::uint64_t turn_within(const work_core& w, std::string_view name) noexcept;

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
  /// True: it was not as it is now.
  [[nodiscard]] bool set_paused(group_core& g, bool to) noexcept;

  /// The members of the group and of those below it. Throws std::bad_alloc.
  [[nodiscard]] held_works snapshot(std::string_view name);
  /// Blocks until there are none, below it neither. False: the deadline passed first. Throws errc::would_deadlock inside of a member, also
  /// of one that becomes one meanwhile.
  bool wait(std::string_view name, base::time_point deadline);
  [[nodiscard]] bool is_at_rest(group_core& g, rest_waiter& me, waker& wake) noexcept;
  void take_out(rest_waiter& me) noexcept;
  /// All that wait look again.
  void rouse_all() noexcept;

 private:
  class counted_waiter;
  using relations = std::vector<group_core*> group_core::*;

  [[nodiscard]] static work_core* unpark(group_core& g) noexcept;
  /// Under the lock: calls `f` for the group and for all that are above it, or below it, until it says true. Does it?
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
  /// Under the lock: calls `f(group, turn, stage)` for each group that the job is in or was in when it ended, until it says true.
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
