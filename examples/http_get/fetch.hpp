// Fetches a URL into a file.
#pragma once

#include <string>

#include <rota/task.hpp>

#include "http_get/options.hpp"

namespace http_get {

/// Returns an error, or an empty text if the file is complete.
[[nodiscard]] rota::task<std::string> fetch(const options& o);

}  // namespace http_get
