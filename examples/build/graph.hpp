// The files of a manifest, and the statement that makes each.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "build/manifest.hpp"

namespace build {

inline constexpr std::size_t none = ~std::size_t{0};

struct file_node {
  std::string path;
  std::size_t maker = none;  // the statement that has it as an output
};

/// The files of a statement, in the order of the statement.
struct edge {
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
};

/// Statements are identified by their index in the manifest.
struct graph {
  std::vector<file_node> files;
  std::vector<edge> edges;
  std::unordered_map<std::string, std::size_t> by_path;

  [[nodiscard]] std::size_t find(const std::string& path) const {
    const auto found = by_path.find(path);
    return found == by_path.end() ? none : found->second;
  }
};

/// Builds the graph. Refuses a file that two statements make, and a circle, which the complaint names.
[[nodiscard]] std::expected<graph, complaint> make_graph(const manifest& m);

/// Returns the files to make: `wanted`, else the defaults, else all files that are not an input.
[[nodiscard]] std::expected<std::vector<std::size_t>, complaint> choose_targets(
    const manifest& m, const graph& g, const std::vector<named_target>& wanted);

/// Returns the statements that these files need. Each comes after all statements that it needs.
[[nodiscard]] std::vector<std::size_t> in_order(const graph& g, const std::vector<std::size_t>& targets);

}  // namespace build
