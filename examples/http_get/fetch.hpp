// From an address to a file.
#pragma once

#include <string>

#include <rota/task.hpp>

#include "http_get/options.hpp"

namespace http_get {

/// Why not; empty: it is there.
[[nodiscard]] rota::task<std::string> fetch(const options& o);

}  // namespace http_get
