// Jobs that come after others: waiting for predecessors, and the check that no cycle arises.
#include "pool/demand.hpp"
#include "pool/pool_core.hpp"

#include <rota/pool/errors.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rota::pool::detail {

namespace {

/// Returns the error for the path from `w` to `last`, one of its predecessors.
cycle_error cycle_error_of(const work_core& w,
                           work_core* last,
                           const std::unordered_map<work_core*, work_core*>& from) {
  std::vector<work_id> path;
  for (work_core* each = last; each != &w; each = from.at(each)) path.push_back({each->id});
  path.push_back({w.id});
  std::reverse(path.begin(), path.end());
  std::string what = "works would wait for each other: ";
  for (const work_id each : path) what += std::to_string(each.value) + " before ";
  return {(what + std::to_string(w.id)).c_str(), std::move(path)};
}

}  // namespace

/// Throws if a predecessor comes after `w`. Other jobs may wait for `w` already if it could be found. Called
/// under graph_lock_, as is the linking that follows.
void pool_core::demand_no_cycle(work_core& w, const std::vector<work_core*>& after) {
  if (!w.load().has(listed) && std::find(after.begin(), after.end(), &w) == after.end()) return;
  std::unordered_map<work_core*, work_core*> from{{&w, nullptr}};
  std::vector<work_core*> look{&w};
  while (!look.empty()) {
    work_core* const now = look.back();
    look.pop_back();
    if (std::find(after.begin(), after.end(), now) != after.end()) throw cycle_error_of(w, now, from);
    const base::lock_guard guard(now->lock);
    for (const waiting_node* each = now->waiting; each != nullptr; each = each->next) {
      if (each->successor != nullptr && from.try_emplace(each->successor, now).second)
        look.push_back(each->successor);
    }
  }
}

// PROTOCOL: circles
//   A cycle needs an id that existed before the predecessors of its job were given: a reserved one. All other
//   jobs name their predecessors before they have an id, so they come after older ones. But the edge that
//   closes a cycle may belong to any job: another thread may have found that job, by its name, its group or
//   among the waiting jobs, before it was linked. So once an id was reserved, all edges of a job are made in
//   one critical section, after a check whether its predecessors come after it. A job that has not seen the
//   flag yet comes after no reserved one, however far away.

/// Links the job to its predecessors. The job is `created` or `blocked` during this call: `missing` counts
/// one for it.
void pool_core::link_after(work_core& w, const std::vector<work_id>& after) {
  work_extras& e = *w.extras;
  std::vector<work_core*> found;
  struct releaser {
    pool_core* pool;
    std::vector<work_core*>* all;
    ~releaser() {
      for (work_core* each : *all) {
        if (each != nullptr) pool->drop(*each);
      }
    }
  } const last{this, &found};
  found.reserve(after.size());
  for (const work_id id : after) {
    demand(memory.was_drawn(id.value), "work_options::after names an id that this pool never gave out");
    found.push_back(memory.find(id.value));
  }
  e.edges = std::vector<waiting_node>(after.size());
  std::optional<base::lock_guard> alone;
  // acquire: pairs with reserve(): a thread that has a reserved id, or the id of a job that comes after it,
  // sees the flag.
  if (has_reserved_.load(base::order::acquire)) {
    alone.emplace(graph_lock_);
    demand_no_cycle(w, found);
  }
  // From here on nothing throws.
  word seen{};
  static_cast<void>(w.apply<rule::place>(seen, work_status::blocked));
  // relaxed: published by the lists' locks.
  e.missing.store(static_cast<std::uint32_t>(after.size()) + 1, base::order::relaxed);
  work_core* failed = nullptr;
  for (std::size_t i = 0; i < found.size(); ++i) {
    w.retain();
    if (found[i] == nullptr) {
      resolve_late(w, after[i].value, failed);
      continue;
    }
    e.edges[i].successor = &w;
    const bool is_listed = enter_list(*found[i], e.edges[i]);
    if (!is_listed) resolve(w, root_of_failure(*found[i]), found[i]->load(), failed);
  }
  alone.reset();
  arm_from_submit(w);
  w.retain();
  resolve(w, 0, word{0}.to(work_status::succeeded), failed);
  finish_failed(failed);
}

/// Resolves a predecessor that has ended, and the slot of which is used by another job.
void pool_core::resolve_late(work_core& w, std::uint64_t id, work_core*& failed) noexcept {
  failure_book::entry end{};
  {
    const base::lock_guard guard(lock_);
    end = failures_.find(id);
  }
  resolve(w, end.root, word{0}.to(end.how), failed);
}

}  // namespace rota::pool::detail
