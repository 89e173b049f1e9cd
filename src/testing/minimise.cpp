// A failing schedule with fewer preemptions, by trying: what a random walk finds has dozens that do not
// matter.
#include "testing/explorer.hpp"

#include <tuple>
#include <utility>

namespace rota::testing::detail {

namespace {

/// What fails, without the places and the list of threads.
std::string_view headline(std::string_view what) noexcept { return what.substr(0, what.find('\n')); }

void drop_defaults(std::vector<decision>& path) {
  while (!path.empty() && path.back().taken == 0) path.pop_back();
}

}  // namespace

bool explorer::attempt::simpler_than(const attempt& other) const noexcept {
  return std::tuple(preemptions, path.size(), steps) <
         std::tuple(other.preemptions, other.path.size(), other.steps);
}

bool explorer::fails_alike(search& s) {
  if (runs_left_ == 0) return false;
  --runs_left_;
  return !machine_.run(body_, s) && headline(machine_.what()) == headline(report_.what);
}

explorer::attempt explorer::last_attempt(const search& s) const {
  attempt last{s.path(), s.bound(), s.preemptions(), machine_.steps()};
  drop_defaults(last.path);
  return last;
}

bool explorer::try_path(std::vector<decision> path, attempt& best) {
  search s = follower(best.bound, std::move(path));
  s.tolerate_misfits();
  if (!fails_alike(s)) return false;
  attempt found = last_attempt(s);
  if (!found.simpler_than(best)) return false;
  best = std::move(found);
  return true;
}

// The first alternative from some decision on.
bool explorer::cut_end(attempt& best) {
  for (std::size_t length = 0; length < best.path.size(); ++length) {
    if (length > 0 && best.path[length - 1].taken == 0) continue;
    if (try_path({best.path.begin(), best.path.begin() + static_cast<std::ptrdiff_t>(length)}, best))
      return true;
  }
  return false;
}

bool explorer::drop_one(attempt& best) {
  for (std::size_t i = best.path.size(); i-- > 0;) {
    if (best.path[i].taken == 0) continue;
    auto path = best.path;
    path[i].taken = 0;
    if (try_path(std::move(path), best)) return true;
  }
  return false;
}

// What no single change improves may still have a simpler sibling: all schedules with fewer preemptions, as far
// as the runs go.
bool explorer::search_below(attempt& best) {
  options o = options_;
  o.search = search_kind::dfs;
  for (unsigned bound = 0; bound < best.preemptions && runs_left_ > 0; ++bound) {
    search s(o, bound);
    do {
      if (!fails_alike(s)) continue;
      best = last_attempt(s);
      return true;
    } while (runs_left_ > 0 && s.next());
  }
  return false;
}

void explorer::minimise(const search& s) {
  runs_left_ = options_.minimise_runs;
  attempt best = last_attempt(s);
  bool shorter = false;
  while (cut_end(best) || drop_one(best)) shorter = true;
  if (options_.search != search_kind::dfs && search_below(best)) shorter = true;
  if (!shorter) return;
  search last = follower(best.bound, best.path);
  if (!machine_.run(body_, last)) adopt(last);
}

}  // namespace rota::testing::detail
