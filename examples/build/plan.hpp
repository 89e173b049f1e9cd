// Decides which statements have to run.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "build/build_log.hpp"
#include "build/graph.hpp"
#include "build/manifest.hpp"

namespace build {

/// Returns when a file was last written, or nullopt if it does not exist.
using look_at_file = std::function<std::optional<file_time>(const std::string& path)>;
using look_at_log = std::function<std::optional<made_file>(const std::string& output)>;

struct job {
  std::size_t statement;
  /// Length of the longest chain of statements from this one to a target, phony ones not counted.
  int chain = 0;
  /// Indexes of the jobs that must be done before this one.
  std::vector<std::size_t> after;
};

struct plan {
  std::vector<job> jobs;     // each after the jobs that it depends on
  std::size_t commands = 0;  // jobs that are not phony
};

/// Makes the plan. Refuses a needed file that does not exist and that no statement makes.
[[nodiscard]] std::expected<plan, complaint> make_plan(const manifest& m,
                                                       const graph& g,
                                                       const std::vector<std::size_t>& targets,
                                                       const look_at_file& written,
                                                       const look_at_log& made);

}  // namespace build
