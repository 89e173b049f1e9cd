// Finds where the last lines of a file begin.
#pragma once

#include <rota/fs/file.hpp>

#include <cstdint>

namespace tail {

/// Returns the offset at which the last `count` lines of the first `size` bytes begin. Searches from the end
/// and does not read what lies before them. A last line without a line end counts. Returns 0 if the file has
/// become shorter meanwhile: then all of it is new.
rota::task<rota::fs::result<std::uint64_t>> start_of_last_lines(const rota::fs::file& in,
                                                                std::uint64_t size,
                                                                std::size_t count);

}  // namespace tail
