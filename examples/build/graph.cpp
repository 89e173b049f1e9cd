#include "build/graph.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace build {
namespace {

std::size_t at(graph& g, const std::string& path) {
  const auto [place, is_new] = g.by_path.try_emplace(path, g.files.size());
  if (is_new) g.files.push_back({.path = path, .maker = none});
  return place->second;
}

/// A depth-first search without recursion: a chain may be as long as the file.
class walk {
 public:
  explicit walk(const graph& g) : g_(g), marks_(g.edges.size(), mark::fresh) {}

  /// Returns false if there is a circle; see circle().
  bool visit(std::size_t first) {
    if (!enter(first)) return true;
    while (!path_.empty()) {
      step& here = path_.back();
      const std::vector<std::size_t>& inputs = g_.edges[here.statement].inputs;
      if (here.next == inputs.size()) {
        marks_[here.statement] = mark::done;
        order_.push_back(here.statement);
        path_.pop_back();
        continue;
      }
      const std::size_t file = inputs[here.next++];
      const std::size_t maker = g_.files[file].maker;
      if (maker == none || enter(maker)) continue;
      if (marks_[maker] == mark::open) {
        closing_file_ = file;
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<std::size_t> take_order() { return std::move(order_); }

  /// Describes the circle, "a -> b -> a": each file needs the next one.
  [[nodiscard]] std::string circle() const {
    const std::size_t last = g_.files[closing_file_].maker;
    auto from = std::find_if(path_.begin(), path_.end(), [&](const step& s) { return s.statement == last; });
    std::string out = g_.files[closing_file_].path;
    for (; from != path_.end(); ++from)
      out += " -> " + g_.files[g_.edges[from->statement].inputs[from->next - 1]].path;
    return out;
  }
  [[nodiscard]] std::size_t statement_of_circle() const { return g_.files[closing_file_].maker; }

 private:
  enum class mark : unsigned char { fresh, open, done };
  struct step {
    std::size_t statement;
    std::size_t next;
  };

  bool enter(std::size_t statement) {
    if (marks_[statement] != mark::fresh) return false;
    marks_[statement] = mark::open;
    path_.push_back({.statement = statement, .next = 0});
    return true;
  }

  const graph& g_;
  std::vector<mark> marks_;
  std::vector<step> path_;
  std::vector<std::size_t> order_;
  std::size_t closing_file_ = none;
};

std::optional<complaint> add_statement(const manifest& m, graph& g, std::size_t index) {
  const statement& s = m.statements[index];
  edge made;
  for (const std::string& path : s.outputs) {
    const std::size_t file = at(g, path);
    const std::size_t before = std::exchange(g.files[file].maker, index);
    if (before != none) {
      return complaint{
          s.line, "'" + path + "' is made twice: also in line " + std::to_string(m.statements[before].line)};
    }
    made.outputs.push_back(file);
  }
  for (const std::string& path : s.inputs) made.inputs.push_back(at(g, path));
  g.edges.push_back(std::move(made));
  return std::nullopt;
}

std::vector<std::size_t> roots(const graph& g) {
  std::vector<bool> is_needed(g.files.size());
  for (const edge& each : g.edges) {
    for (const std::size_t file : each.inputs) is_needed[file] = true;
  }
  std::vector<std::size_t> found;
  for (std::size_t file = 0; file < g.files.size(); ++file) {
    if (!is_needed[file] && g.files[file].maker != none) found.push_back(file);
  }
  return found;
}

}  // namespace

std::expected<graph, complaint> make_graph(const manifest& m) {
  graph g;
  for (std::size_t i = 0; i < m.statements.size(); ++i) {
    if (auto wrong = add_statement(m, g, i)) return std::unexpected(std::move(*wrong));
  }
  walk all(g);
  for (std::size_t i = 0; i < g.edges.size(); ++i) {
    if (all.visit(i)) continue;
    return std::unexpected(
        complaint{m.statements[all.statement_of_circle()].line, "dependency cycle: " + all.circle()});
  }
  return g;
}

std::expected<std::vector<std::size_t>, complaint> choose_targets(const manifest& m,
                                                                  const graph& g,
                                                                  const std::vector<named_target>& wanted) {
  const std::vector<named_target>& named = wanted.empty() ? m.defaults : wanted;
  if (named.empty()) return roots(g);
  std::vector<std::size_t> found;
  for (const named_target& each : named) {
    const std::size_t file = g.find(each.path);
    if (file == none) return std::unexpected(complaint{each.line, "unknown target '" + each.path + "'"});
    found.push_back(file);
  }
  return found;
}

std::vector<std::size_t> in_order(const graph& g, const std::vector<std::size_t>& targets) {
  walk some(g);
  for (const std::size_t file : targets) {
    // There is no circle: make_graph() has checked that.
    if (g.files[file].maker != none) static_cast<void>(some.visit(g.files[file].maker));
  }
  return some.take_order();
}

}  // namespace build
