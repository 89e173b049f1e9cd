// Media types by file name.
#pragma once

#include <string_view>

namespace file_server {

/// By the extension of the last segment, in any case of letters. application/octet-stream if it is not known.
/// The view has static lifetime.
[[nodiscard]] std::string_view mime_type(std::string_view path) noexcept;

}  // namespace file_server
