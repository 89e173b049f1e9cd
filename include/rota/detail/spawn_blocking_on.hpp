// Spawning a plain call on threads that may block.
#pragma once

#include <source_location>
#include <utility>

#include <rota/detail/spawn_on.hpp>
#include <rota/detail/under_deadline.hpp>

namespace rota::core {

/// Spawns a plain call. `call`: the function, and its arguments.
template <class... F>
[[nodiscard]] auto spawn_blocking_on(scheduler& threads, std::source_location site, F&&... call) {
  return spawn_on(threads, inherit_deadline(make_blocking(std::forward<F>(call)...)), site);
}

}  // namespace rota::core
