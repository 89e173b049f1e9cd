// The characters of a Ninja file, taken for what they are.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "build/text.hpp"

namespace build {

class syntax_error : public std::runtime_error {
 public:
  syntax_error(unsigned line, const std::string& what) : std::runtime_error(what), line_(line) {}
  [[nodiscard]] unsigned line() const noexcept { return line_; }

 private:
  unsigned line_;
};

/// Throws syntax_error where it finds something else than it is asked for.
class reader {
 public:
  explicit reader(std::string_view content) noexcept : rest_(content) {}

  [[nodiscard]] unsigned line() const noexcept { return line_; }

  /// To the next line that says something. How many spaces it begins with; at the end: 0, and is_at_end().
  unsigned next_line();
  /// The same, if the next line that says something is indented. False: it is not, and nothing was taken.
  [[nodiscard]] bool next_indented_line();
  [[nodiscard]] bool is_at_end() const noexcept { return rest_.empty(); }

  /// Of letters, digits and `_.-`. Spaces behind it are passed over.
  [[nodiscard]] std::string word(const char* what);
  /// Up to a space, `:`, `|` or the end of the line; empty if there is none. Spaces behind it are passed over.
  [[nodiscard]] text path();
  /// Up to the end of the line, and that, too.
  [[nodiscard]] text value();
  /// Passes over `what` and spaces behind it, if that is next.
  [[nodiscard]] bool take(std::string_view what);
  void demand(std::string_view what);
  void end_of_line();

  [[noreturn]] void refuse(const std::string& what) const { throw syntax_error(line_, what); }

 private:
  [[nodiscard]] bool is_end_of_line() const noexcept;
  [[nodiscard]] bool take_end_of_line();
  void skip_spaces();
  void skip_to_next_line();
  [[nodiscard]] text read(std::string_view ends);
  void read_escape(text& to);
  [[nodiscard]] std::string read_name(bool with_dots);

  std::string_view rest_;
  unsigned line_ = 1;
};

}  // namespace build
