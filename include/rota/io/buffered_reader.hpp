// A reader that reads large blocks and returns them in parts: bytes, lines, the text before a delimiter.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <rota/detail/io_buffers.hpp>
#include <rota/error.hpp>
#include <rota/io/concepts.hpp>
#include <rota/task.hpp>

namespace rota::io {

namespace detail {

/// What the last piece is if the stream ends without a delimiter.
enum class at_end : unsigned char { is_an_error, is_a_piece };
enum class returns : unsigned char { stay, go };  // whether a '\r' before the delimiter is removed

}  // namespace detail

/// Reads from `from` through a buffer.
///
///   rota::io::buffered_reader in(stream);
///   for (;;) {
///     const auto line = co_await in.line();              // result<std::optional<std::string_view>>
///     if (!line.has_value() || !line->has_value()) break;
///     use(**line);
///   }
///
/// Threads       One task at a time.
/// Ownership     Refers to `from`, which must outlive it. A view that it returns is valid until the next call
///               of a member that reads. Bytes that it has buffered are destroyed with it: go on reading
///               through it, not from `from`.
/// Ordering      Bytes come in the order in which `from` returned them.
/// Failure       The constructor throws `std::invalid_argument` unless `capacity` is 16..2^24 bytes. An error
///               of `from` is returned, and the buffered bytes stay. errc::too_long, errc::end_of_stream: see
///               the members; they consume nothing then. A member that is cancelled or times out has consumed
///               nothing, except read_exact. `std::bad_alloc`.
/// Cost          One frame for each call. One buffer of `capacity`, allocated when it is first needed. It
///               grows with the piece that is searched for, up to twice the size of the piece, and never
///               shrinks. Reads of `capacity` and more bypass an empty buffer. fill(least) allocates for the
///               bytes that have come, not for the bytes that it waits for: a length that a peer announces
///               costs no memory.
/// Example       examples/duplex.cpp, examples/length_prefixed.cpp
template <reader R>
class buffered_reader {
 public:
  /// The most bytes that fill(least) and more() keep buffered.
  static constexpr std::size_t most_buffered = std::size_t{1} << 24U;

  explicit buffered_reader(R& from, std::size_t capacity = 8192) : from_(&from), buffer_(capacity) {}

  /// Reads some bytes, at most `into.size()`. Returns 0 at the end of the stream, or if `into` is empty.
  task<result<std::size_t>> read(std::span<std::byte> into) {
    if (into.empty()) co_return 0;
    if (buffer_.size() == 0 && into.size() >= buffer_.capacity()) co_return co_await from_->read(into);
    if (buffer_.size() == 0) {
      const result<std::size_t> got = co_await read_more();
      if (!got.has_value()) co_return std::unexpected(got.error());
    }
    co_return buffer_.take(into);
  }

  /// Returns the buffered bytes; reads once if there are none. Returns an empty span at the end of the
  /// stream. Call consume() with the number of bytes that were used.
  task<result<std::span<const std::byte>>> fill() {
    if (buffer_.size() == 0) {
      const result<std::size_t> got = co_await read_more();
      if (!got.has_value()) co_return std::unexpected(got.error());
    }
    co_return buffer_.content();
  }
  /// Reads until at least `least` bytes are buffered, and returns all buffered bytes. Call consume() with the
  /// number of bytes that were used. Returns an empty span if the stream has ended and nothing is left.
  /// Returns errc::end_of_stream if it has ended after fewer bytes; they stay buffered. Returns
  /// errc::too_long if `least` is above most_buffered; then it reads nothing. Reads nothing if `least` bytes
  /// are buffered already: so the result of fill(0) does not tell whether the stream has ended.
  task<result<std::span<const std::byte>>> fill(std::size_t least) {
    if (least > most_buffered) co_return std::unexpected(make_error_code(errc::too_long));
    while (buffer_.size() < least) {
      const result<std::size_t> got = co_await read_more(most_buffered - buffer_.size());
      if (!got.has_value()) co_return std::unexpected(got.error());
      if (*got != 0) continue;
      if (buffer_.size() == 0) break;
      co_return std::unexpected(make_error_code(errc::end_of_stream));
    }
    co_return buffer_.content();
  }
  /// Reads once, behind the buffered bytes, and returns how many bytes came. Returns 0 at the end of the
  /// stream. Returns errc::too_long if most_buffered bytes are buffered already; then it reads nothing.
  task<result<std::size_t>> more() {
    if (buffer_.size() >= most_buffered) co_return std::unexpected(make_error_code(errc::too_long));
    const result<std::size_t> got = co_await read_more(most_buffered - buffer_.size());
    co_return got;
  }
  /// Removes the first `n` buffered bytes; `n` is at most buffered().size().
  void consume(std::size_t n) noexcept { buffer_.consume(n); }

  /// Fills `into`. Returns errc::end_of_stream if the stream ends before that. The bytes that were read are
  /// lost then, as after a cancellation.
  task<result<void>> read_exact(std::span<std::byte> into) {
    while (!into.empty()) {
      const result<std::size_t> got = co_await read(into);
      if (!got.has_value()) co_return std::unexpected(got.error());
      if (*got == 0) co_return std::unexpected(make_error_code(errc::end_of_stream));
      into = into.subspan(*got);
    }
    co_return result<void>();
  }

  /// Returns the text before the next `delimiter`, and consumes both. Returns nothing at the end of the
  /// stream if no byte is left. Returns errc::end_of_stream if bytes are left and no delimiter follows.
  /// Returns errc::too_long if more than `most` bytes stand before the delimiter. Throws
  /// `std::invalid_argument` if the delimiter is empty.
  ROTA_DETAIL_WRAPPER task<result<std::optional<std::string_view>>> until(std::string_view delimiter,
                                                                          std::size_t most) {
    return piece(delimiter, most, detail::at_end::is_an_error, detail::returns::stay);
  }
  /// Like until(), but text after the last delimiter is a piece, too, unless it is empty.
  ROTA_DETAIL_WRAPPER task<result<std::optional<std::string_view>>> until_or_end(std::string_view delimiter,
                                                                                 std::size_t most) {
    return piece(delimiter, most, detail::at_end::is_a_piece, detail::returns::stay);
  }
  /// Returns the next line without its "\n" or "\r\n". The last line needs neither. Returns errc::too_long if
  /// the line has more than `most` bytes.
  ROTA_DETAIL_WRAPPER task<result<std::optional<std::string_view>>> line(std::size_t most = 65536) {
    return piece("\n", most, detail::at_end::is_a_piece, detail::returns::go);
  }

  [[nodiscard]] std::span<const std::byte> buffered() const noexcept { return buffer_.content(); }
  [[nodiscard]] R& inner() noexcept { return *from_; }

 private:
  /// Reads at most `most` bytes into the buffer. Returns 0 at the end of the stream.
  task<result<std::size_t>> read_more(std::size_t most = ~std::size_t{0}) {
    std::span<std::byte> room = buffer_.room();
    if (room.size() > most) room = room.first(most);
    const result<std::size_t> got = co_await from_->read(room);
    if (got.has_value()) buffer_.fill(*got);
    co_return got;
  }

  task<result<std::optional<std::string_view>>> piece(std::string_view delimiter,
                                                      std::size_t most,
                                                      detail::at_end last,
                                                      detail::returns what) {
    detail::demand_delimiter(delimiter);
    const std::size_t overlap = delimiter.size() - 1;
    // The first byte that is one too many, if a '\r' may stand before the delimiter.
    const std::size_t extra = delimiter.size() + (what == detail::returns::go ? 1U : 0U);
    const std::size_t enough = most < ~extra ? most + extra : ~std::size_t{0};
    for (std::size_t searched = 0;;) {
      const std::size_t at = buffer_.find(delimiter, searched);
      if (at != detail::read_buffer::npos) co_return give(at, delimiter.size(), most, what);
      searched = buffer_.size() > overlap ? buffer_.size() - overlap : 0;
      if (buffer_.size() >= enough) co_return std::unexpected(make_error_code(errc::too_long));
      const result<std::size_t> got = co_await read_more();
      if (!got.has_value()) co_return std::unexpected(got.error());
      if (*got != 0) continue;
      if (buffer_.size() == 0) co_return std::optional<std::string_view>();
      if (last == detail::at_end::is_an_error)
        co_return std::unexpected(make_error_code(errc::end_of_stream));
      co_return give(buffer_.size(), 0, most, detail::returns::stay);
    }
  }

  /// Returns the first `n` bytes; consumes them and the `delimiter` bytes behind them.
  result<std::optional<std::string_view>> give(std::size_t n,
                                               std::size_t delimiter,
                                               std::size_t most,
                                               detail::returns what) noexcept {
    std::string_view text = buffer_.text(n);
    if (what == detail::returns::go && text.ends_with('\r')) text.remove_suffix(1);
    if (text.size() > most) return std::unexpected(make_error_code(errc::too_long));
    buffer_.consume(n + delimiter);
    return std::optional<std::string_view>(text);
  }

  R* from_;
  detail::read_buffer buffer_;
};

}  // namespace rota::io
