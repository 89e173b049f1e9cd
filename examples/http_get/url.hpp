// Addresses of what can be fetched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace http_get {

enum class scheme : unsigned char { http, https };

struct url {
  scheme how = scheme::http;
  std::string host{};  // without the brackets of an IPv6 address
  std::uint16_t port = 0;
  std::string target{};  // the path and the query
};

/// "https://example.com:8443/a?b#c": the part behind the # is dropped. Nothing: it is none, or has a user, or what must not be in a request.
[[nodiscard]] std::optional<url> parse_url(std::string_view text);

/// Where a Location leads, from the answer to `from`.
[[nodiscard]] std::optional<url> follow(const url& from, std::string_view location);

/// "example.com", "[::1]:8080": the field Host.
[[nodiscard]] std::string host_field(const url& of);
[[nodiscard]] std::string to_text(const url& of);
/// The last part of the path; "index.html" if that is empty; "./-" if it is what stands for the standard output.
[[nodiscard]] std::string file_name_of(const url& of);

}  // namespace http_get
