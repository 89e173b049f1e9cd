// URLs of files to fetch.
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

/// Parses "https://example.com:8443/a?b#c". The part behind the # is dropped. Returns nullopt if it is
/// malformed, has a user name, or has bytes that must not be in a request.
[[nodiscard]] std::optional<url> parse_url(std::string_view text);

/// Resolves a Location of the answer to `from`.
[[nodiscard]] std::optional<url> follow(const url& from, std::string_view location);

/// Returns the value of the field Host: "example.com", "[::1]:8080".
[[nodiscard]] std::string host_field(const url& of);
[[nodiscard]] std::string to_text(const url& of);
/// Returns the last part of the path; "index.html" if that is empty; "./-" if it is "-", which stands for
/// standard output.
[[nodiscard]] std::string file_name_of(const url& of);

}  // namespace http_get
