// What the walk finds, in the order of the output.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "tree_hash/directory.hpp"
#include "tree_hash/sha256.hpp"

namespace tree_hash {

/// begin, end   of a directory, around what is in it
/// file         to be read: its digest comes later
/// link         a symbolic link: the digest is that of its target's name
/// fifo, socket, device   never opened
/// failure      `name` could not be looked at; without a name: the directory that it stands in
enum class kind : std::uint8_t { begin, end, file, link, fifo, socket, device, failure };

/// Of a file: whether a job still has to read it. All others are ready as they are.
enum class state : std::uint8_t { unread, ready };

struct entry {
  kind what = kind::failure;
  state is = state::ready;
  std::string name{};
  std::uint64_t size = 0;  // of a file, as it was found
  digest sum{};
  std::error_code error{};  // of a failure, or of a file that could not be read
  shared_directory in{};    // of a file that is still to be read
};

}  // namespace tree_hash
