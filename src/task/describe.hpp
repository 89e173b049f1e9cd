// A task in a line of a report.
#pragma once

#include "task/header.hpp"

#include <string>

namespace rota::core {

/// file:line of its innermost co_await; empty if it never suspended.
[[nodiscard]] std::string place_of(const header& task);
/// Id, name, state, what it waits for and where, its parent; with the line's end. Where the task cannot end meanwhile.
void describe(std::string& text, const header& task);

}  // namespace rota::core
