#pragma once

#include <cstddef>

namespace rota::base {

/// The distance that keeps two words apart. Two 64-byte lines: the x86 prefetcher fetches them in pairs.
inline constexpr std::size_t cache_line = 128;

}  // namespace rota::base
