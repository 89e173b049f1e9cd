// Finds the end of a request head, line by line, and refuses input that must not reach the parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "file_server/limits.hpp"
#include "file_server/status.hpp"

namespace file_server {

/// Reads every byte once, however the input is cut, and checks a line only when it is complete. So the
/// result, including the status, depends on the bytes alone. (Beast's parser searches for the end of the head
/// when it must wait, so the error that it finds first depends on how the input is cut. It gets complete
/// heads only.)
/// whole heads only.)
/// Checks the limits, CRLF line ends, the absence of folded field lines, and the shape, version and bytes of
/// the request line.
class head_scanner {
 public:
  enum class found : std::uint8_t { need_more, head, error };
  struct result {
    found what;
    status code;  // set for an error
  };

  explicit head_scanner(const limits& l) noexcept : limits_(l) {}

  /// Scans `input`, which begins at the first byte of the request and is at least as long as in the call
  /// before.
  [[nodiscard]] result scan(std::string_view input) noexcept;

  /// The position of the head within `input`, after scan() has found it, without the empty line before it.
  [[nodiscard]] std::size_t first() const noexcept { return first_; }
  [[nodiscard]] std::size_t last() const noexcept { return line_; }

  void restart() noexcept { *this = head_scanner(limits_); }

 private:
  enum class phase : std::uint8_t { empty_line, request_line, field_lines };

  [[nodiscard]] result skip_empty_line(std::string_view input) noexcept;
  [[nodiscard]] result take_line(std::string_view line) noexcept;
  [[nodiscard]] result take_field_line(std::string_view line) noexcept;
  [[nodiscard]] std::size_t window_end() const noexcept;
  [[nodiscard]] status over_limit() const noexcept;

  limits limits_;
  phase phase_ = phase::empty_line;
  std::size_t first_ = 0;    // where the request line begins
  std::size_t fields_ = 0;   // where the field lines begin
  std::size_t line_ = 0;     // where the line that is being read begins
  std::size_t scanned_ = 0;  // no line feed in [line_, scanned_)
  std::size_t count_ = 0;    // field lines so far
};

/// Returns ok, bad_request or version_not_supported for a request line without its CRLF.
[[nodiscard]] status check_request_line(std::string_view line) noexcept;

}  // namespace file_server
