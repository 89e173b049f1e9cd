// What a session reads from and writes to: a socket, or TLS over one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

namespace file_server {

/// A socket whose bytes are encrypted on their way. One task at a time uses it.
///
/// Failure    As rota::tls::stream. A read that is cancelled or late has read nothing; after a write that is, only finish() is of use.
class secure_stream {
 public:
  secure_stream() = default;
  secure_stream(const secure_stream&) = delete;
  secure_stream& operator=(const secure_stream&) = delete;
  virtual ~secure_stream() = default;

  [[nodiscard]] virtual rota::task<rota::net::result<std::size_t>> read(std::span<std::byte> into) = 0;
  [[nodiscard]] virtual rota::task<rota::net::result<std::size_t>> write_all(
      std::span<const std::byte> from) = 0;
  /// Says that nothing more comes: close_notify.
  [[nodiscard]] virtual rota::task<rota::net::result<void>> finish() = 0;
  [[nodiscard]] virtual rota::net::tcp_stream& socket() noexcept = 0;
};

/// Either of the two. Reading a plain one costs no frame, and the kernel may send files to it.
class transport {
 public:
  explicit transport(rota::net::tcp_stream plain) noexcept : of_(std::move(plain)) {}
  explicit transport(std::unique_ptr<secure_stream> secure) noexcept : of_(std::move(secure)) {}

  /// Null: it is plain.
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

/// After the last answer: says that nothing more comes, and takes what the client still sends, for a second at most.
/// Closing with unread bytes would reset the connection, and the client might never see the answer (RFC 9112, 9.6).
rota::task<void> linger(transport& over);

}  // namespace file_server
