// The status codes that this server sends.
#pragma once

#include <cstdint>
#include <string_view>

namespace file_server {

enum class status : std::uint16_t {
  ok = 200,
  partial_content = 206,
  moved_permanently = 301,
  not_modified = 304,
  bad_request = 400,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  request_timeout = 408,
  precondition_failed = 412,
  content_too_large = 413,
  uri_too_long = 414,
  range_not_satisfiable = 416,
  fields_too_large = 431,
  internal_error = 500,
  not_implemented = 501,
  unavailable = 503,
  version_not_supported = 505,
};

[[nodiscard]] constexpr std::uint16_t code_of(status s) noexcept { return static_cast<std::uint16_t>(s); }

[[nodiscard]] constexpr std::string_view reason_phrase(status s) noexcept {
  switch (s) {
    case status::ok: return "OK";
    case status::partial_content: return "Partial Content";
    case status::moved_permanently: return "Moved Permanently";
    case status::not_modified: return "Not Modified";
    case status::bad_request: return "Bad Request";
    case status::forbidden: return "Forbidden";
    case status::not_found: return "Not Found";
    case status::method_not_allowed: return "Method Not Allowed";
    case status::not_acceptable: return "Not Acceptable";
    case status::request_timeout: return "Request Timeout";
    case status::precondition_failed: return "Precondition Failed";
    case status::content_too_large: return "Content Too Large";
    case status::uri_too_long: return "URI Too Long";
    case status::range_not_satisfiable: return "Range Not Satisfiable";
    case status::fields_too_large: return "Request Header Fields Too Large";
    case status::internal_error: return "Internal Server Error";
    case status::not_implemented: return "Not Implemented";
    case status::unavailable: return "Service Unavailable";
    case status::version_not_supported: return "HTTP Version Not Supported";
  }
  return "Unknown";
}

}  // namespace file_server
