// Draws the files and statements of a build, for Graphviz.
#pragma once

#include <string>
#include <vector>

#include "build/graph.hpp"
#include "build/manifest.hpp"

namespace build {

/// Statements are boxes. Edges of implicit inputs are dashed, those of order-only inputs are dotted.
[[nodiscard]] std::string dot(const manifest& m, const graph& g, const std::vector<std::size_t>& statements);

}  // namespace build
