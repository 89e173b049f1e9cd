// Reads a Ninja file. README.md says which part of the language is supported.
#pragma once

#include <expected>
#include <string_view>

#include "build/manifest.hpp"

namespace build {

[[nodiscard]] std::expected<manifest, complaint> parse(std::string_view content);

}  // namespace build
