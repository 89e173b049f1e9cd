#pragma once

#include <cstddef>

namespace rota::base {

/// The distance that keeps two words on different cache lines. It is two 64-byte lines: the x86 prefetcher
/// fetches lines in pairs.
inline constexpr std::size_t cache_line = 128;

}  // namespace rota::base
