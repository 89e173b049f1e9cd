// A writer that collects small writes into large ones.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <rota/detail/io_buffers.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/concepts.hpp>
#include <rota/task.hpp>

namespace rota::io {

/// Writes to `to` through a buffer.
///
///   rota::io::buffered_writer out(stream);
///   for (const auto& each : lines) {
///     const auto put = co_await out.write_all(bytes_of(each));
///     ...
///   }
///   const auto flushed = co_await out.flush();
///
/// Threads       One task at a time.
/// Ownership     Refers to `to`, which must outlive it. Bytes that are pending when it is destroyed are lost.
///               Builds with asserts end the program then, unless an error was returned before, or the task
///               is being unwound.
/// Ordering      Bytes go in the order in which they were written.
/// Failure       The constructor throws `std::invalid_argument` unless `capacity` is 16..2^24 bytes. An error
///               of `to` is returned by the call that meets it, perhaps for bytes of an earlier call. Bytes
///               that were not written are still pending. If cancelled or timed out, write() has taken
///               nothing, and flush() leaves the rest pending. `std::bad_alloc`, with the first write.
/// Cost          One frame for each call. One buffer, allocated when it is first needed. A write of
///               `capacity` bytes and more bypasses an empty buffer.
/// Example       examples/duplex.cpp
template <writer W>
class buffered_writer {
 public:
  explicit buffered_writer(W& to, std::size_t capacity = 8192) : to_(&to), buffer_(capacity) {}

  /// Takes some bytes: at least one, unless `from` is empty.
  task<result<std::size_t>> write(std::span<const std::byte> from) {
    if (from.empty()) co_return 0;
    if (buffer_.is_full()) {
      const result<void> flushed = co_await flush();
      if (!flushed.has_value()) co_return std::unexpected(flushed.error());
    }
    if (buffer_.is_empty() && from.size() >= buffer_.capacity()) co_return co_await to_->write(from);
    co_return buffer_.put(from);
  }
  /// Takes all bytes of `from`.
  ROTA_DETAIL_WRAPPER task<result<void>> write_all(std::span<const std::byte> from) {
    return io::write_all(*this, from);
  }
  /// Writes a text without a terminating zero. The text must live until the co_await is done. An array of
  /// characters has no known end: pass the part that counts.
  ROTA_DETAIL_WRAPPER task<result<void>> write_all(std::string_view text ROTA_DETAIL_KEPT) {
    return io::write_all(*this, text);
  }
  template <std::size_t N>
  task<result<void>> write_all(char (&buffer)[N]) = delete;
  /// Writes a literal without its terminating zero. Zeros in the middle are sent.
  template <std::size_t N>
  ROTA_DETAIL_WRAPPER task<result<void>> write_all(const char (&text ROTA_DETAIL_KEPT)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }

  /// Writes the pending bytes.
  task<result<void>> flush() {
    while (!buffer_.is_empty()) {
      const result<std::size_t> put = co_await to_->write(buffer_.pending());
      if (!put.has_value() || *put == 0) {
        buffer_.fail();
        if (!put.has_value()) co_return std::unexpected(put.error());
        co_return detail::takes_nothing();
      }
      buffer_.sent(*put);
    }
    co_return result<void>();
  }

  /// Returns how many bytes wait for a flush.
  [[nodiscard]] std::size_t pending() const noexcept { return buffer_.pending().size(); }
  [[nodiscard]] W& inner() noexcept { return *to_; }

 private:
  W* to_;
  detail::write_buffer buffer_;
};

}  // namespace rota::io
