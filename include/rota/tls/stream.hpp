// A connection that nobody else can read or change.
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

/// Until the peer has finished; the error, if there is one. No result<void>: a timeout around it would tell its own end by an error code
/// that the stream below may tell, too.
template <io::stream S>
task<std::error_code> finish_both_ways(link<session, S>& of) {
  const result<void> said = co_await of.finish();
  if (!said.has_value()) co_return said.error();
  // The end of the stream below tells a peer that does not answer a close_notify.
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

/// What a stream and its halves tell of the connection.
template <io::stream S>
class connection {
 public:
  /// That the client has asked for; empty: none.
  [[nodiscard]] std::string host() const { return link_->engine().about().host; }
  /// That both sides have agreed on; empty: none.
  [[nodiscard]] std::string alpn() const { return link_->engine().about().alpn; }
  /// "TLS_AES_256_GCM_SHA384".
  [[nodiscard]] std::string cipher() const { return link_->engine().about().cipher; }
  [[nodiscard]] version spoken() const { return link_->engine().about().spoken; }
  /// An earlier session of the two went on: no certificate was shown.
  [[nodiscard]] bool is_resumed() const { return link_->engine().about().is_resumed; }
  /// DER; empty: the peer has given none. Of a session that was resumed: the one of then.
  [[nodiscard]] std::vector<std::byte> peer_certificate() const { return link_->engine().peer_certificate(); }
  /// "CN=client,O=example" (RFC 2253).
  [[nodiscard]] std::string peer_subject() const { return link_->engine().peer_subject(); }
  /// The stream below, for its options. Whoever reads or writes there breaks this one.
  [[nodiscard]] S& below() const noexcept { return link_->below(); }

 protected:
  explicit connection(shared_link<S> of) noexcept : link_(std::move(of)) {}
  connection(connection&&) noexcept = default;
  connection& operator=(connection&&) noexcept = default;
  ~connection() = default;

  shared_link<S> link_;
};

/// What a stream and its writing half do.
template <io::stream S>
class writer : public connection<S> {
 public:
  /// Takes some bytes, at least one unless there are none, and has given them to the stream below when it returns.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write(std::span<const std::byte> from) {
    return this->link_->write(from);
  }
  /// All of them; how many that were.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write_all(std::span<const std::byte> from) {
    return this->link_->write_all(from);
  }
  /// A text, which must live until the co_await is done; without a zero at its end. What is in an array of characters ends nowhere: name
  /// the part that counts.
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write_all(std::string_view text ROTA_DETAIL_KEPT) {
    return write_all(std::as_bytes(std::span(text)));
  }
  template <std::size_t N>
  task<result<std::size_t>> write_all(char (&buffer)[N]) = delete;
  /// The same of a literal, without the zero at its end; zeros in the middle are sent.
  template <std::size_t N>
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> write_all(const char (&text)[N]) {
    return write_all(std::string_view(text, text[N - 1] == '\0' ? N - 1 : N));
  }
  /// What a write has left that was cancelled: the next write would do it, too.
  ROTA_DETAIL_WRAPPER task<result<void>> flush() { return this->link_->flush_in_turn(); }
  /// Says that this side has finished (close_notify); the peer reads 0. Reading goes on. The stream below stays as it is. Again, or after one
  /// that was cancelled: sends what is left. It does not wait for the peer: where the stream goes next, what the peer still sends, tickets too, resets the
  /// connection below, and the peer may lose what was written last. To end: finish(limit), or read() until 0, also by the other half.
  ROTA_DETAIL_WRAPPER task<result<void>> shutdown_write() { return this->link_->finish(); }

 protected:
  explicit writer(shared_link<S> of) noexcept : connection<S>(std::move(of)) {}
  writer(writer&&) noexcept = default;
  writer& operator=(writer&&) noexcept = default;
  ~writer() = default;
};

}  // namespace detail

/// A stream over another one, encrypted and authenticated. An io::stream, and an io::half_closer. tls::client and tls::server make it. Empty after a move.
///
/// Threads       One task at a time reads, and one writes; they may be two. The others of its members: any.
/// Ownership     Owns the stream below, which goes with it. The destructor of the last owner never waits. It discards what a socket below has received and
///               nothing has read, at most a megabyte: bytes that TLS itself has sent (session tickets, KeyUpdate) and that have come by then do not reset the
///               connection. Bytes that come after the close still reset it, and the peer may lose what was written last. The tickets of a TLS 1.3 server may
///               come one round trip after the handshake: so a client that only writes ends with finish(limit). A peer that reads on is told by the end of the
///               stream below alone, and takes it for an attack: shutdown_write() or finish() first. What read() and write() return must not outlive the
///               stream, and the buffer lives until the co_await is done.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       What the stream below says. rota::errc::end_of_stream: it has ended, and the peer has not said that it would: something may be missing.
///               An alert: the peer has given up; openssl_category: it has sent what is no TLS, or was changed. After these two nothing works any
///               more. A write after shutdown_write() is std::errc::broken_pipe. A read that is cancelled or late has read nothing. A write that is,
///               or has failed in the stream below, has written nothing, as far as one who tries again can see: what has gone already is
///               remembered, and the next write must begin with the same bytes; with others it is errc::write_abandoned, and so is
///               every write after it. write_all: a part may have been written. `std::bad_alloc`. A member of a stream or a half that was
///               moved from, or split, ends the program with a sentence: finish() where it is awaited, each other one where it is called.
/// Cost          Two frames for each operation. A record is 16 KiB at most, and so is what one write() takes. About 20 KiB for a connection, 60 KiB
///               once it has moved records of full size, until it goes.
/// Example       examples/tls_echo.cpp
template <io::stream S>
class stream : public detail::writer<S> {
 public:
  stream(stream&&) noexcept = default;
  stream& operator=(stream&&) noexcept = default;
  /// Closes the stream below without a close_notify, and does not wait: bytes that come later reset the connection. See Ownership, and finish().
  ~stream() = default;

  /// Some bytes, at most `into.size()`; 0: the peer has said that it has finished (or `into` is empty).
  ROTA_DETAIL_WRAPPER task<result<std::size_t>> read(std::span<std::byte> into) {
    return this->link_->read(into);
  }
  /// Ends the connection in order; co_await it. Says that this side has finished (close_notify), shuts writing of the stream below down, discards what the
  /// peer still sends until it has finished or `limit` has passed, then closes the stream below. A close alone may reset the connection, also after a
  /// shutdown_write(): the peer may lose what was written last. No other task reads or writes meanwhile.
  ///
  /// Failure       errc::forked: in a forked child, where it touches nothing. errc::closed. What shutdown_write() or read() says; the stream below is
  ///               closed all the same. A peer that ends without a close_notify has finished. Cancelled, it has not closed.
  ROTA_DETAIL_WRAPPER task<result<io::finish_outcome>> finish(std::chrono::nanoseconds limit)
    requires requires(S& s) { s.close(); }
  {
    return detail::finish_stream(this->link_, limit);
  }
  /// Closes the stream below: a task that waits is told errc::closed. A socket that has unread input, or gets some afterwards, resets the
  /// connection: see finish().
  void close() noexcept
    requires requires(S& s) { s.close(); }
  {
    this->link_->below().close();
  }

  /// Two owners of one connection, for two tasks. The stream below goes when both have gone.
  [[nodiscard]] std::pair<read_half<S>, write_half<S>> split() && {
    static_cast<void>(*this->link_);  // of an empty one it ends here, not where a half is used
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
