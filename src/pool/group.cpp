#include "pool/group.hpp"

#include "base/futex.hpp"
#include "pool/absence.hpp"
#include "pool/extras.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>

#include <algorithm>

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
  const base::lock_guard guard(lock_);
  work_extras& e = *w.extras;
  if (!e.in_group) return;
  e.in_group = false;
  (e.group_previous != nullptr ? e.group_previous->extras->group_next : g.members) = e.group_next;
  if (e.group_next != nullptr) e.group_next->extras->group_previous = e.group_previous;
  --g.member_count;
  tell_upwards(g);
}

void groups::hold(group_core& g) noexcept {
  const base::lock_guard guard(lock_);
  ++g.member_count;
}

void groups::let_go(group_core& g) noexcept {
  const base::lock_guard guard(lock_);
  --g.member_count;
  tell_upwards(g);
}

/// Under the lock. Who waits for the group, or for one above it, looks again.
void groups::tell_upwards(group_core& g) noexcept {
  // release. Pairs with wait().
  g.left.fetch_add(1, base::order::release);
  base::futex_wake(&g.left, 1 << 20);
  for (group_core* const each : g.parents) tell_upwards(*each);
}

bool groups::admit(group_core& g, work_core& w) noexcept {
  const base::lock_guard guard(lock_);
  if (w.extras->has_place) return true;
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

bool groups::is_above(const group_core& high, const group_core& low) noexcept {
  return std::any_of(low.parents.begin(), low.parents.end(), [&](const group_core* each) {
    return each == &high || is_above(high, *each);
  });
}

bool groups::is_within(const group_core& g, std::string_view name) noexcept {
  const group_core* const top = find(name);
  const base::lock_guard guard(lock_);
  return top != nullptr && (top == &g || is_above(*top, g));
}

void groups::relate(std::string_view parent, std::string_view child) {
  group_core& high = at(parent);
  group_core& low = at(child);
  const base::lock_guard guard(lock_);
  if (&high == &low || is_above(low, high))
    throw error(errc::cycle, (std::string("group ") + high.name + " would be above itself").c_str());
  if (std::find(high.children.begin(), high.children.end(), &low) != high.children.end()) return;
  high.children.push_back(&low);
  try {
    low.parents.push_back(&high);
  } catch (...) {
    high.children.pop_back();
    throw;
  }
}

void groups::unrelate(std::string_view parent, std::string_view child) noexcept {
  group_core* const high = find(parent);
  group_core* const low = find(child);
  if (high == nullptr || low == nullptr) return;
  const base::lock_guard guard(lock_);
  std::erase(high->children, low);
  std::erase(low->parents, high);
  // Who waits for the one above waits for less now.
  tell_upwards(*high);
}

bool groups::is_paused(const group_core& g) noexcept {
  const base::lock_guard guard(lock_);
  return holds_back(g);
}

/// Under the lock.
bool groups::holds_back(const group_core& g) noexcept {
  return g.paused || std::any_of(g.parents.begin(), g.parents.end(), [](const group_core* each) {
           return holds_back(*each);
         });
}

bool groups::set_paused(group_core& g, bool to) noexcept {
  const base::lock_guard guard(lock_);
  return std::exchange(g.paused, to) != to;
}

/// Under the lock. Each once.
std::vector<const group_core*> groups::family_of(const group_core& g) {
  std::vector<const group_core*> found{&g};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const group_core* child : found[i]->children) {
      if (std::find(found.begin(), found.end(), child) == found.end()) found.push_back(child);
    }
  }
  return found;
}

held_works groups::snapshot(std::string_view name) {
  held_works found;
  group_core* const top = find(name);
  if (top == nullptr) return found;
  const base::lock_guard guard(lock_);
  const auto family = family_of(*top);
  std::size_t count = 0;
  for (const group_core* each : family) count += each->member_count;
  found.reserve(count);
  for (const group_core* each : family) {
    // A member is not over, so somebody has a reference.
    for (work_core* w = each->members; w != nullptr; w = w->extras->group_next) found.add(*w);
  }
  return found;
}

bool groups::wait(std::string_view name, base::time_point deadline) {
  group_core* const top = find(name);
  if (top == nullptr) return true;
  const blocked_on said(top->left);
  for (;;) {
    // acquire. Before the look.
    const std::uint32_t seen = top->left.load(base::order::acquire);
    {
      const base::lock_guard guard(lock_);
      const auto family = family_of(*top);
      if (std::all_of(family.begin(), family.end(), [](const auto* each) { return each->member_count == 0; }))
        return true;
    }
    said.demand_no_force();
    const base::time_point until = pool_.sleep_until(deadline);
    if (base::futex_wait(top->left, seen, until) == base::wait_result::timed_out && until == deadline)
      return false;
  }
}

void groups::rouse_all() noexcept {
  const base::lock_guard guard(lock_);
  for (const auto& [name, each] : all_) {
    // release. Pairs with wait().
    each->left.fetch_add(1, base::order::release);
    base::futex_wake(&each->left, 1 << 20);
  }
}

}  // namespace rota::pool::detail
