// The whole program in a task: the work, beside it the progress, and signals that end both.
#pragma once

#include <cstdint>
#include <optional>

#include <rota/task.hpp>

#include "tree_hash/counts.hpp"
#include "tree_hash/screen.hpp"

namespace tree_hash {

/// Draws ten times in a second, as long as nobody cancels it.
[[nodiscard]] rota::task<void> draw_progress(screen& to, const counts& of);

/// Returns the signal that cut `work` short, SIGTERM or, unless that is ignored, SIGINT: `work` has ended then, and from the
/// moment that it is asked to, another one ends the process. Throws what `work` throws, and std::system_error if signals
/// cannot be waited for.
[[nodiscard]] rota::task<std::optional<int>> run_until_signal(rota::task<void> work,
                                                              screen& to,
                                                              const counts& of);

}  // namespace tree_hash
