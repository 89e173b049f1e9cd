// Conditional requests: RFC 9110 §13.
#pragma once

#include <cstdint>
#include <string_view>

#include "file_server/request.hpp"

namespace file_server {

/// What identifies the representation that would be sent.
struct validators {
  std::string_view tag;       // strong, with its quotes
  std::int64_t modified = 0;  // seconds since 1970
};

enum class condition : std::uint8_t { holds, not_modified, failed };

/// In the order of §13.2.2: If-Match, else If-Unmodified-Since; then If-None-Match, else If-Modified-Since.
[[nodiscard]] condition evaluate_conditions(const request& r, const validators& v, std::int64_t now) noexcept;

/// If-Range, §13.1.5: may the Range be acted on? A date must be that of the file, in a second that is over: within it the file
/// may change once more, and the date would not tell.
[[nodiscard]] bool range_applies(const request& r, const validators& v, std::int64_t now) noexcept;

}  // namespace file_server
