// How many processors there are for this process.
#pragma once

namespace rota::base {

/// By the affinity mask alone, at least 1. No descriptor is opened for it, so a thread may ask in the middle of a wait: the last number
/// that is free may be somebody's who counts on it.
[[nodiscard]] unsigned affinity_processors() noexcept;

}  // namespace rota::base
