// Runs the whole program in a task: the work, the progress display, and the signals that end both.
#pragma once

#include <cstdint>
#include <optional>

#include <rota/task.hpp>

#include "tree_hash/counts.hpp"
#include "tree_hash/screen.hpp"

namespace tree_hash {

/// Draws ten times a second, until it is cancelled.
[[nodiscard]] rota::task<void> draw_progress(screen& to, const counts& of);

/// Runs `work`. If SIGTERM, or SIGINT unless that is ignored, arrives, cancels `work`, waits for its end, and
/// returns the signal. From the moment of the cancellation a second signal ends the process. Throws what
/// `work` throws, and std::system_error if signals cannot be waited for.
[[nodiscard]] rota::task<std::optional<int>> run_until_signal(rota::task<void> work,
                                                              screen& to,
                                                              const counts& of);

}  // namespace tree_hash
