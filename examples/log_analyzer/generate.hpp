// Generates a realistic log: few clients with many requests, many clients with few, and now and then a
// malformed line.
#pragma once

#include <cstdint>
#include <cstdio>

namespace log_analyzer {

/// Writes at least `bytes` bytes, the same for the same seed. Returns false if it could not be written; errno
/// says why.
[[nodiscard]] bool generate(std::uint64_t bytes, std::uint64_t seed, std::FILE* to);

}  // namespace log_analyzer
