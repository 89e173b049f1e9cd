// A connection between two processes of one machine, or within one.
#pragma once

#include <expected>
#include <utility>

#include <rota/detail/net_stream.hpp>
#include <rota/net/unix_endpoint.hpp>
#include <rota/task.hpp>

namespace rota::net {

/// Who made the other end: as the system knows him, and when he connected, or listened.
struct credentials {
  int pid = 0;
  unsigned uid = 0;
  unsigned gid = 0;
};

/// A connected unix socket, closed by its destructor, which resets the connection if there is unread input (see finish()). An io::stream, and an io::half_closer.
///
/// Threads       As tcp_stream.
/// Ownership     As tcp_stream.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       As tcp_stream. connect: ENOENT, ECONNREFUSED: nobody listens; where the listener's queue is full it tries again, after 1 ms to 64 ms.
/// Cost          As tcp_stream.
/// Example       examples/unix_sockets.cpp
class ROTA_API unix_stream : public detail::stream_socket {
 public:
  static task<result<unix_stream>> connect(unix_endpoint to);
  /// Two that are connected to each other; within a task.
  [[nodiscard]] static result<std::pair<unix_stream, unix_stream>> pair() noexcept;
  /// One that was made elsewhere: owns it from now on. An error: it stays the caller's; std::errc::wrong_protocol_type: it is none.
  [[nodiscard]] static result<unix_stream> adopt(int fd) noexcept;
  /// The other way: the descriptor, non-blocking, is the caller's.
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
