// Reads a file and computes its digest.
#pragma once

#include <cstddef>
#include <span>

#include "tree_hash/counts.hpp"
#include "tree_hash/entry.hpp"

namespace tree_hash {

inline constexpr std::size_t read_size = std::size_t{256} << 10U;

/// Reads `file`, which must be unread, to its end, and sets its digest or its error. Releases its directory.
/// If the file changes meanwhile, the digest is that of the bytes that were read.
///
/// Threads    One that may block. If the calling task is cancelled, it returns between two reads, without a
/// digest.
void read_file(entry& file, std::span<std::byte> buffer, counts& done);

}  // namespace tree_hash
