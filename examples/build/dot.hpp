// The files and statements of a build as a picture, for Graphviz.
#pragma once

#include <string>
#include <vector>

#include "build/graph.hpp"
#include "build/manifest.hpp"

namespace build {

/// Statements are boxes; implicit inputs are dashed, those that count for the order only are dotted.
[[nodiscard]] std::string dot(const manifest& m, const graph& g, const std::vector<std::size_t>& statements);

}  // namespace build
