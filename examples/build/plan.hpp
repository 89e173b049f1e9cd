// Which statements have to be run.
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

/// When a file was written last; nothing: there is none.
using look_at_file = std::function<std::optional<file_time>(const std::string& path)>;
using look_at_log = std::function<std::optional<made_file>(const std::string& output)>;

struct job {
  std::size_t statement;
  /// Statements on the longest chain from this one to a target, phony ones apart.
  int chain = 0;
  /// The jobs, by their index, that have to be done before.
  std::vector<std::size_t> after;
};

struct plan {
  std::vector<job> jobs;     // each behind those that it comes after
  std::size_t commands = 0;  // jobs that are not phony
};

/// Refuses a file that is needed and not there, and that nothing makes.
[[nodiscard]] std::expected<plan, complaint> make_plan(const manifest& m,
                                                       const graph& g,
                                                       const std::vector<std::size_t>& targets,
                                                       const look_at_file& written,
                                                       const look_at_log& made);

}  // namespace build
