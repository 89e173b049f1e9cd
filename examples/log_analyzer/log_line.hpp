// A line of an access log in the "combined" format of Apache and nginx.
#pragma once

#include <cstdint>
#include <string_view>

namespace log_analyzer {

/// The counted fields of a line. The client points into the line.
struct request {
  std::string_view client;
  std::uint64_t bytes = 0;
  unsigned status = 0;
};

/// Parses: client ident user [time] "request" status bytes ... Returns false if the line has another form.
/// `line` is without its newline.
[[nodiscard]] bool parse(std::string_view line, request& into) noexcept;

}  // namespace log_analyzer
