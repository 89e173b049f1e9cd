// Parses the command line.
#pragma once

#include <expected>
#include <string>

#include "tree_hash/report.hpp"
#include "tree_hash/screen.hpp"

namespace tree_hash {

inline constexpr unsigned most_threads = 256;

struct options {
  std::string directory;
  unsigned workers = 0;  // 0: one per processor that this process may use
  unsigned threads = 0;  // 0: as many as workers, most_threads at most
  directories shown = directories::root;
  bar progress = bar::if_terminal;
};

/// Why the program ends at once: after help (exit code 0) or because of an error (exit code 2). `text` is
/// what it prints.
struct early_end {
  int exit_code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace tree_hash
