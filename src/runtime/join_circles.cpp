#include "runtime/join_circles.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>

namespace rota::detail {

namespace {

struct joiner {
  const core::header* task;
  const core::header* target;
  std::uint64_t id;
  std::size_t visit = 0;  // the number of the first walk that reached it
};

bool waits_in_a_join(const core::header& task) noexcept {
  // relaxed: for a report.
  const char* const waits_for = task.waits_for.load(base::order::relaxed);
  return task.word.load().is(core::lifecycle::idle) && waits_for != nullptr &&
         std::strcmp(waits_for, "join") == 0;
}

std::vector<joiner> joiners_of(core::registry& tasks) {
  std::vector<joiner> found;
  tasks.for_each([&found](const core::header& task) {
    // relaxed: the pointer is compared, and never dereferenced.
    if (waits_in_a_join(task)) found.push_back({&task, task.join_target.load(base::order::relaxed), task.id});
  });
  std::sort(found.begin(), found.end(), [](const joiner& a, const joiner& b) {
    return std::less<>()(a.task, b.task);
  });
  return found;
}

joiner* target_of(const joiner& from, std::vector<joiner>& all) noexcept {
  const auto at = std::lower_bound(
      all.begin(), all.end(), from.target, [](const joiner& each, const core::header* wanted) {
        return std::less<>()(each.task, wanted);
      });
  return at == all.end() || at->task != from.target ? nullptr : &*at;
}

join_circle circle_from(joiner& first, std::vector<joiner>& all) {
  join_circle ids;
  const joiner* at = &first;
  do {
    ids.push_back(at->id);
    at = target_of(*at, all);
  } while (at != &first);
  std::rotate(ids.begin(), std::min_element(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool has(const std::vector<join_circle>& all, const join_circle& one) noexcept {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

/// Each joiner has one target, so each walk visits a task once, and ends in a cycle or outside.
std::vector<join_circle> find_join_circles(core::registry& tasks) {
  std::vector<join_circle> circles;
  std::vector<joiner> all = joiners_of(tasks);
  for (std::size_t walk = 1; walk <= all.size(); ++walk) {
    joiner* at = &all[walk - 1];
    for (; at != nullptr && at->visit == 0; at = target_of(*at, all)) at->visit = walk;
    if (at != nullptr && at->visit == walk) circles.push_back(circle_from(*at, all));
  }
  return circles;
}

std::string to_string(const join_circle& circle) {
  std::string text = "task " + std::to_string(circle.front());
  for (std::size_t i = 1; i <= circle.size(); ++i) {
    text += i == 1 ? " waits for task " : ", which waits for task ";
    text += std::to_string(circle[i % circle.size()]);
  }
  return text;
}

bool circle_watch::look(core::registry& tasks) noexcept {
  try {
    return look_and_report(tasks);
  } catch (const std::bad_alloc&) {
    return false;  // on a lack of memory there is no report
  }
}

bool circle_watch::look_and_report(core::registry& tasks) {
  std::vector<join_circle> now = find_join_circles(tasks);
  std::erase_if(reported_, [&now](const join_circle& each) { return !has(now, each); });
  std::erase_if(now, [this](const join_circle& each) { return has(reported_, each); });
  std::vector<join_circle> fresh;
  for (join_circle& each : now) {
    const bool stays = has(seen_, each);
    if (stays) std::fprintf(stderr, "rota: %s: only a cancellation can end this\n", to_string(each).c_str());
    (stays ? reported_ : fresh).push_back(std::move(each));
  }
  seen_ = std::move(fresh);
  return !seen_.empty();
}

}  // namespace rota::detail
