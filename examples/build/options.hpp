// Parses the command line.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "build/workshop.hpp"

namespace build {

inline constexpr unsigned most_threads = 1'024;

struct options {
  std::string file = "build.ninja";
  std::string directory;  // empty: the current one
  std::vector<std::string> targets;
  run_settings run;
  bool is_dry = false;
  std::string dot_file;    // empty: none
  std::string trace_file;  // empty: none
};

/// Why the program ends at once: after help (exit code 0) or because of an error (exit code 2). `text` is
/// what it prints.
struct early_end {
  int exit_code;
  std::string text;
};

[[nodiscard]] std::expected<options, early_end> parse_options(int argc, const char* const* argv);

}  // namespace build
