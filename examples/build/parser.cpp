#include "build/parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "build/reader.hpp"
#include "build/text.hpp"

namespace build {
namespace {

struct rule {
  unsigned line = 0;
  unexpanded_bindings variables;
};

/// A statement with its variables. Commands are expanded after the whole file has been read.
struct raw_statement {
  statement out;
  bindings variables;
};

constexpr std::array known_variables{"command", "description", "pool"};
/// Variables with a meaning in Ninja that this program does not implement. A file that uses them is refused.
constexpr std::array refused_variables{
    "depfile", "deps", "dyndep", "generator", "msvc_deps_prefix", "restat", "rspfile", "rspfile_content"};

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<const char*, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class parser {
 public:
  explicit parser(std::string_view content) : in_(content) {}

  manifest run() {
    for (;;) {
      const unsigned spaces = in_.next_line();
      if (in_.is_at_end()) break;
      if (spaces != 0) in_.refuse("an indented line that belongs to no statement");
      one();
    }
    for (raw_statement& each : raw_) finish(each);
    return std::move(out_);
  }

 private:
  struct raw_paths {
    std::vector<text> outputs, more_outputs, inputs, implicit, order_only;
  };

  void one();
  void read_pool(unsigned line);
  void read_rule(unsigned line);
  void read_statement(unsigned line);
  void read_default(unsigned line);
  void read_variable(const std::string& name);
  std::vector<text> read_paths();
  raw_paths read_all_paths(statement& s);
  static std::size_t add_paths(std::vector<std::string>& to,
                               const std::vector<text>& from,
                               const bindings& with,
                               unsigned line);
  std::pair<std::string, text> read_binding();
  void finish(raw_statement& raw);
  void demand_pool(const statement& s) const;

  reader in_;
  manifest out_;
  bindings variables_;
  std::map<std::string, rule, std::less<>> rules_;
  std::vector<raw_statement> raw_;
};

void parser::one() {
  const unsigned line = in_.line();
  const std::string name = in_.word("a statement or the name of a variable");
  if (in_.take("=")) return read_variable(name);
  if (name == "include" || name == "subninja") in_.refuse("'" + name + "' is not supported");
  if (name == "pool") return read_pool(line);
  if (name == "rule") return read_rule(line);
  if (name == "build") return read_statement(line);
  if (name == "default") return read_default(line);
  in_.refuse("expected '=' after '" + name + "'");
}

void parser::read_variable(const std::string& name) {
  std::string value = expand(in_.value(), variables_);
  variables_.insert_or_assign(name, std::move(value));
}

std::pair<std::string, text> parser::read_binding() {
  std::string name = in_.word("the name of a variable");
  in_.demand("=");
  return {std::move(name), in_.value()};
}

void parser::read_pool(unsigned line) {
  ninja_pool pool{.name = in_.word("the name of a pool"), .depth = 0, .line = line};
  in_.end_of_line();
  bool has_depth = false;
  while (in_.next_indented_line()) {
    const unsigned here = in_.line();
    const auto [name, value] = read_binding();
    const std::string depth = expand(value, variables_);
    if (name != "depth") throw syntax_error(here, "a pool has a depth, and no '" + name + "'");
    const char* const end = depth.data() + depth.size();
    const auto [last, failed] = std::from_chars(depth.data(), end, pool.depth);
    if (failed != std::errc() || last != end)
      throw syntax_error(here, "'" + depth + "' is no depth of a pool");
    has_depth = true;
  }
  if (!has_depth) throw syntax_error(line, "pool '" + pool.name + "' has no depth");
  for (const ninja_pool& each : out_.pools) {
    if (each.name == pool.name) {
      throw syntax_error(
          line, "a second pool '" + pool.name + "': the first is in line " + std::to_string(each.line));
    }
  }
  out_.pools.push_back(std::move(pool));
}

void parser::read_rule(unsigned line) {
  const std::string name = in_.word("the name of a rule");
  in_.end_of_line();
  rule made{.line = line, .variables = {}};
  while (in_.next_indented_line()) {
    const unsigned here = in_.line();
    auto [variable, value] = read_binding();
    if (!is_one_of(variable, known_variables))
      throw syntax_error(here, "'" + variable + "' in a rule is not supported");
    made.variables.insert_or_assign(std::move(variable), std::move(value));
  }
  if (!made.variables.contains("command")) throw syntax_error(line, "rule '" + name + "' has no command");
  if (name == "phony") throw syntax_error(line, "'phony' is a rule of its own");
  const auto [there, is_new] = rules_.try_emplace(name, std::move(made));
  if (!is_new) {
    throw syntax_error(
        line, "a second rule '" + name + "': the first is in line " + std::to_string(there->second.line));
  }
}

std::vector<text> parser::read_paths() {
  std::vector<text> found;
  for (text path = in_.path(); !path.empty(); path = in_.path()) found.push_back(std::move(path));
  return found;
}

/// Returns the number of paths after the addition.
std::size_t parser::add_paths(std::vector<std::string>& to,
                              const std::vector<text>& from,
                              const bindings& with,
                              unsigned line) {
  for (const text& each : from) {
    const std::string path = expand(each, with);
    if (path.empty()) throw syntax_error(line, "an empty path");
    to.push_back(tidy_path(path));
  }
  return to.size();
}

parser::raw_paths parser::read_all_paths(statement& s) {
  raw_paths found;
  found.outputs = read_paths();
  if (found.outputs.empty()) in_.refuse("expected the path of an output");
  if (in_.take("|")) found.more_outputs = read_paths();
  in_.demand(":");
  s.rule = in_.word("the name of a rule");
  s.is_phony = s.rule == "phony";
  if (!s.is_phony && !rules_.contains(s.rule)) in_.refuse("unknown rule '" + s.rule + "'");
  found.inputs = read_paths();
  if (in_.take("|@")) in_.refuse("validations ('|@') are not supported");
  const bool is_order_only = in_.take("||");
  if (!is_order_only && in_.take("|")) found.implicit = read_paths();
  if (is_order_only || in_.take("||")) found.order_only = read_paths();
  if (in_.take("|@")) in_.refuse("validations ('|@') are not supported");
  in_.end_of_line();
  return found;
}

void parser::read_statement(unsigned line) {
  raw_statement raw;
  statement& s = raw.out;
  s.line = line;
  const raw_paths paths = read_all_paths(s);
  while (in_.next_indented_line()) {
    const unsigned here = in_.line();
    auto [name, value] = read_binding();
    if (is_one_of(name, refused_variables)) throw syntax_error(here, "'" + name + "' is not supported");
    raw.variables.insert_or_assign(std::move(name), expand(value, variables_));
  }
  bindings scope = variables_;
  for (const auto& [name, value] : raw.variables) scope.insert_or_assign(name, value);
  s.explicit_outputs = add_paths(s.outputs, paths.outputs, scope, line);
  add_paths(s.outputs, paths.more_outputs, scope, line);
  s.explicit_inputs = add_paths(s.inputs, paths.inputs, scope, line);
  s.needed_inputs = add_paths(s.inputs, paths.implicit, scope, line);
  add_paths(s.inputs, paths.order_only, scope, line);
  raw_.push_back(std::move(raw));
}

void parser::read_default(unsigned line) {
  const std::vector<text> paths = read_paths();
  if (paths.empty()) in_.refuse("expected the path of a target");
  in_.end_of_line();
  std::vector<std::string> found;
  add_paths(found, paths, variables_, line);
  for (std::string& each : found) out_.defaults.push_back({.path = std::move(each), .line = line});
}

void parser::demand_pool(const statement& s) const {
  const auto is_it = [&](const ninja_pool& each) { return each.name == s.pool; };
  if (s.pool.empty() || std::any_of(out_.pools.begin(), out_.pools.end(), is_it)) return;
  throw syntax_error(s.line, "unknown pool '" + s.pool + "'");
}

void parser::finish(raw_statement& raw) {
  statement& s = raw.out;
  if (!s.is_phony) {
    rule_scope scope(raw.variables, rules_.find(s.rule)->second.variables, variables_);
    scope.set("in", shell_words(s.inputs.data(), s.explicit_inputs));
    scope.set("out", shell_words(s.outputs.data(), s.explicit_outputs));
    try {
      s.command = scope.value_of("command");
      s.description = scope.value_of("description");
      s.pool = scope.value_of("pool");
    } catch (const std::runtime_error& e) {
      throw syntax_error(s.line, "rule '" + s.rule + "': " + e.what());
    }
    demand_pool(s);
  }
  out_.statements.push_back(std::move(s));
}

}  // namespace

std::expected<manifest, complaint> parse(std::string_view content) {
  try {
    return parser(content).run();
  } catch (const syntax_error& e) {
    return std::unexpected(complaint{e.line(), e.what()});
  }
}

}  // namespace build
