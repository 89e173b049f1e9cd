// Media types by file name.
#pragma once

#include <string_view>

namespace file_server {

/// By the extension of the last segment, in any case of letters. application/octet-stream if it is not known.
/// The view has static lifetime.
[[nodiscard]] std::string_view mime_type(std::string_view path) noexcept;

/// Is content of this type compressed already, so that nobody compresses it again?
[[nodiscard]] bool is_compressed(std::string_view type) noexcept;

}  // namespace file_server
