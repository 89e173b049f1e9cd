// Where the last lines of a file begin.
#pragma once

#include <rota/fs/file.hpp>

#include <cstdint>

namespace tail {

/// The offset at which the last `count` lines of its first `size` bytes begin, found from the end: what lies before them is not read. A line without an end
/// counts, too. 0: it has become shorter meanwhile, and what is left is all new.
rota::task<rota::fs::result<std::uint64_t>> start_of_last_lines(const rota::fs::file& in,
                                                                std::uint64_t size,
                                                                std::size_t count);

}  // namespace tail
