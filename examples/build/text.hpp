// Text with variables, and their values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace build {

struct piece {
  bool is_variable;
  std::string text;
};
/// A text as written in the file: plain pieces and names of variables.
using text = std::vector<piece>;

using bindings = std::map<std::string, std::string, std::less<>>;
using unexpanded_bindings = std::map<std::string, text, std::less<>>;

/// Expands variables with values that contain no variables.
[[nodiscard]] std::string expand(const text& t, const bindings& variables);

/// The variables of a rule, as expanded in one statement.
class rule_scope {
 public:
  rule_scope(const bindings& of_statement, const unexpanded_bindings& of_rule, const bindings& of_file)
      : of_statement_(of_statement), of_rule_(of_rule), of_file_(of_file) {}

  /// Sets $in or $out.
  void set(std::string name, std::string value) { own_.insert_or_assign(std::move(name), std::move(value)); }
  /// Returns the value of a variable; empty if it is unknown. Throws std::runtime_error if the variables of a
  /// rule refer to each other in a circle.
  [[nodiscard]] std::string value_of(std::string_view name) const { return value_of(name, 0); }

 private:
  [[nodiscard]] std::string value_of(std::string_view name, unsigned depth) const;

  bindings own_;
  const bindings& of_statement_;
  const unexpanded_bindings& of_rule_;
  const bindings& of_file_;
};

/// Quotes a path as one word of a shell.
[[nodiscard]] std::string shell_word(std::string_view path);
/// Quotes several paths, with spaces in between.
[[nodiscard]] std::string shell_words(const std::string* paths, std::size_t count);

/// Removes `.`, `..` behind a name, and redundant slashes.
[[nodiscard]] std::string tidy_path(std::string_view path);

}  // namespace build
