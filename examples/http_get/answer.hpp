// Parses an answer from the bytes of a connection, by Beast's parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace http_get {

struct head {
  unsigned status = 0;
  std::string reason{};
  std::string location{};
  std::string content_range{};
  std::string tag{};                      // a strong ETag
  std::optional<std::uint64_t> length{};  // of the body, if it is announced
};

/// Threads    One at a time.
/// Failure    A malformed answer: error() says why, and nothing is parsed after it.
class answer {
 public:
  answer();
  answer(const answer&) = delete;
  answer& operator=(const answer&) = delete;
  ~answer();

  /// Returns the space for the next bytes; empty if the buffer is full of bytes that cannot be parsed so far.
  [[nodiscard]] std::span<std::byte> room();
  void arrived(std::size_t count);
  /// Tells the parser that the connection has ended.
  void ended();

  /// Returns whether the head of the final answer is complete. Heads before it, 100 to 199, say nothing about
  /// the file.
  [[nodiscard]] bool has_head() const;
  [[nodiscard]] head about() const;
  /// Returns the next part of the body. Empty: more bytes are needed, or is_done().
  [[nodiscard]] std::string_view next();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct parser;
  void begin();
  /// Returns the number of bytes that the parser has consumed.
  std::size_t parse();

  static constexpr std::size_t capacity = 65'536;
  std::unique_ptr<parser> parser_;
  std::string buffer_;
  std::size_t first_ = 0;  // the first byte that the parser has not consumed
  std::size_t end_ = 0;
  std::string out_;
  std::string error_;
};

/// The first byte and the whole size of "bytes 5-9/10"; "bytes */10" has no first byte.
struct content_range {
  std::optional<std::uint64_t> first{};
  std::optional<std::uint64_t> whole{};
};
[[nodiscard]] content_range parse_content_range(std::string_view text);

}  // namespace http_get
