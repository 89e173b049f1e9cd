// A unix stream socket: a connection between two processes of one machine, or within one process.
#pragma once

#include <expected>
#include <utility>

#include <rota/detail/net_stream.hpp>
#include <rota/net/unix_endpoint.hpp>
#include <rota/task.hpp>

namespace rota::net {

/// The process that made the other end, as the system recorded it when that process connected or listened.
struct credentials {
  int pid = 0;
  unsigned uid = 0;
  unsigned gid = 0;
};

/// A connected unix socket. Its destructor closes the connection. The close resets the connection if there is
/// unread input (see finish()). An io::stream, and an io::half_closer.
///
/// Threads       As tcp_stream.
/// Ownership     As tcp_stream.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       As tcp_stream. connect: ENOENT; ECONNREFUSED if no socket listens. While the listener's
///               queue is full, connect tries again after 1 ms to 64 ms.
/// Cost          As tcp_stream.
/// Example       examples/unix_sockets.cpp
class ROTA_API unix_stream : public detail::stream_socket {
 public:
  static task<result<unix_stream>> connect(unix_endpoint to);
  /// Makes two streams that are connected to each other. Only within a task.
  [[nodiscard]] static result<std::pair<unix_stream, unix_stream>> pair() noexcept;
  /// Takes over a socket that was made elsewhere. On an error the caller keeps it.
  /// std::errc::wrong_protocol_type if it is no unix stream socket.
  [[nodiscard]] static result<unix_stream> adopt(int fd) noexcept;
  /// Gives the descriptor, non-blocking, to the caller.
  [[nodiscard]] result<int> release() && { return socket_.release(); }

  [[nodiscard]] result<credentials> peer() const noexcept;
  [[nodiscard]] result<unix_endpoint> local_endpoint() const noexcept;
  [[nodiscard]] result<unix_endpoint> peer_endpoint() const noexcept;

  class read_half;
  class write_half;
  /// As tcp_stream::split() and reunite().
  [[nodiscard]] std::pair<read_half, write_half> split() &&;
  [[nodiscard]] static std::expected<unix_stream, std::pair<read_half, write_half>> reunite(
      read_half a, write_half b) noexcept;

 private:
  friend class unix_listener;
  friend class unix_accept_leaf;
  explicit unix_stream(detail::socket_ref s) noexcept : stream_socket(std::move(s)) {}
};

class unix_stream::read_half : public detail::reading_socket {
 private:
  friend class unix_stream;
  explicit read_half(detail::socket_ref s) noexcept : reading_socket(std::move(s)) {}
};

class unix_stream::write_half : public detail::writing_socket {
 public:
  result<void> shutdown() noexcept { return shutdown_write(); }

 private:
  friend class unix_stream;
  explicit write_half(detail::socket_ref s) noexcept : writing_socket(std::move(s)) {}
};

}  // namespace rota::net
