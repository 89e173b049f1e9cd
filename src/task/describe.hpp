// A task in a line of a report.
#pragma once

#include "task/header.hpp"

#include <string>

namespace rota::core {

/// file:line; empty if there is no line.
[[nodiscard]] std::string to_string(const std::source_location& where);
/// file:line of its innermost co_await; empty if it never suspended.
[[nodiscard]] std::string place_of(const header& task);
/// A task that has not suspended: id, state, spawn site; with the line's end.
void describe(std::string& text, const birth::seen& task);
/// Id, name, state, what it waits for, where it was spawned, where it awaits, its parent; with the line's end. Where the task cannot end meanwhile.
void describe(std::string& text, const header& task);

}  // namespace rota::core
