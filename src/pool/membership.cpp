// Jobs that join a group after their submit(), and jobs that leave a group before their end.
#include "pool/extras.hpp"
#include "pool/group.hpp"
#include "pool/pool_core.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace rota::pool::detail {

namespace {

/// The waker of a membership's node. It removes the job from the group.
constexpr waker_vtable at_end_vtable{
    .wake =
        [](void* data) noexcept {
          auto& ended = *static_cast<membership*>(data);
          ended.work->pool->circles.end(ended);
        },
    .wake_by_ref = [](void*) noexcept {},
    .clone = [](void* data) noexcept { return data; },
    .drop = [](void*) noexcept {},
};

}  // namespace

bool may_change_groups(const work_core& w) noexcept {
  const word now = w.load();
  return now.waits_to_begin() || now.is_running();
}

membership::membership(group_core& g, work_core& w) noexcept : group(&g), work(&w) {
  at_end.wake = waker(this, &at_end_vtable);
}

void held_works::drop_duplicates() noexcept {
  std::sort(all_.begin(), all_.end(), [](const entry& a, const entry& b) {
    return a.work != b.work ? std::less<>()(a.work, b.work) : a.turn < b.turn;
  });
  std::size_t kept = 0;
  for (const entry& each : all_) {
    if (kept != 0 && all_[kept - 1].work == each.work) {
      release(*each.work);
    } else {
      all_[kept++] = each;
    }
  }
  all_.resize(kept);
}

template <class F>
bool groups::any_group_of(const work_core& w, F f) noexcept {
  using stage = membership::stage;
  if (const work_extras* const e = w.extras; e != nullptr && e->group != nullptr && !e->has_left) {
    if (f(*e->group, e->turn, e->in_group ? stage::member : stage::ended)) return true;
  }
  for (const membership* m = w.joined; m != nullptr; m = m->next_of_work) {
    if (m->now != stage::outside && f(*m->group, m->turn, m->now)) return true;
  }
  return false;
}

/// Under the lock.
membership* groups::membership_in(const group_core& g, const work_core& w) noexcept {
  membership* m = w.joined;
  while (m != nullptr && m->group != &g) m = m->next_of_work;
  return m;
}

/// Under the lock.
void groups::enter(membership& m) noexcept {
  group_core& g = *m.group;
  m.work->retain();
  m.now = membership::stage::member;
  m.turn = ++joined_;
  m.previous = nullptr;
  m.next = g.joined;
  if (g.joined != nullptr) g.joined->previous = &m;
  g.joined = &m;
  ++g.member_count;
}

/// Under the lock. Returns true if the job was a member: then the reference is the caller's.
bool groups::exit(membership& m, membership::stage to) noexcept {
  if (m.now != membership::stage::member) return false;
  group_core& g = *m.group;
  m.now = to;
  (m.previous != nullptr ? m.previous->next : g.joined) = m.next;
  if (m.next != nullptr) m.next->previous = m.previous;
  --g.member_count;
  tell_upwards(g);
  return true;
}

bool groups::join_late(group_core& g, work_core& w) {
  auto made = std::make_unique<membership>(g, w);
  bool calls = false;
  {
    const base::lock_guard guard(lock_);
    if (!may_change_groups(w)) return false;
    if (w.extras != nullptr && w.extras->group == &g && w.extras->in_group) return true;
    membership* m = membership_in(g, w);
    if (m == nullptr) {
      if (!enter_list(w, made->at_end)) return false;
      m = made.release();
      m->next_of_work = std::exchange(w.joined, m);
    }
    if (m->now == membership::stage::member) return true;
    enter(*m);
    // The job itself may be waiting for this group. It then finds that it would wait for itself.
    tell_upwards(g);
    calls = called_ != nullptr;
  }
  if (calls) call_waiters();
  return true;
}

/// Removes the job from the group that it named in its submit(). Under the lock.
groups::departure groups::leave_own(group_core& g, work_core& w) noexcept {
  departure how;
  work_extras* const e = w.extras;
  if (e == nullptr || e->group != &g || !e->in_group) return how;
  unlink(g, w);
  e->has_left = true;
  how.was_member = true;
  if (std::exchange(e->has_place, false)) --g.placed;
  how.was_parked = std::exchange(e->is_parked, false);
  if (how.was_parked) g.parked.remove(w);
  tell_upwards(g);
  return how;
}

groups::departure groups::leave_early(group_core& g, work_core& w) noexcept {
  departure how;
  bool has_reference = false;
  {
    const base::lock_guard guard(lock_);
    if (!may_change_groups(w)) return how;
    how = leave_own(g, w);
    if (membership* const m = membership_in(g, w); m != nullptr)
      has_reference = exit(*m, membership::stage::outside);
    how.was_member = how.was_member || has_reference;
  }
  call_waiters();
  if (has_reference) pool_.drop(w);
  return how;
}

void groups::end(membership& ended) noexcept {
  work_core& w = *ended.work;
  bool has_reference;
  {
    const base::lock_guard guard(lock_);
    has_reference = exit(ended, membership::stage::ended);
  }
  if (!has_reference) return;
  call_waiters();
  pool_.drop(w);
}

void groups::forget_memberships(work_core& w) noexcept {
  while (w.joined != nullptr) {
    const std::unique_ptr<membership> first(w.joined);
    w.joined = first->next_of_work;
  }
}

// ---- questions about a job --------------------------------------------------------------------------------

std::string_view groups::name_of(const work_core& w) noexcept {
  const base::lock_guard guard(lock_);
  std::string_view name;
  std::uint64_t first = 0;
  any_group_of(w, [&](const group_core& each, std::uint64_t turn, membership::stage) {
    if (first != 0 && turn > first) return false;
    first = turn;
    name = each.name;
    return false;
  });
  return name;
}

bool groups::is_paused(const work_core& w) noexcept {
  const base::lock_guard guard(lock_);
  return any_group_of(w, [this](group_core& each, std::uint64_t, membership::stage) {
    return any_of(each, &group_core::parents, [](const group_core& above) { return above.paused; });
  });
}

/// Under the lock.
bool groups::has_within(const work_core& w, const group_core& top) noexcept {
  return any_group_of(w, [this, &top](group_core& each, std::uint64_t, membership::stage now) {
    return now == membership::stage::member && is_above(top, each);
  });
}

bool groups::is_within(const work_core& w, const group_core& top) noexcept {
  const base::lock_guard guard(lock_);
  return has_within(w, top);
}

std::uint64_t groups::turn_within(const work_core& w, std::string_view name) noexcept {
  const group_core* const top = find(name);
  if (top == nullptr) return 0;
  std::uint64_t first = 0;
  const base::lock_guard guard(lock_);
  any_group_of(w, [&](group_core& each, std::uint64_t turn, membership::stage) {
    if (is_above(*top, each) && (first == 0 || turn < first)) first = turn;
    return false;
  });
  return first;
}

}  // namespace rota::pool::detail
