// Media types by file name.
#pragma once

#include <string_view>

namespace file_server {

/// Returns the media type by the extension of the last segment, in any case. application/octet-stream if it
/// is unknown. The view has static lifetime.
[[nodiscard]] std::string_view mime_type(std::string_view path) noexcept;

/// Returns true if content of this type is already compressed, so that compressing it again is useless.
[[nodiscard]] bool is_compressed(std::string_view type) noexcept;

}  // namespace file_server
