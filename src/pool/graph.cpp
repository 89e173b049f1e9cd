// Graphs of jobs.
#include <rota/pool/graph.hpp>

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>

namespace rota::pool {

struct graph::entry {
  std::string name;
  std::unique_ptr<act> what;
  std::vector<std::size_t> after;
};

graph::act::~act() = default;
graph::graph() {
  static base::atomic<std::uint64_t> last{0};
  // relaxed: a number.
  id_ = last.fetch_add(1, base::order::relaxed) + 1;
}
graph::graph(graph&&) noexcept = default;
graph& graph::operator=(graph&&) noexcept = default;
graph::~graph() = default;

bool graph_report::succeeded() const noexcept {
  return std::all_of(nodes.begin(), nodes.end(), [](const node_report& each) {
    return each.status == work_status::succeeded;
  });
}

graph::act& graph::at(std::size_t index, std::uint64_t owner) const {
  if (owner != id_ || index >= entries_.size())
    throw std::invalid_argument("graph: a node that is none of this graph's");
  return *entries_[index].what;
}

std::size_t graph::append(std::string_view name, act* what, std::vector<std::size_t> after) {
  std::unique_ptr<act> kept(what);
  entries_.push_back({std::string(name), std::move(kept), std::move(after)});
  return entries_.size() - 1;
}

void graph::order(std::size_t earlier, std::size_t later) {
  if (later >= entries_.size() || earlier >= later)
    throw std::invalid_argument("graph::order: not two nodes of this graph, the earlier one added first");
  entries_[later].after.push_back(earlier);
}

std::size_t graph::size() const noexcept { return entries_.size(); }

const void* graph::result_at(std::size_t index) const noexcept {
  return index < entries_.size() ? entries_[index].what->value() : nullptr;
}

namespace {

/// Finds the path with the longest total run time of its nodes.
void find_critical(graph_report& report, const std::vector<std::vector<std::size_t>>& after) {
  constexpr auto none = static_cast<std::size_t>(-1);
  std::vector<std::chrono::nanoseconds> length(report.nodes.size());
  std::vector<std::size_t> before(report.nodes.size(), none);
  std::size_t last = none;
  for (std::size_t i = 0; i < report.nodes.size(); ++i) {
    for (const std::size_t each : after[i]) {
      if (before[i] == none || length[each] > length[before[i]]) before[i] = each;
    }
    length[i] = report.nodes[i].took + (before[i] == none ? std::chrono::nanoseconds(0) : length[before[i]]);
    if (last == none || length[i] > length[last]) last = i;
  }
  if (last == none) return;
  report.critical = length[last];
  for (; last != none; last = before[last]) report.critical_path.push_back(last);
  std::reverse(report.critical_path.begin(), report.critical_path.end());
}

void quote(std::string& into, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') into += '\\';
    into += c;
  }
}

std::string time_of(std::chrono::nanoseconds span) {
  char text[32];
  const auto count = static_cast<double>(span.count());
  if (count < 1e6) {
    std::snprintf(text, sizeof text, "%.1f us", count / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.1f ms", count / 1e6);
  }
  return text;
}

/// Stops the remaining jobs, and waits for them.
struct ends_all {
  std::vector<work<void>>* works;
  ~ends_all() {
    for (const work<void>& each : *works) each.stop();
    for (work<void>& each : *works) {
      const work_guard last(std::move(each));
    }
  }
};

}  // namespace

graph_report graph::run(thread_pool& pool, const work_options& options) {
  if (!options.after.empty() || options.id || !options.name.empty() || options.callback)
    throw std::invalid_argument("graph::run: work_options::after, id, name and callback must be empty");
  graph_report report;
  report.nodes.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].what->forget();
    report.nodes[i].name = entries_[i].name;
  }
  const base::time_point start = base::now();
  // The submitted jobs refer to the report, and to this graph.
  std::vector<work<void>> works;
  const ends_all last{&works};
  works.reserve(entries_.size());
  const thread_pool::busy_guard busy(pool);
  work_options each_options = options;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    each_options.after.clear();
    for (const std::size_t each : entries_[i].after) each_options.after.push_back(works[each].id());
    works.push_back(pool.submit(
        [&what = *entries_[i].what, &node = report.nodes[i], start] {
          struct stopwatch {
            node_report* node;
            base::time_point began;
            ~stopwatch() { node->took = base::now() - began; }
          } const timed{&node, base::now()};
          node.began = timed.began - start;
          what.run();
        },
        each_options));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const outcome<void> end = works[i].fetch();
    report.nodes[i].status = works[i].status();
    report.nodes[i].exception = end.exception();
  }
  report.took = base::now() - start;
  std::vector<std::vector<std::size_t>> after;
  after.reserve(entries_.size());
  for (const entry& each : entries_) after.push_back(each.after);
  for (const node_report& each : report.nodes) report.work += each.took;
  find_critical(report, after);
  return report;
}

std::string graph::to_dot() const { return to_dot(graph_report{}); }

std::string graph::to_dot(const graph_report& of) const {
  std::string text = "digraph works {\n  rankdir=LR;\n  node [shape=box];\n";
  const auto position = [&](std::size_t index) {
    return std::find(of.critical_path.begin(), of.critical_path.end(), index);
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    text += "  n" + std::to_string(i) + " [label=\"";
    quote(text, entries_[i].name);
    if (i < of.nodes.size()) text += "\\n" + time_of(of.nodes[i].took);
    text += '"';
    if (position(i) != of.critical_path.end()) text += ", style=bold";
    if (i < of.nodes.size() && of.nodes[i].status != work_status::succeeded) text += ", color=red";
    text += "];\n";
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    for (const std::size_t each : entries_[i].after) {
      text += "  n" + std::to_string(each) + " -> n" + std::to_string(i);
      const auto here = position(each);
      const bool is_critical =
          here != of.critical_path.end() && here + 1 != of.critical_path.end() && *(here + 1) == i;
      text += is_critical ? " [style=bold];\n" : ";\n";
    }
  }
  return text + "}\n";
}

}  // namespace rota::pool
