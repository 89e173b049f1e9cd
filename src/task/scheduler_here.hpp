// Where a task that is spawned here, and now, belongs.
#pragma once

#include "task/header.hpp"

namespace rota::core {

/// Of the children of the task that runs on this thread. Throws `errc::no_runtime` if there is none.
[[nodiscard]] scheduler& scheduler_here();
/// The same for a task that is known.
[[nodiscard]] scheduler& scheduler_for_children_of(const header& task);

}  // namespace rota::core
