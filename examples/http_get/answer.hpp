// An answer out of the bytes of a connection: Beast's parser.
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
  std::optional<std::uint64_t> length{};  // of the body, if it is said
};

/// Threads    One at a time.
/// Failure    An answer that is none: error() says why, and nothing is parsed after it.
class answer {
 public:
  answer();
  answer(const answer&) = delete;
  answer& operator=(const answer&) = delete;
  ~answer();

  /// Room for bytes of the connection; none if what is there makes no sense so far.
  [[nodiscard]] std::span<std::byte> room();
  void arrived(std::size_t count);
  /// The connection has ended.
  void ended();

  /// That of the final answer: those before it, 100 to 199, say nothing of the file.
  [[nodiscard]] bool has_head() const;
  [[nodiscard]] head about() const;
  /// As much of the body as has come, and goes into one part; empty: more bytes are wanted, or is_done().
  [[nodiscard]] std::string_view next();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct parser;
  void begin();
  /// How many bytes the parser has taken.
  std::size_t parse();

  static constexpr std::size_t capacity = 65'536;
  std::unique_ptr<parser> parser_;
  std::string buffer_;
  std::size_t first_ = 0;  // of what the parser has not taken
  std::size_t end_ = 0;
  std::string out_;
  std::string error_;
};

/// The first byte, and the size of the whole, of "bytes 5-9/10"; of "bytes */10" no first byte.
struct content_range {
  std::optional<std::uint64_t> first{};
  std::optional<std::uint64_t> whole{};
};
[[nodiscard]] content_range parse_content_range(std::string_view text);

}  // namespace http_get
