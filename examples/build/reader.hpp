// Splits a Ninja file into tokens.
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

/// Throws syntax_error if the input differs from what was asked for.
class reader {
 public:
  explicit reader(std::string_view content) noexcept : rest_(content) {}

  [[nodiscard]] unsigned line() const noexcept { return line_; }

  /// Goes to the next line with content. Returns the number of its leading spaces; at the end: 0, and
  /// is_at_end().
  unsigned next_line();
  /// Does the same if the next line with content is indented. Returns false if it is not; then nothing is
  /// consumed.
  [[nodiscard]] bool next_indented_line();
  [[nodiscard]] bool is_at_end() const noexcept { return rest_.empty(); }

  /// Reads letters, digits and `_.-`, and skips spaces behind them.
  [[nodiscard]] std::string word(const char* what);
  /// Reads up to a space, `:`, `|` or the end of the line; empty if there is none. Skips spaces behind it.
  [[nodiscard]] text path();
  /// Reads up to the end of the line, and skips the line end.
  [[nodiscard]] text value();
  /// Skips `what` and spaces behind it, if `what` is next. Returns whether it was.
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
