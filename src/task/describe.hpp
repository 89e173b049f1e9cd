// Describes a task in a line of a report.
#pragma once

#include "task/header.hpp"

#include <string>

namespace rota::core {

/// Returns file:line; empty if there is no line.
[[nodiscard]] std::string to_string(const std::source_location& where);
/// Returns file:line of its innermost co_await; empty if it never suspended.
[[nodiscard]] std::string place_of(const header& task);
/// Appends a line about a task that has not suspended: id, state, spawn site.
void describe(std::string& text, const birth::seen& task);
/// Appends a line about a task: id, name, state, what it waits for, where it was spawned, where it awaits,
/// its parent. The task must not be able to end meanwhile.
void describe(std::string& text, const header& task);

}  // namespace rota::core
