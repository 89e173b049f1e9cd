// A request that has passed every check of the parser.
#pragma once

#include <cstdint>
#include <string_view>

#include "file_server/field_lines.hpp"

namespace file_server {

enum class method : std::uint8_t { get, head };
enum class http_version : std::uint8_t { v1_0, v1_1 };
enum class persistence : std::uint8_t { keep, close };

/// All views point into the bytes that the parser was given.
///
/// A field that may occur once but came twice counts as absent. So does a Range if its If-Range came twice.
/// The answer is then the whole file, which is always correct.
struct request {
  method verb = method::get;
  http_version version = http_version::v1_1;
  persistence connection = persistence::close;  // what the client asks for, by the rules of its version
  std::string_view line{};                      // the request line as received, for the access log
  std::string_view path{};                      // begins with '/'; still percent-encoded
  std::string_view query{};                     // without '?'; empty if there is none
  std::string_view host{};                      // of an absolute-form target, else of the Host field
  field_lines if_match{};
  field_lines if_none_match{};
  std::string_view if_modified_since{};
  std::string_view if_unmodified_since{};
  std::string_view range{};
  std::string_view if_range{};
  field_lines accept_encoding{};

  bool operator==(const request&) const = default;
};

}  // namespace file_server
