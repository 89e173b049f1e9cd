// An entry that the walk finds, in the order of the output.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "tree_hash/directory.hpp"
#include "tree_hash/sha256.hpp"

namespace tree_hash {

/// begin, end   of a directory, before and after its content
/// file         a regular file: its digest comes later
/// link         a symbolic link: the digest is that of the target's name
/// fifo, socket, device   never opened
/// failure      `name` could not be examined; without a name: its directory could not be read
enum class kind : std::uint8_t { begin, end, file, link, fifo, socket, device, failure };

/// Of a file: whether a job still has to read it. All other entries are ready.
enum class state : std::uint8_t { unread, ready };

struct entry {
  kind what = kind::failure;
  state is = state::ready;
  std::string name{};
  std::uint64_t size = 0;  // of a file, when it was found
  digest sum{};
  std::error_code error{};  // of a failure, or of a file that could not be read
  shared_directory in{};    // of a file that is still to be read
};

}  // namespace tree_hash
