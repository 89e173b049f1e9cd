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

/// Evaluates the conditions in the order of §13.2.2: If-Match, else If-Unmodified-Since; then If-None-Match,
/// else If-Modified-Since.
[[nodiscard]] condition evaluate_conditions(const request& r, const validators& v, std::int64_t now) noexcept;

/// Returns true if the Range may be used by If-Range, §13.1.5. A date must equal that of the file, and its
/// second must be over: within that second the file may change again without another date.
[[nodiscard]] bool range_applies(const request& r, const validators& v, std::int64_t now) noexcept;

}  // namespace file_server
