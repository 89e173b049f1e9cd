#include "pool/group.hpp"

#include "base/futex.hpp"
#include "pool/absence.hpp"
#include "pool/extras.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>

#include <algorithm>
#include <utility>

namespace rota::pool::detail {

group_core& groups::at(std::string_view name) {
  if (group_core* const there = find(name)) return *there;
  auto made = std::make_unique<group_core>(std::string(name));
  const base::lock_guard guard(lock_);
  return *all_.try_emplace(made->name, std::move(made)).first->second;
}

group_core* groups::find(std::string_view name) noexcept {
  const base::lock_guard guard(lock_);
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : found->second.get();
}

void groups::join(group_core& g, work_core& w) noexcept {
  const base::lock_guard guard(lock_);
  work_extras& e = *w.extras;
  e.in_group = true;
  e.turn = ++joined_;
  e.group_previous = nullptr;
  e.group_next = g.members;
  if (g.members != nullptr) g.members->extras->group_previous = &w;
  g.members = &w;
  ++g.member_count;
}

void groups::leave(group_core& g, work_core& w) noexcept {
  bool calls = false;
  {
    const base::lock_guard guard(lock_);
    if (!w.extras->in_group) return;
    unlink(g, w);
    tell_upwards(g);
    calls = called_ != nullptr;
  }
  if (calls) call_waiters();
}

/// Under the lock; the caller calls tell_upwards() after it.
void groups::unlink(group_core& g, work_core& w) noexcept {
  work_extras& e = *w.extras;
  e.in_group = false;
  (e.group_previous != nullptr ? e.group_previous->extras->group_next : g.members) = e.group_next;
  if (e.group_next != nullptr) e.group_next->extras->group_previous = e.group_previous;
  --g.member_count;
}

void groups::hold(group_core& g) noexcept {
  const base::lock_guard guard(lock_);
  ++g.member_count;
}

void groups::let_go(group_core& g) noexcept {
  {
    const base::lock_guard guard(lock_);
    --g.member_count;
    tell_upwards(g);
  }
  call_waiters();
}

/// Under the lock. Notifies the waiters of the group, and of each group above it, so that they check again.
void groups::tell_upwards(group_core& g) noexcept {
  any_of(g, &group_core::parents, [this](group_core& each) {
    call(each);
    return false;
  });
}

/// Under the lock; the caller calls call_waiters() after it.
void groups::call(group_core& each) noexcept {
  if (each.waiters == 0 && !each.tasks.any()) return;
  // release: pairs with wait().
  each.left.fetch_add(1, base::order::release);
  if (!std::exchange(each.is_called, true)) each.next_called = std::exchange(called_, &each);
}

/// Wakes the waiters of all groups in the list, including groups that other threads have put there. Those
/// threads may find the list empty.
void groups::call_waiters() noexcept {
  for (;;) {
    group_core* each = nullptr;
    waker task;
    bool has_task = false;
    {
      const base::lock_guard guard(lock_);
      each = called_;
      if (each == nullptr) return;
      if (each->tasks.any() && is_empty(*each)) each->tasks.grant_all();
      has_task = each->tasks.take(task);
      if (!has_task) {
        called_ = each->next_called;
        each->is_called = false;
      }
    }
    if (has_task) {
      task.wake();
    } else {
      base::futex_wake(&each->left, 1 << 20);
    }
  }
}

bool groups::admit(group_core& g, work_core& w) noexcept {
  const base::lock_guard guard(lock_);
  if (w.extras->has_place || w.extras->has_left) return true;
  if (g.limit != 0 && g.placed >= g.limit) {
    w.extras->is_parked = true;
    g.parked.set(w);
    return false;
  }
  ++g.placed;
  w.extras->has_place = true;
  return true;
}

bool groups::yield(group_core& g, work_core& w) noexcept {
  const base::lock_guard guard(lock_);
  if (std::exchange(w.extras->has_place, false)) --g.placed;
  if (!std::exchange(w.extras->is_parked, false)) return false;
  g.parked.remove(w);
  return true;
}

work_core* groups::next_parked(group_core& g) noexcept {
  const base::lock_guard guard(lock_);
  return g.limit != 0 && g.placed >= g.limit ? nullptr : unpark(g);
}

work_core* groups::take_parked() noexcept {
  const base::lock_guard guard(lock_);
  for (const auto& [name, each] : all_) {
    if (work_core* const out = unpark(*each); out != nullptr) return out;
  }
  return nullptr;
}

/// Under the lock.
work_core* groups::unpark(group_core& g) noexcept {
  auto* const out = static_cast<work_core*>(g.parked.get({}));
  if (out != nullptr) out->extras->is_parked = false;
  return out;
}

void groups::limit(group_core& g, unsigned most) noexcept {
  const base::lock_guard guard(lock_);
  g.limit = most;
}

/// Under the lock. Returns true also if `high` is `low`.
bool groups::is_above(const group_core& high, group_core& low) noexcept {
  return any_of(low, &group_core::parents, [&](const group_core& each) { return &each == &high; });
}

void groups::relate(std::string_view parent, std::string_view child) {
  group_core& high = at(parent);
  group_core& low = at(child);
  {
    const base::lock_guard guard(lock_);
    if (is_above(low, high))
      throw error(errc::cycle, (std::string("group ") + high.name + " would be above itself").c_str());
    if (std::find(high.children.begin(), high.children.end(), &low) != high.children.end()) return;
    high.children.push_back(&low);
    try {
      low.parents.push_back(&high);
    } catch (...) {
      high.children.pop_back();
      throw;
    }
    // A job below may be among the threads that wait for a group above. It must find that it would wait for
    // itself.
    tell_upwards(high);
  }
  call_waiters();
}

void groups::unrelate(std::string_view parent, std::string_view child) noexcept {
  group_core* const high = find(parent);
  group_core* const low = find(child);
  if (high == nullptr || low == nullptr) return;
  {
    const base::lock_guard guard(lock_);
    std::erase(high->children, low);
    std::erase(low->parents, high);
    // A waiter of the group above waits for fewer jobs now.
    tell_upwards(*high);
  }
  call_waiters();
}

bool groups::set_paused(group_core& g, bool to) noexcept {
  const base::lock_guard guard(lock_);
  return std::exchange(g.paused, to) != to;
}

held_works groups::snapshot(std::string_view name) {
  held_works found;
  group_core* const top = find(name);
  if (top == nullptr) return found;
  const base::lock_guard guard(lock_);
  std::size_t count = 0;
  bool has_joined = false;
  any_of(*top, &group_core::children, [&](const group_core& each) {
    count += each.member_count;
    has_joined = has_joined || each.joined != nullptr;
    return false;
  });
  found.reserve(count);
  any_of(*top, &group_core::children, [&](const group_core& each) {
    // A member is not over, so it has a reference.
    for (work_core* w = each.members; w != nullptr; w = w->extras->group_next) found.add(*w, w->extras->turn);
    // Skips a job that has ended: the ending thread is about to take it out.
    for (const membership* m = each.joined; m != nullptr; m = m->next) {
      if (!is_final(m->work->load().status())) found.add(*m->work, m->turn);
    }
    return false;
  });
  if (has_joined) found.drop_duplicates();
  return found;
}

/// Under the lock.
bool groups::is_empty(group_core& g) noexcept {
  return !any_of(g, &group_core::children, [](const group_core& each) { return each.member_count != 0; });
}

/// Counts a waiter. While it exists, a thread that takes a job out of the group notifies the group's waiters.
class groups::counted_waiter {
 public:
  counted_waiter(groups& all, group_core& g) noexcept : all_(all), group_(g) {
    const base::lock_guard guard(all_.lock_);
    ++group_.waiters;
  }
  counted_waiter(const counted_waiter&) = delete;
  counted_waiter& operator=(const counted_waiter&) = delete;
  ~counted_waiter() {
    const base::lock_guard guard(all_.lock_);
    --group_.waiters;
  }

 private:
  groups& all_;
  group_core& group_;
};

bool groups::wait(std::string_view name, base::time_point deadline) {
  group_core* const top = find(name);
  if (top == nullptr) return true;
  const work_core* const me = work_here();
  const bool is_ours = me != nullptr && me->pool == &pool_;
  const blocked_on said(top->left);
  const counted_waiter mine(*this, *top);
  for (;;) {
    // acquire: before the check.
    const std::uint32_t seen = top->left.load(base::order::acquire);
    {
      const base::lock_guard guard(lock_);
      if (is_empty(*top)) return true;
      if (is_ours && has_within(*me, *top))
        throw error(errc::would_deadlock, "a work waits for its own group");
    }
    said.demand_no_force();
    const base::time_point until = pool_.sleep_until(deadline);
    if (base::futex_wait(top->left, seen, until) == base::wait_result::timed_out && until == deadline)
      return false;
  }
}

void groups::rouse_all() noexcept {
  {
    const base::lock_guard guard(lock_);
    for (const auto& [name, each] : all_) call(*each);
  }
  call_waiters();
}

}  // namespace rota::pool::detail
