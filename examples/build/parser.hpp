// Reads a Ninja file, or the part of the language that README.md names.
#pragma once

#include <expected>
#include <string_view>

#include "build/manifest.hpp"

namespace build {

[[nodiscard]] std::expected<manifest, complaint> parse(std::string_view content);

}  // namespace build
