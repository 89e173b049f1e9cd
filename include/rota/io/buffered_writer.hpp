// A writer that collects small writes and makes large ones of them.
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
/// Ownership     Refers to `to`, which must outlive it. What is pending when it goes is lost: builds with asserts end the program then, unless an
///               error was told before, or the task is being unwound.
/// Ordering      Bytes go in the order in which they were written.
/// Failure       The constructor throws `std::invalid_argument` unless `capacity` is 16..2^24 bytes. An error of `to` is told by the call that hits
///               on it, perhaps for bytes of an earlier one; what was not written is still pending. Cancelled, or late: write() has taken
///               nothing, flush() leaves the rest pending. `std::bad_alloc`, with the first write.
/// Cost          One frame for each call, one buffer, allocated when it is first needed. What does not fit into an empty buffer passes by it.
/// Example       examples/duplex.cpp
template <writer W>
class buffered_writer {
 public:
  explicit buffered_writer(W& to, std::size_t capacity = 8192) : to_(&to), buffer_(capacity) {}

  /// Takes some bytes, at least one unless there are none.
  task<result<std::size_t>> write(std::span<const std::byte> from) {
    if (from.empty()) co_return 0;
    if (buffer_.is_full()) {
      const result<void> flushed = co_await flush();
      if (!flushed.has_value()) co_return std::unexpected(flushed.error());
    }
    if (buffer_.is_empty() && from.size() >= buffer_.capacity()) co_return co_await to_->write(from);
    co_return buffer_.put(from);
  }
  /// All of them.
  ROTA_DETAIL_WRAPPER task<result<void>> write_all(std::span<const std::byte> from) {
    return io::write_all(*this, from);
  }
  /// A text, which must live until the co_await is done; without a zero at its end. What is in an array of characters ends nowhere: name
  /// the part that counts.
  ROTA_DETAIL_WRAPPER task<result<void>> write_all(std::string_view text ROTA_DETAIL_KEPT) {
    return io::write_all(*this, text);
  }
  template <std::size_t N>
  task<result<void>> write_all(char (&buffer)[N]) = delete;
  /// The same of a literal, without the zero at its end; zeros in the middle are sent.
  template <std::size_t N>
  ROTA_DETAIL_WRAPPER task<result<void>> write_all(const char (&text ROTA_DETAIL_KEPT)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }

  /// Writes what is pending.
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

  /// How many bytes wait for a flush.
  [[nodiscard]] std::size_t pending() const noexcept { return buffer_.pending().size(); }
  [[nodiscard]] W& inner() noexcept { return *to_; }

 private:
  W* to_;
  detail::write_buffer buffer_;
};

}  // namespace rota::io
