// What connections have in common, and their halves: bytes in two directions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <rota/detail/net_leaves.hpp>
#include <rota/task.hpp>

namespace rota::net {

using io::finish_outcome;

enum class shutdown_how : unsigned char { read, write, both };

// All of its classes are part of the library's interface.
namespace ROTA_API detail {

/// The reading direction.
class reading_socket {
 public:
  /// Some bytes, at most `into.size()`; 0: the peer has finished (or `into` is empty).
  read_leaf read(std::span<std::byte> into) noexcept { return read_leaf(socket_.get(), into); }
  /// The same into several places, one after the other; up to 64 of them are used at a time.
  read_v_leaf read_v(std::span<const std::span<std::byte>> into) noexcept {
    return read_v_leaf(socket_.get(), into);
  }
  /// As read(), and the bytes stay: the next read gives them again.
  read_leaf peek(std::span<std::byte> into) noexcept {
    return read_leaf(socket_.get(), into, read_leaf::what_then::stays);
  }
  /// co_await it: a result<void>, when there is something to read, the end, or an error. One system call more than a read that waits.
  ready_leaf readable() noexcept { return ready_leaf(socket_.get(), false); }
  /// Never waits: std::errc::operation_would_block.
  [[nodiscard]] result<std::size_t> try_read(std::span<std::byte> into) noexcept;
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

 protected:
  explicit reading_socket(socket_ref s) noexcept : socket_(std::move(s)) {}
  reading_socket(reading_socket&&) noexcept = default;
  reading_socket& operator=(reading_socket&&) noexcept = default;
  ~reading_socket() = default;

  socket_ref socket_;
};

/// The writing direction.
class writing_socket {
 public:
  /// Some bytes; how many.
  write_leaf write(std::span<const std::byte> from) noexcept {
    return write_leaf(socket_.get(), from, false);
  }
  /// All of them. After an error an unknown part has been sent.
  write_leaf write_all(std::span<const std::byte> from) noexcept {
    return write_leaf(socket_.get(), from, true);
  }
  /// A text, which must live until the co_await is done; without a zero at its end. What is in an array of characters ends nowhere: name
  /// the part that counts.
  write_leaf write_all(std::string_view text ROTA_DETAIL_KEPT) noexcept {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  write_leaf write_all(char (&buffer)[N]) = delete;
  /// The same of a literal, without the zero at its end; zeros in the middle are sent.
  template <std::size_t N>
  write_leaf write_all(const char (&text ROTA_DETAIL_KEPT)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }
  /// The same from several places, one after the other; up to 64 of them go at a time.
  write_v_leaf write_v(std::span<const std::span<const std::byte>> from) noexcept {
    return write_v_leaf(socket_.get(), from, false);
  }
  write_v_leaf write_all_v(std::span<const std::span<const std::byte>> from) noexcept {
    return write_v_leaf(socket_.get(), from, true);
  }
  /// `size` bytes of an open file, from `offset`, without copying them through this process. Fewer: the file ended.
  send_file_leaf send_file(int file, std::int64_t offset, std::size_t size) noexcept {
    return send_file_leaf(socket_.get(), file, offset, size);
  }
  /// co_await it: a result<void>, when there is room, or an error.
  ready_leaf writable() noexcept { return ready_leaf(socket_.get(), true); }
  /// Never waits: std::errc::operation_would_block.
  [[nodiscard]] result<std::size_t> try_write(std::span<const std::byte> from) noexcept;
  /// Says that this side has finished: the peer reads 0.
  result<void> shutdown_write() noexcept;
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

 protected:
  explicit writing_socket(socket_ref s) noexcept : socket_(std::move(s)) {}
  writing_socket(writing_socket&&) noexcept = default;
  writing_socket& operator=(writing_socket&&) noexcept = default;
  ~writing_socket() = default;

  socket_ref socket_;
};

/// Both.
class stream_socket {
 public:
  // See reading_socket and writing_socket.
  read_leaf read(std::span<std::byte> into) noexcept { return read_leaf(socket_.get(), into); }
  read_v_leaf read_v(std::span<const std::span<std::byte>> into) noexcept {
    return read_v_leaf(socket_.get(), into);
  }
  read_leaf peek(std::span<std::byte> into) noexcept {
    return read_leaf(socket_.get(), into, read_leaf::what_then::stays);
  }
  ready_leaf readable() noexcept { return ready_leaf(socket_.get(), false); }
  [[nodiscard]] result<std::size_t> try_read(std::span<std::byte> into) noexcept;

  write_leaf write(std::span<const std::byte> from) noexcept {
    return write_leaf(socket_.get(), from, false);
  }
  write_leaf write_all(std::span<const std::byte> from) noexcept {
    return write_leaf(socket_.get(), from, true);
  }
  write_leaf write_all(std::string_view text ROTA_DETAIL_KEPT) noexcept {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  write_leaf write_all(char (&buffer)[N]) = delete;
  /// The same of a literal, without the zero at its end; zeros in the middle are sent.
  template <std::size_t N>
  write_leaf write_all(const char (&text ROTA_DETAIL_KEPT)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }
  write_v_leaf write_v(std::span<const std::span<const std::byte>> from) noexcept {
    return write_v_leaf(socket_.get(), from, false);
  }
  write_v_leaf write_all_v(std::span<const std::span<const std::byte>> from) noexcept {
    return write_v_leaf(socket_.get(), from, true);
  }
  send_file_leaf send_file(int file, std::int64_t offset, std::size_t size) noexcept {
    return send_file_leaf(socket_.get(), file, offset, size);
  }
  ready_leaf writable() noexcept { return ready_leaf(socket_.get(), true); }
  [[nodiscard]] result<std::size_t> try_write(std::span<const std::byte> from) noexcept;

  /// Says that this side has finished: the peer reads 0.
  result<void> shutdown(shutdown_how how) noexcept;
  result<void> shutdown_write() noexcept { return shutdown(shutdown_how::write); }
  /// Ends the connection in order; co_await it. Shuts writing down, discards what the peer still sends until it has finished or `limit` has passed, then
  /// close(). Without it a connection that ends with unread input is reset, and the peer may lose what was written last.
  ///
  /// Threads       No other task reads or writes.
  /// Ownership     The stream may be destroyed meanwhile. An error, too, leaves it closed, but for errc::forked; an exception (std::bad_alloc)
  ///               leaves it open.
  /// Ordering      Cancelled, it may have shut writing down, and has not closed.
  /// Failure       errc::closed; errc::forked: in a forked child, where it touches nothing; ENOTCONN, ECONNRESET: the peer has reset the connection;
  ///               std::errc::bad_file_descriptor: the stream is empty.
  /// Cost          A frame with a buffer of 4 KiB.
  task<result<finish_outcome>> finish(std::chrono::nanoseconds limit);
  /// Discards what has been received and not been read, at most a megabyte. No other task reads. Never waits. Nothing in a forked child, where the input is the parent's, or
  /// if the stream is empty.
  void discard_received() noexcept;
  /// False in a child of the process that made it, and if the stream is empty.
  [[nodiscard]] bool is_of_this_process() const noexcept;
  /// A close with unread input, or input that comes after it, resets the connection: the peer may lose what was written last. See finish().
  ///
  /// From any task, at any time while this lives: who waits, and whoever comes later, is told errc::closed; the peer reads the end. The descriptor
  /// is closed with its last owner. Again: nothing.
  void close() noexcept { socket_.close(); }
  /// The error that the system keeps for the next operation, and forgets then; 0: none.
  [[nodiscard]] std::error_code take_error() noexcept;
  /// At least 1 byte. The system makes of it what it likes, Linux twice as much: ask afterwards.
  result<void> set_receive_buffer(int bytes) noexcept;
  result<void> set_send_buffer(int bytes) noexcept;
  [[nodiscard]] result<int> receive_buffer() const noexcept;
  [[nodiscard]] result<int> send_buffer() const noexcept;
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

 protected:
  explicit stream_socket(socket_ref s) noexcept : socket_(std::move(s)) {}
  stream_socket(stream_socket&&) noexcept = default;
  stream_socket& operator=(stream_socket&&) noexcept = default;
  ~stream_socket() = default;

  socket_ref socket_;
};

}  // namespace ROTA_API detail
}  // namespace rota::net
