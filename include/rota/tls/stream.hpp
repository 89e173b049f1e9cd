// An encrypted and authenticated stream.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/detail/tls_session.hpp>
#include <rota/error.hpp>
#include <rota/io/concepts.hpp>
#include <rota/task.hpp>
#include <rota/timeout.hpp>

namespace rota::tls {

template <io::stream S>
class read_half;
template <io::stream S>
class write_half;

namespace detail {

template <io::stream S>
using shared_link = shared_ref<link<session, S>>;

/// Ends this side, then reads until the peer has finished. Returns the error, if there is one. It returns no
/// result<void>, since the end of a timeout around it would have the same error code as an error of the
/// stream below.
template <io::stream S>
task<std::error_code> finish_both_ways(link<session, S>& of) {
  const result<void> said = co_await of.finish();
  if (!said.has_value()) co_return said.error();
  // A peer that does not answer a close_notify sees the end of the stream below.
  if constexpr (requires {
                  { of.below().shutdown_write() } -> std::same_as<result<void>>;
                })
    static_cast<void>(of.below().shutdown_write());
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const result<std::size_t> got = co_await of.read(buffer);
    if (!got.has_value() && got.error() != rota::errc::end_of_stream) co_return got.error();
    if (got.value_or(0) == 0) co_return std::error_code();
  }
}

template <io::stream S>
task<result<io::finish_outcome>> finish_stream(shared_link<S> of, std::chrono::nanoseconds limit) {
  if constexpr (requires { of->below().is_of_this_process(); }) {
    if (!of->below().is_of_this_process()) co_return std::unexpected(make_error_code(rota::errc::forked));
  }
  auto both_ways = finish_both_ways(*of);
  const std::expected<std::error_code, timed_out> end = co_await timeout(limit, std::move(both_ways));
  of->below().close();
  if (!end.has_value()) co_return io::finish_outcome::limit_reached;
  if (*end) co_return std::unexpected(*end);
  co_return io::finish_outcome::end_of_stream;
}

/// What a stream and its halves report about the connection.
template <io::stream S>
class connection {
 public:
  /// Returns the host that the client has asked for, or an empty string.
  [[nodiscard]] std::string host() const { return link_->engine().about().host; }
  /// Returns the protocol that both sides have agreed on, or an empty string.
  [[nodiscard]] std::string alpn() const { return link_->engine().about().alpn; }
  /// Returns the cipher, "TLS_AES_256_GCM_SHA384".
  [[nodiscard]] std::string cipher() const { return link_->engine().about().cipher; }
  [[nodiscard]] version spoken() const { return link_->engine().about().spoken; }
  /// Returns true if an earlier session was resumed: then no certificate was sent.
  [[nodiscard]] bool is_resumed() const { return link_->engine().about().is_resumed; }
  /// Returns the certificate of the peer in DER, or nothing if the peer has sent none. A resumed session
  /// returns the certificate of the original handshake.
  [[nodiscard]] std::vector<std::byte> peer_certificate() const { return link_->engine().peer_certificate(); }
  /// Returns the subject, "CN=client,O=example" (RFC 2253).
  [[nodiscard]] std::string peer_subject() const { return link_->engine().peer_subject(); }
  /// Returns the stream below, for its options. Reading or writing there breaks this stream.
  [[nodiscard]] S& below() const noexcept { return link_->below(); }

 protected:
  explicit connection(shared_link<S> of) noexcept : link_(std::move(of)) {}
  connection(connection&&) noexcept = default;
  connection& operator=(connection&&) noexcept = default;
  ~connection() = default;

  shared_link<S> link_;
};

/// The writing operations of a stream and of its writing half.
template <io::stream S>
class writer : public connection<S> {
 public:
  /// Takes some bytes: at least one, unless `from` is empty. They have been given to the stream below when it
  /// returns.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write(std::span<const std::byte> from) {
    return this->link_->write(from);
  }
  /// Writes all bytes, and returns how many that were.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write_all(std::span<const std::byte> from) {
    return this->link_->write_all(from);
  }
  /// Writes a text without a terminating zero. The text must live until the co_await is done. An array of
  /// characters has no known end: pass the part that counts.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write_all(std::string_view text ROTA_DETAIL_KEPT) {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  task<result<std::size_t>> write_all(char (&buffer)[N]) = delete;
  /// Writes a literal without its terminating zero. Zeros in the middle are sent.
  template <std::size_t N>
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write_all(const char (&text)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }
  /// Sends the rest of a write that was cancelled. The next write would send it, too.
  ROTA_DETAIL_WRAPPER task<result<void>> flush() { return this->link_->flush_in_turn(); }
  /// Tells the peer that this side has finished (close_notify); the peer reads 0. Reading goes on. The stream
  /// below stays as it is. A second call, or a call after a cancelled one, sends the rest. It does not wait
  /// for the peer. If the stream is destroyed next, bytes that the peer still sends, tickets too, reset the
  /// connection below, and the peer may lose what was written last. To end the connection use finish(limit),
  /// or read() until 0; the other half may do this.
  ROTA_DETAIL_WRAPPER task<result<void>> shutdown_write() { return this->link_->finish(); }

 protected:
  explicit writer(shared_link<S> of) noexcept : connection<S>(std::move(of)) {}
  writer(writer&&) noexcept = default;
  writer& operator=(writer&&) noexcept = default;
  ~writer() = default;
};

}  // namespace detail

/// An encrypted and authenticated stream over another stream. An io::stream, and an io::half_closer.
/// tls::client and tls::server make it. Empty after a move.
///
/// Threads       One task at a time reads, and one writes; they may be two tasks. Any task may call the other
///               members.
/// Ownership     Owns the stream below, and destroys it. The destructor of the last owner never waits. It
///               discards at most a megabyte of the input that the socket below has received and no task has
///               read. So bytes of TLS itself (session tickets, KeyUpdate) that have come by then do not
///               reset the connection. Bytes that come after the close still reset it, and the peer may lose
///               what was written last. The tickets of a TLS 1.3 server may come one round trip after the
///               handshake: so a client that only writes must end with finish(limit). A peer that goes on
///               reading sees only the end of the stream below, and takes it for an attack: call
///               shutdown_write() or finish() first. The objects that read() and write() return must not
///               outlive the stream. The caller's buffer must live until the co_await is done.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       An error of the stream below. rota::errc::end_of_stream: the stream below has ended without
///               a close_notify; data may be missing. An alert: the peer has given up. openssl_category:
///               bytes came that are no TLS, or were changed. After these two every operation fails. A write
///               after shutdown_write() is std::errc::broken_pipe. A read that is cancelled or times out has
///               read nothing. A write that is cancelled, times out, or meets an error of the stream below
///               has written nothing, as far as a caller that tries again can tell. The bytes that have gone
///               already are remembered, and the next write must begin with the same bytes. With other bytes
///               it fails with errc::write_abandoned, and so does every write after it. write_all may have
///               written a part. `std::bad_alloc`. A member of a stream or a half that was moved from, or
///               split, ends the program with a message: finish() where it is awaited, each other member
///               where it is called.
/// Cost          Two frames for each operation. A record is at most 16 KiB, and so is what one write() takes.
///               About 20 KiB for a connection, and 60 KiB from the first records of full size until its end.
/// Example       examples/tls_echo.cpp
template <io::stream S>
class stream : public detail::writer<S> {
 public:
  stream(stream&&) noexcept = default;
  stream& operator=(stream&&) noexcept = default;
  /// Closes the stream below without a close_notify, and does not wait. Bytes that come later reset the
  /// connection: see Ownership, and finish().
  ~stream() = default;

  /// Reads some bytes, at most `into.size()`. Returns 0 if the peer has finished (close_notify), or if `into`
  /// is empty.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> read(std::span<std::byte> into) {
    return this->link_->read(into);
  }
  /// Ends the connection in order; co_await it. (1) Sends close_notify. (2) Shuts down the writing direction
  /// of the stream below. (3) Discards what the peer still sends, until the peer has finished or `limit` has
  /// passed. (4) Closes the stream below. A close alone may reset the connection, also after a
  /// shutdown_write(): the peer may lose what was written last. No other task may read or write meanwhile.
  ///
  /// Failure       errc::forked in a forked child, where it touches nothing. errc::closed. The errors of
  ///               shutdown_write() and read(); the stream below is closed all the same. A peer that ends
  ///               without a close_notify has finished. If cancelled, it has not closed.
  ROTA_DETAIL_WRAPPER task<result<io::finish_outcome>> finish(std::chrono::nanoseconds limit)
    requires requires(S& s) { s.close(); }
  {
    return detail::finish_stream(this->link_, limit);
  }
  /// Closes the stream below. A waiting task gets errc::closed. A socket that has unread input, or receives
  /// some afterwards, resets the connection: see finish().
  void close() noexcept
    requires requires(S& s) { s.close(); }
  {
    this->link_->below().close();
  }

  /// Splits the stream into two owners of one connection, for two tasks. The stream below is destroyed when
  /// both have been destroyed.
  [[nodiscard]] std::pair<read_half<S>, write_half<S>> split() && {
    static_cast<void>(*this->link_);  // an empty stream ends the program here, not where a half is used
    read_half<S> reading(this->link_);
    write_half<S> writing(std::move(this->link_));
    return {std::move(reading), std::move(writing)};
  }

  explicit stream(detail::shared_link<S> of) noexcept : detail::writer<S>(std::move(of)) {}
};

/// See stream::split().
template <io::stream S>
class read_half : public detail::connection<S> {
 public:
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> read(std::span<std::byte> into) {
    return this->link_->read(into);
  }

  explicit read_half(detail::shared_link<S> of) noexcept : detail::connection<S>(std::move(of)) {}
};

template <io::stream S>
class write_half : public detail::writer<S> {
 public:
  explicit write_half(detail::shared_link<S> of) noexcept : detail::writer<S>(std::move(of)) {}
};

namespace detail {

template <io::stream S>
task<result<stream<S>>> shake_hands(shared_ref<context> of, S below, std::string host) {
  shared_link<S> made(new link<session, S>(std::move(below), std::move(of), host));
  const result<void> done = co_await made->handshake();
  if (!done.has_value()) co_return std::unexpected(done.error());
  co_return stream<S>(std::move(made));
}

}  // namespace detail
}  // namespace rota::tls
