// What a session reads from and writes to: a plain socket, or TLS over a socket.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

namespace file_server {

/// A socket with encryption. One task at a time uses it.
///
/// Failure    As rota::tls::stream. A read that is cancelled or timed out has consumed nothing. After such a
/// write only finish() may be called.
class secure_stream {
 public:
  secure_stream() = default;
  secure_stream(const secure_stream&) = delete;
  secure_stream& operator=(const secure_stream&) = delete;
  virtual ~secure_stream() = default;

  [[nodiscard]] virtual rota::task<rota::net::result<std::size_t>> read(std::span<std::byte> into) = 0;
  [[nodiscard]] virtual rota::task<rota::net::result<std::size_t>> write_all(
      std::span<const std::byte> from) = 0;
  /// Sends close_notify: no more data follows.
  [[nodiscard]] virtual rota::task<rota::net::result<void>> finish() = 0;
  [[nodiscard]] virtual rota::net::tcp_stream& socket() noexcept = 0;
};

/// A plain or an encrypted stream. A plain read costs no coroutine frame, and the kernel may send files to a
/// plain socket.
class transport {
 public:
  explicit transport(rota::net::tcp_stream plain) noexcept : of_(std::move(plain)) {}
  explicit transport(std::unique_ptr<secure_stream> secure) noexcept : of_(std::move(secure)) {}

  /// Returns null if the connection is plain.
  [[nodiscard]] secure_stream* secure() noexcept {
    auto* const held = std::get_if<std::unique_ptr<secure_stream>>(&of_);
    return held == nullptr ? nullptr : held->get();
  }
  [[nodiscard]] rota::net::tcp_stream& socket() noexcept {
    secure_stream* const over = secure();
    return over == nullptr ? std::get<rota::net::tcp_stream>(of_) : over->socket();
  }

 private:
  std::variant<rota::net::tcp_stream, std::unique_ptr<secure_stream>> of_;
};

/// Called after the last answer. Signals the end of the data and reads what the client still sends, for at
/// most a second. Closing with unread bytes would reset the connection, and the client might not get the
/// answer (RFC 9112, 9.6).
rota::task<void> linger(transport& over);

}  // namespace file_server
