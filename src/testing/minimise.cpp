// Reduces a failing schedule to fewer preemptions, by trying. A random walk finds schedules with dozens of
// irrelevant preemptions.
#include "testing/explorer.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rota::testing::detail {

namespace {

/// Returns the failure without the places and the list of threads.
std::string_view headline(std::string_view what) noexcept { return what.substr(0, what.find('\n')); }

constexpr unsigned few_preemptions = 4;  // enough for nearly all known bugs

void drop_defaults(std::vector<decision>& path) {
  while (!path.empty() && path.back().taken == 0) path.pop_back();
}

}  // namespace

bool explorer::attempt::simpler_than(const attempt& other) const noexcept {
  const auto taken = [](const attempt& a) {
    return std::count_if(a.path.begin(), a.path.end(), [](const decision& d) { return d.taken != 0; });
  };
  return std::tuple(preemptions, taken(*this), path.size(), steps) <
         std::tuple(other.preemptions, taken(other), other.path.size(), other.steps);
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

// Tries the first alternative from some decision on.
bool explorer::cut_end(attempt& best) {
  for (std::size_t length = 0; length < best.path.size(); ++length) {
    if (length > 0 && best.path[length - 1].taken == 0) continue;
    if (try_path({best.path.begin(), best.path.begin() + static_cast<std::ptrdiff_t>(length)}, best))
      return true;
  }
  return false;
}

/// Resets halves, quarters, and so on, down to single choices: most choices of a random walk are irrelevant.
bool explorer::drop_some(attempt& best) {
  bool shorter = false;
  for (std::size_t size = std::max<std::size_t>(best.path.size() / 2, 1); size > 0; size /= 2) {
    for (std::size_t end = best.path.size(); end > 0; end -= std::min(size, end)) {
      end = std::min(end, best.path.size());
      auto path = best.path;
      const auto last = path.begin() + static_cast<std::ptrdiff_t>(end);
      const auto first = last - static_cast<std::ptrdiff_t>(std::min(size, end));
      if (std::all_of(first, last, [](const decision& d) { return d.taken == 0; })) continue;
      std::for_each(first, last, [](decision& d) { d.taken = 0; });
      if (try_path(std::move(path), best)) shorter = true;
    }
  }
  return shorter;
}

// If no single change helps, there may still be a simpler schedule: tries random schedules with fewer
// preemptions.
bool explorer::search_below(attempt& best) {
  options o = options_;
  o.search = search_kind::few;
  const unsigned most = std::min(best.preemptions, few_preemptions);
  const unsigned share = runs_left_ / (most + 1);
  for (o.preemptions = 0; o.preemptions < most; ++o.preemptions) {
    search s(o, search::unbounded);
    for (unsigned i = 0; i < share && runs_left_ > 0; ++i) {
      if (!fails_alike(s)) continue;
      attempt found = last_attempt(s);
      if (!found.simpler_than(best)) continue;
      best = std::move(found);
      return true;
    }
  }
  return false;
}

void explorer::minimise(const search& s) {
  attempt best = last_attempt(s);
  runs_left_ = options_.minimise_runs;
  bool shorter = options_.search != search_kind::dfs && search_below(best);
  runs_left_ = options_.minimise_runs;
  while (cut_end(best) || drop_some(best)) shorter = true;
  if (!shorter) return;
  search last = follower(best.bound, best.path);
  if (!machine_.run(body_, last)) adopt(last);
}

}  // namespace rota::testing::detail
