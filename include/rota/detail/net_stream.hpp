// What connections and their halves share: bytes in two directions.
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
  /// Reads some bytes, at most `into.size()`. Yields 0 if the peer has finished, or if `into` is empty.
  read_leaf read(std::span<std::byte> into) noexcept { return read_leaf(socket_.get(), into); }
  /// Reads into several buffers, one after the other. Uses at most 64 of them at a time.
  read_v_leaf read_v(std::span<const std::span<std::byte>> into) noexcept {
    return read_v_leaf(socket_.get(), into);
  }
  /// Reads and leaves the bytes there: the next read returns them again.
  read_leaf peek(std::span<std::byte> into) noexcept {
    return read_leaf(socket_.get(), into, read_leaf::what_then::stays);
  }
  /// Waits until there is something to read, the end, or an error; co_await it. Yields a result<void>. Needs
  /// one system call more than a read that waits.
  ready_leaf readable() noexcept { return ready_leaf(socket_.get(), false); }
  /// Reads without waiting. Returns std::errc::operation_would_block instead of waiting.
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
  /// Writes some bytes, and yields how many.
  write_leaf write(std::span<const std::byte> from) noexcept {
    return write_leaf(socket_.get(), from, false);
  }
  /// Writes all bytes. After an error an unknown part has been sent.
  write_leaf write_all(std::span<const std::byte> from) noexcept {
    return write_leaf(socket_.get(), from, true);
  }
  /// Writes a text without a terminating zero. The text must live until the co_await is done. An array of
  /// characters has no known end: pass the part that counts.
  write_leaf write_all(std::string_view text ROTA_DETAIL_KEPT) noexcept {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  write_leaf write_all(char (&buffer)[N]) = delete;
  /// Writes a literal without its terminating zero. Zeros in the middle are sent.
  template <std::size_t N>
  write_leaf write_all(const char (&text ROTA_DETAIL_KEPT)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }
  /// Writes from several buffers, one after the other. Sends at most 64 of them at a time.
  write_v_leaf write_v(std::span<const std::span<const std::byte>> from) noexcept {
    return write_v_leaf(socket_.get(), from, false);
  }
  write_v_leaf write_all_v(std::span<const std::span<const std::byte>> from) noexcept {
    return write_v_leaf(socket_.get(), from, true);
  }
  /// Sends `size` bytes of an open file, from `offset`, without copying them through this process. Yields
  /// less if the file has ended.
  send_file_leaf send_file(int file, std::int64_t offset, std::size_t size) noexcept {
    return send_file_leaf(socket_.get(), file, offset, size);
  }
  /// Waits until there is space for a write, or an error; co_await it. Yields a result<void>.
  ready_leaf writable() noexcept { return ready_leaf(socket_.get(), true); }
  /// Writes without waiting. Returns std::errc::operation_would_block instead of waiting.
  [[nodiscard]] result<std::size_t> try_write(std::span<const std::byte> from) noexcept;
  /// Ends the writing direction: the peer reads 0.
  result<void> shutdown_write() noexcept;
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

 protected:
  explicit writing_socket(socket_ref s) noexcept : socket_(std::move(s)) {}
  writing_socket(writing_socket&&) noexcept = default;
  writing_socket& operator=(writing_socket&&) noexcept = default;
  ~writing_socket() = default;

  socket_ref socket_;
};

/// Both directions.
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
  /// Writes a literal without its terminating zero. Zeros in the middle are sent.
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

  /// Shuts down one or both directions. After a shutdown of writing the peer reads 0.
  result<void> shutdown(shutdown_how how) noexcept;
  result<void> shutdown_write() noexcept { return shutdown(shutdown_how::write); }
  /// Ends the connection in order; co_await it. (1) Shuts the writing direction down. (2) Discards what the
  /// peer still sends, until the peer has finished or `limit` has passed. (3) Calls close(). Without it a
  /// connection that ends with unread input is reset, and the peer may lose what was written last.
  ///
  /// Threads       No other task reads or writes.
  /// Ownership     The stream may be destroyed meanwhile. An error leaves the stream closed, except
  ///               errc::forked. An exception (std::bad_alloc) leaves it open.
  /// Ordering      If cancelled, it may have shut the writing direction down, and has not closed.
  /// Failure       errc::closed. errc::forked in a forked child, where it touches nothing. ENOTCONN,
  ///               ECONNRESET if the peer has reset the connection. std::errc::bad_file_descriptor if the
  ///               stream is empty.
  /// Cost          A frame with a buffer of 4 KiB.
  task<result<finish_outcome>> finish(std::chrono::nanoseconds limit);
  /// Discards received bytes that were not read, at most a megabyte. No other task may read. Never waits.
  /// Does nothing if the stream is empty, or in a forked child, where the input belongs to the parent.
  void discard_received() noexcept;
  /// Returns false in a child of the process that made the stream, and if the stream is empty.
  [[nodiscard]] bool is_of_this_process() const noexcept;
  /// Closes the stream. A close with unread input, or input that comes after it, resets the connection: the
  /// peer may lose what was written last. See finish().
  ///
  /// Any task may call it while the stream lives. Waiting and later operations return errc::closed; the peer
  /// reads the end. The descriptor is closed by its last owner. A second call does nothing.
  void close() noexcept { socket_.close(); }
  /// Returns and clears the error that the system keeps for the next operation. Returns an empty code if
  /// there is none.
  [[nodiscard]] std::error_code take_error() noexcept;
  /// Sets the buffer size, at least 1 byte. The system adapts the value (Linux doubles it): read it back.
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
