// Waits: for one work, for several, for an idle pool.
#include "pool/absence.hpp"
#include "pool/pool_core.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rota::pool::detail {

namespace {

/// Wakes a thread that waits for any of several works. It may be rung after that thread has gone on.
struct bell {
  base::atomic<std::uint32_t> rung{0};
  base::atomic<std::uint32_t> owners{0};
};

class rope {
 public:
  explicit rope(bell& to) noexcept : to_(&to) {
    // relaxed: the caller owns a rope, or has made the bell.
    to_->owners.fetch_add(1, base::order::relaxed);
  }
  rope(rope&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  rope& operator=(rope&&) = delete;
  rope(const rope&) = delete;
  rope& operator=(const rope&) = delete;
  ~rope() {
    // acq_rel: this owner's last use happens before the deletion. The last uses of all other owners happen
    // before it, too.
    if (to_ != nullptr && to_->owners.fetch_sub(1, base::order::acq_rel) == 1) delete to_;
  }
  void operator()() const noexcept {
    // release: pairs with the acquire load in wait_any().
    to_->rung.fetch_add(1, base::order::release);
    base::futex_wake(&to_->rung, 1);
  }

 private:
  bell* to_;
};

/// An entry in the pool's list as long as this object exists.
class listed_waiter {
 public:
  listed_waiter(base::mutex& lock, any_waiter*& list, base::atomic<std::uint32_t>& rung) noexcept
      : lock_(lock), list_(list), mine_{&rung} {
    const base::lock_guard guard(lock_);
    mine_.next = list_;
    if (list_ != nullptr) list_->previous = &mine_;
    list_ = &mine_;
  }
  listed_waiter(const listed_waiter&) = delete;
  listed_waiter& operator=(const listed_waiter&) = delete;
  ~listed_waiter() {
    const base::lock_guard guard(lock_);
    (mine_.previous == nullptr ? list_ : mine_.previous->next) = mine_.next;
    if (mine_.next != nullptr) mine_.next->previous = mine_.previous;
  }

 private:
  base::mutex& lock_;
  any_waiter*& list_;
  any_waiter mine_;
};

}  // namespace

/// Adds a node to the list of a work. Returns false if the work is over.
bool enter_list(work_core& w, waiting_node& node) noexcept {
  const base::lock_guard guard(w.lock);
  word seen{};
  if (!w.apply<rule::list>(seen)) return false;
  node.is_in = true;
  node.next = w.waiting;
  w.waiting = &node;
  return true;
}

/// Removes a node from the list of a work. Afterwards no other thread touches the node.
void leave_list(work_core& w, waiting_node& node) noexcept {
  const base::lock_guard guard(w.lock);
  if (!node.is_in) return;
  waiting_node** place = &w.waiting;
  while (*place != &node) place = &(*place)->next;
  *place = node.next;
  node.is_in = false;
}

bool pool_core::wait(work_core& w, base::time_point deadline) {
  if (w.load().has(over)) return true;
  demand_own_process("wait");
  work_core* const me = work_here();
  if (me == &w) throw error(errc::would_deadlock, "a work waits for itself");
  // A work that waits may be nested in another one that waits. If this thread has too little stack left,
  // another thread runs the work.
  if (const seat* const here = crew::here();
      here != nullptr && here->of == &threads && base::has_half_a_stack()) {
    if (run_here(w) && w.load().has(over)) return true;
  }
  const blocked_on said(w);
  std::optional<absence> away;
  for (;;) {
    word seen{};
    if (!w.apply<rule::sleep_on>(seen)) return true;
    const word now = w.load();
    if (now.has(over)) return true;
    said.demand_no_force();
    if (!away.has_value()) {
      away.emplace();
      continue;  // emplace() may have taken a while
    }
    const base::time_point until = sleep_until(deadline);
    if (base::futex_wait_upper(w.state, now.upper(), until) == base::wait_result::timed_out &&
        until == deadline)
      return w.load().has(over);
  }
}

void wait_out(work_core& w) noexcept {
  if (!w.pool->is_own_process()) return;
  std::optional<absence> away;
  word seen{};
  while (w.apply<rule::sleep_until_back>(seen)) {
    const word now = w.load();
    if (!rule::sleep_until_back(now).applies) return;
    if (!away.has_value()) {
      away.emplace();
      continue;
    }
    static_cast<void>(base::futex_wait_upper(w.state, now.upper(), w.pool->sleep_until(base::never)));
  }
}

void pool_core::wait_helping(work_core& w) {
  constexpr unsigned deepest = 16;
  base::thread_locals& here = base::this_thread_locals();
  if (work_here() == &w) throw error(errc::would_deadlock, "a work waits for itself");
  if (!w.load().has(over)) demand_own_process("wait");
  if (here.helps < deepest) {
    ++here.helps;
    while (!w.load().has(over)) {
      if (!run_here(w) && !help_once()) break;
    }
    --here.helps;
  }
  static_cast<void>(wait(w, base::never));
}

bool pool_core::wait_idle(base::time_point deadline) {
  demand_own_process("wait_idle");
  if (const work_core* const me = work_here(); me != nullptr && me->pool == this)
    throw error(errc::would_deadlock, "a work waits until its pool is idle");
  const blocked_on said(idle_epoch_);
  return until_idle(deadline, &said);
}

/// `said`: for a work of another pool, so that a force stop ends this wait.
bool pool_core::until_idle(base::time_point deadline, const blocked_on* said) {
  std::optional<absence> away;
  for (;;) {
    // acquire: read before the bit is set. A thread that sees the bit raises the epoch later.
    const std::uint32_t seen = idle_epoch_.load(base::order::acquire);
    // acq_rel: a thread that counts out sees the bit, or this thread sees zero.
    if ((outstanding_.fetch_or(waited_bit, base::order::acq_rel) & count_mask) == 0) return true;
    if (said != nullptr) said->demand_no_force();
    if (!away.has_value()) {
      away.emplace();
      continue;
    }
    const base::time_point until = sleep_until(deadline);
    if (base::futex_wait(idle_epoch_, seen, until) == base::wait_result::timed_out && until == deadline) {
      // acquire: same reason as for the fetch_or above.
      return (outstanding_.load(base::order::acquire) & count_mask) == 0;
    }
  }
}

void pool_core::wait_idle_helping() {
  demand_own_process("wait_idle");
  // acquire: same reason as in until_idle().
  while ((outstanding_.load(base::order::acquire) & count_mask) != 0) {
    if (!help_once()) break;
  }
  static_cast<void>(wait_idle(base::never));
}

bool pool_core::wait_group(std::string_view name, base::time_point deadline) {
  demand_own_process("wait");
  const absence away;
  return circles.wait(name, deadline);
}

work_id pool_core::wait_any(std::span<const work_id> ids, base::time_point deadline) {
  if (ids.empty()) throw std::invalid_argument("thread_pool::wait_any: no ids");
  demand_own_process("wait_any");
  bell& mine = *new bell;
  const rope end(mine);
  struct entry {
    work_core* w = nullptr;
    waiting_node node;
  };
  std::vector<std::unique_ptr<entry>> all;
  struct leaver {
    pool_core* pool;
    std::vector<std::unique_ptr<entry>>* all;
    ~leaver() {
      for (const auto& each : *all) {
        if (each->w == nullptr) continue;
        leave_list(*each->w, each->node);
        pool->drop(*each->w);
      }
    }
  } const last{this, &all};
  if (const work_core* const me = work_here();
      ids.size() == 1 && me != nullptr && me->pool == this && me->id == ids[0].value)
    throw error(errc::would_deadlock, "a work waits for itself");
  all.reserve(ids.size());
  for (const work_id id : ids) {
    entry& made = *all.emplace_back(std::make_unique<entry>());
    made.node.wake = callback_waker(rope(mine));
    made.w = memory.find(id.value);
    if (made.w == nullptr || !enter_list(*made.w, made.node)) return id;
  }
  const blocked_on said(mine.rung);
  const absence away;
  const listed_waiter here(lock_, any_waiters_, mine.rung);
  bool is_late = false;
  for (;;) {
    // acquire: pairs with the wakers. Read before the works are checked.
    const std::uint32_t seen = mine.rung.load(base::order::acquire);
    for (const auto& each : all) {
      if (each->w->load().has(over)) return {each->w->id};
    }
    if (is_late) return {};
    said.demand_no_force();
    const base::time_point until = sleep_until(deadline);
    // After a timeout the works are checked once more.
    is_late = base::futex_wait(mine.rung, seen, until) == base::wait_result::timed_out && until == deadline;
  }
}

// ---- for tasks --------------------------------------------------------------------------------------------

bool work_leaf::is_ready() noexcept { return target_->load().has(over); }

bool work_leaf::start() {
  if (is_ready()) return true;
  target_->pool->demand_own_process("a task awaits a work");
  auto made = std::make_unique<waiting_node>();
  made->wake = make_waker();
  if (!enter_list(*target_, *made)) return true;
  node_ = made.release();
  return false;
}

/// Returns the flags that stand for a cancel reason in a work's word.
static std::uint64_t flags_of(cancel_reason reason) noexcept {
  if (reason == cancel_reason::timeout) return timed_out;
  return reason == cancel_reason::shutdown ? std::uint64_t{ending} : 0;
}

cancel_progress work_leaf::try_cancel(cancel_reason reason) noexcept {
  if (is_ready()) return cancel_progress::ended;
  if (kind_ == core::join_kind::structured) {
    pool_core& pool = *target_->pool;
    // A deadline that the job has inherited from this task is one deadline: the observers are told of it, in
    // whichever order the timers fire.
    if (reason != cancel_reason::timeout || !pool.end_if_late(*target_))
      static_cast<void>(pool.stop(*target_, flags_of(reason)));
    return is_ready() ? cancel_progress::ended : cancel_progress::pending;
  }
  return cancel_progress::ended;
}

/// Returns true for a work that was cancelled or stopped, for one that failed because a work before it did
/// not end well, and for one that was not retried because its inherited deadline has passed. Each of these
/// may have the same cause as a cancellation of the waiting task.
bool pool_core::was_called_off(const work_core& w) noexcept {
  const word now = w.load();
  if (!now.has(over) || now.is(work_status::succeeded)) return false;
  if (!now.is(work_status::failed) || root_of_failure(w) != w.id) return true;
  return w.extras != nullptr && w.extras->was_cut_off;
}

/// A value or an exception must reach the awaiting task, and is not discardable. A work that was called off
/// may have the same cause that cancels this task.
bool work_leaf::is_discardable() noexcept { return pool_core::was_called_off(*target_); }

work_leaf::~work_leaf() {
  if (node_ == nullptr) return;
  leave_list(*target_, *node_);
  delete node_;
}

}  // namespace rota::pool::detail
