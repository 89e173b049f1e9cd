// The content of a Ninja file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace build {

/// Why a file is refused, and in which line.
struct complaint {
  unsigned line = 0;  // 0: none
  std::string text;
};

struct ninja_pool {
  std::string name;
  unsigned depth = 0;  // 0: no limit
  unsigned line = 0;
};

/// A `build` statement, with all variables expanded.
struct statement {
  unsigned line = 0;
  std::string rule;
  bool is_phony = false;
  std::vector<std::string> outputs;  // the explicit ones first
  std::size_t explicit_outputs = 0;
  std::vector<std::string>
      inputs;  // the explicit ones first, then the implicit ones, then the order-only ones
  std::size_t explicit_inputs = 0;
  std::size_t needed_inputs = 0;  // explicit and implicit ones
  std::string command;
  std::string description;
  std::string pool;  // empty: none
};

struct named_target {
  std::string path;
  unsigned line = 0;  // 0: given on the command line
};

struct manifest {
  std::vector<ninja_pool> pools;
  std::vector<statement> statements;
  std::vector<named_target> defaults;
};

}  // namespace build
