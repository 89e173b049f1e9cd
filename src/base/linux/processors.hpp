// The number of processors that this process may use.
#pragma once

namespace rota::base {

/// Returns the number by the affinity mask alone, at least 1. It opens no descriptor, so a thread may call it
/// in the middle of a wait: the last free descriptor number may be one that other code counts on.
[[nodiscard]] unsigned affinity_processors() noexcept;

}  // namespace rota::base
