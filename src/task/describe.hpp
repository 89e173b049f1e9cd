// Describes a task in a line of a report.
#pragma once

#include "task/header.hpp"

#include <string>

namespace rota::core {

/// Returns file:line; empty if there is no line.
[[nodiscard]] std::string to_string(const std::source_location& where);
/// Returns file:line of its innermost co_await; empty if it never suspended.
[[nodiscard]] std::string place_of(const header& task);

/// A clause of a message to the user: ", last awaited at FILE:LINE". It allocates nothing, so that a program
/// that ends may print it.
class place_clause {
 public:
  place_clause(const char* words, const char* file, unsigned line, const char* if_unknown) noexcept;
  place_clause(const char* words, const std::source_location& where, const char* if_unknown) noexcept
      : place_clause(words, file_of(where), static_cast<unsigned>(where.line()), if_unknown) {}

  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[320];
};
/// Returns the clause that names the line of the last co_await. Line 0 means that there was none.
[[nodiscard]] inline place_clause awaited_at(const char* file, unsigned line) noexcept {
  return {", last awaited at ", file, line, ", which has not awaited yet"};
}
[[nodiscard]] inline place_clause awaited_at(const header& task) noexcept {
  const std::source_location where = site_of(task);
  return awaited_at(file_of(where), static_cast<unsigned>(where.line()));
}

/// Appends a line about a task that has not suspended: id, state, spawn site.
void describe(std::string& text, const birth::seen& task);
/// Appends a line about a task: id, name, state, what it waits for, where it was spawned, where it awaits,
/// its parent. The task must not be able to end meanwhile.
void describe(std::string& text, const header& task);

}  // namespace rota::core
