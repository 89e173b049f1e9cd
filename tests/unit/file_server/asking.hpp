// Requests of a client, and parts of the answers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace file_server::testing {

/// Returns bytes in which no two neighbouring kilobytes are equal.
inline std::string pattern(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return out;
}

inline std::string get(std::string_view path, std::string_view fields = "", std::string_view verb = "GET") {
  return std::string(verb) + " " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
         "\r\n";
}
/// Returns the last request of a connection.
inline std::string last(std::string_view path, std::string_view fields = "", std::string_view verb = "GET") {
  return get(path, "Connection: close\r\n" + std::string(fields), verb);
}
inline std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

}  // namespace file_server::testing
