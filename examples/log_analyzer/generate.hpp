// A log that looks like one: few clients with many requests, many with few, now and then a line that is none.
#pragma once

#include <cstdint>
#include <cstdio>

namespace log_analyzer {

/// At least so many bytes, the same for each seed. False: it could not be written; errno says why.
[[nodiscard]] bool generate(std::uint64_t bytes, std::uint64_t seed, std::FILE* to);

}  // namespace log_analyzer
