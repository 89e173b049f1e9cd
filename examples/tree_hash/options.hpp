// The command line.
#pragma once

#include <expected>
#include <string>

#include "tree_hash/report.hpp"
#include "tree_hash/screen.hpp"

namespace tree_hash {

inline constexpr unsigned most_threads = 256;

struct options {
  std::string directory;
  unsigned workers = 0;  // 0: as many as the machine has for this process
  unsigned threads = 0;  // 0: as many as workers, most_threads at most
  directories shown = directories::root;
  bar progress = bar::if_terminal;
};

/// Why the program ends at once, and with what: help (exit code 0) or an error (exit code 2).
struct early_end {
  int exit_code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace tree_hash
