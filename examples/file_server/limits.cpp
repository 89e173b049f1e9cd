#include "file_server/limits.hpp"

#include <stdexcept>
#include <string>

namespace file_server {
namespace {

void check(const char* field, std::size_t value, range allowed) {
  if (value >= allowed.least && value <= allowed.most) return;
  throw std::invalid_argument("limits." + std::string(field) + ": " + std::to_string(value) + " is outside " +
                              std::to_string(allowed.least) + ".." + std::to_string(allowed.most));
}

}  // namespace

limits checked(const limits& wanted) {
  check("request_line", wanted.request_line, request_line_range);
  check("header_bytes", wanted.header_bytes, header_bytes_range);
  check("header_fields", wanted.header_fields, header_fields_range);
  return wanted;
}

}  // namespace file_server
