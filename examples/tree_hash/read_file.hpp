// Reads a file for its digest.
#pragma once

#include <cstddef>
#include <span>

#include "tree_hash/counts.hpp"
#include "tree_hash/entry.hpp"

namespace tree_hash {

inline constexpr std::size_t read_size = std::size_t{256} << 10U;

/// Reads `file`, which is unread, to its end, with `buffer`, and sets its digest or its error. Its directory is given back.
/// A file that changes meanwhile has the digest of what was read.
///
/// Threads    One that may block. In a task that is to stop it returns between two reads, without a digest.
void read_file(entry& file, std::span<std::byte> buffer, counts& done);

}  // namespace tree_hash
