// Tasks that wait for jobs by id, for groups, and until the pool is idle.
#include "pool/absence.hpp"
#include "pool/pool_core.hpp"
#include "pool/rest_waiters.hpp"

#include <rota/detail/pool_waits.hpp>
#include <rota/error.hpp>

#include <stdexcept>
#include <utility>

namespace rota::pool::detail {

namespace {

[[nodiscard]] bool is_over_or_none(const work_core* w) noexcept {
  return w == nullptr || w->load().has(over);
}

[[nodiscard]] bool was_called_off(const work_core* w) noexcept {
  return w != nullptr && pool_core::was_called_off(*w);
}

/// A task may have made the wait before a fork.
void demand_own_process(const work_batch& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.at(i) != nullptr) return all.at(i)->pool->demand_own_process("a task awaits works");
  }
}

[[nodiscard]] const work_batch& demand_some(const work_batch& all) {
  if (all.size() == 0) throw std::invalid_argument("thread_pool::async_wait_any: no ids");
  return all;
}

}  // namespace

// ---- all of several ---------------------------------------------------------------------------------------

const void* works_leaf::check_beside() {
  const work_core* const me = work_here();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (me != nullptr && all_.at(i) == me) throw error(errc::would_deadlock, "a work waits for itself");
  }
  return nullptr;
}

bool works_leaf::start() {
  static_cast<void>(check_beside());
  demand_own_process(all_);
  if (node_ == nullptr) node_ = new waiting_node;
  return is_ready();
}

/// Goes on with the next job as soon as one is over: the node is in one list at a time.
bool works_leaf::is_ready() noexcept {
  for (; next_ != all_.size(); ++next_) {
    work_core* const w = all_.at(next_);
    if (is_over_or_none(w)) {
      leave();
      continue;
    }
    if (is_listed_) return false;
    node_->wake = make_waker();
    is_listed_ = enter_list(*w, *node_);
    if (is_listed_) return false;
  }
  return true;
}

cancel_progress works_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  leave();
  return cancel_progress::ended;
}

bool works_leaf::is_discardable() noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (was_called_off(all_.at(i))) return true;
  }
  return false;
}

void works_leaf::leave() noexcept {
  if (std::exchange(is_listed_, false)) leave_list(*all_.at(next_), *node_);
}

works_leaf::~works_leaf() {
  leave();
  delete node_;
}

work_list_wait::work_list_wait(pool_core& pool, std::span<const work_id> ids)
    : works_leaf(pool, ids, work_batch::find_also::finished) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (all().at(i) == nullptr) missing_.push_back(ids[i]);
  }
}

std::vector<work_id> work_list_wait::await_resume() { return std::move(missing_); }

// ---- any of several ---------------------------------------------------------------------------------------

any_work_leaf::any_work_leaf(pool_core& pool, std::span<const work_id> ids)
    : all_(pool, ids, work_batch::find_also::finished), found_(demand_some(all_).size()) {}

const void* any_work_leaf::check_beside() {
  if (const work_core* const me = work_here(); me != nullptr && all_.size() == 1 && all_.at(0) == me)
    throw error(errc::would_deadlock, "a work waits for itself");
  return nullptr;
}

bool any_work_leaf::start() {
  static_cast<void>(check_beside());
  demand_own_process(all_);
  leave();
  if (is_ready()) return true;
  if (nodes_ == nullptr) nodes_ = new waiting_node[all_.size()];
  for (; listed_ < all_.size(); ++listed_) {
    nodes_[listed_].wake = make_waker();
    // is_ready() finds a job that is over meanwhile.
    if (!enter_list(*all_.at(listed_), nodes_[listed_])) break;
  }
  return is_ready();
}

bool any_work_leaf::is_ready() noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!is_over_or_none(all_.at(i))) continue;
    found_ = i;
    return true;
  }
  return false;
}

cancel_progress any_work_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  leave();
  return cancel_progress::ended;
}

bool any_work_leaf::is_discardable() noexcept { return was_called_off(all_.at(found_)); }

void any_work_leaf::leave() noexcept {
  while (listed_ != 0) {
    --listed_;
    leave_list(*all_.at(listed_), nodes_[listed_]);
  }
}

any_work_leaf::~any_work_leaf() {
  leave();
  delete[] nodes_;
}

// ---- a group, and the pool --------------------------------------------------------------------------------

rest_leaf::rest_leaf(pool_core& pool) : pool_(pool), holder_(&pool.draw_holder("async_wait_idle")) {}
rest_leaf::rest_leaf(pool_core& pool, std::string_view group)
    : pool_(pool),
      holder_(&pool.draw_holder("async_wait")),
      of_group_(true),
      group_(pool.circles.find(group)) {}

const void* rest_leaf::check_beside() {
  if (const work_core* const me = work_here(); me != nullptr && me->pool == &pool_) {
    if (!of_group_) throw error(errc::would_deadlock, "a work waits until its pool is idle");
    if (group_ != nullptr && pool_core::may_be_in_groups(*me) && pool_.circles.is_within(*me, *group_))
      throw error(errc::would_deadlock, "a work waits for its own group");
  }
  return nullptr;
}

bool rest_leaf::start() {
  static_cast<void>(check_beside());
  pool_.demand_own_process("a task awaits a thread_pool");
  leave();
  if (me_ == nullptr) me_ = new rest_waiter;
  return is_ready();
}

bool rest_leaf::is_ready() noexcept {
  if (is_over_) return true;
  waker mine = make_waker();  // destroyed without the lock
  if (of_group_) {
    is_over_ = group_ == nullptr || pool_.circles.is_at_rest(*group_, *me_, mine);
  } else {
    is_over_ = pool_.is_at_rest(*me_, mine);
  }
  return is_over_;
}

cancel_progress rest_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  leave();
  return cancel_progress::ended;
}

/// Takes the node out of its list. Afterwards no other thread touches it.
void rest_leaf::leave() noexcept {
  is_over_ = false;
  if (me_ == nullptr) return;
  if (of_group_) {
    pool_.circles.take_out(*me_);
  } else {
    pool_.take_out_of_idle(*me_);
  }
}

rest_leaf::~rest_leaf() {
  leave();
  delete me_;
  pool_.drop(*holder_);
}

/// Returns true if nothing is outstanding. Otherwise the task is in the list, and is woken when the pool may
/// be idle.
bool pool_core::is_at_rest(rest_waiter& me, waker& wake) noexcept {
  {
    const base::lock_guard guard(lock_);
    if (me.place == nullptr || me.is_granted) {
      rest_waiters::remove(me);
      me.is_granted = false;
      std::swap(me.wake, wake);
      idle_tasks_.add(me);
    }
  }
  // acq_rel: after the task is in the list. The thread that counts out sees the bit, and then the task; or
  // this thread sees zero. A thread that clears the bit checks the list afterwards.
  return (outstanding_.fetch_or(waited_bit, base::order::acq_rel) & count_mask) == 0;
}

void pool_core::take_out_of_idle(rest_waiter& me) noexcept {
  const base::lock_guard guard(lock_);
  rest_waiters::remove(me);
  me.is_granted = false;
}

/// Wakes all listed tasks. The idle moment may have been before a task came, so each task checks again.
void pool_core::wake_idle_tasks() noexcept {
  // The loop ends: each turn takes one task out, and tasks that come now are not granted here.
  for (bool first = true;; first = false) {
    waker task;
    {
      const base::lock_guard guard(lock_);
      if (first) idle_tasks_.grant_all();
      if (!idle_tasks_.take(task)) return;
    }
    task.wake();
  }
}

/// Returns true if the group is empty, or was at a moment since the task came. Otherwise the task is in the
/// list.
bool groups::is_at_rest(group_core& g, rest_waiter& me, waker& wake) noexcept {
  const base::lock_guard guard(lock_);
  if (me.is_granted || is_empty(g)) return true;
  if (me.place == nullptr) {
    std::swap(me.wake, wake);
    g.tasks.add(me);
  }
  return false;
}

void groups::take_out(rest_waiter& me) noexcept {
  const base::lock_guard guard(lock_);
  rest_waiters::remove(me);
  me.is_granted = false;
}

}  // namespace rota::pool::detail
