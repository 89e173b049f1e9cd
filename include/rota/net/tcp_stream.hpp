// A TCP connection.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <utility>

#include <rota/detail/net_stream.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/net/socket_options.hpp>
#include <rota/task.hpp>

namespace rota::net {

/// A connected TCP socket. Its destructor closes the connection. The close resets the connection if there is
/// unread input, or if input comes afterwards (see finish()). An io::stream, and an io::half_closer.
///
/// Threads       One task at a time in each direction: one may read while another one writes (see `split`).
///               Belongs to the runtime of the task that made it.
/// Ownership     Owns the descriptor. The buffer of an operation must live until its co_await is done; a
///               buffer in the awaiting frame, or in a frame further out, does.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       std::error_code of the system. A peer that has gone is EPIPE or ECONNRESET, never a signal.
///               A cancelled operation has no effect, except that `write_all`, `write_all_v` and `send_file`
///               may have sent a part. An option with a value out of range is std::errc::invalid_argument. A
///               stream that was moved from: std::errc::bad_file_descriptor.
/// Cost          One system call for an operation that need not wait, two for one that must. No allocation.
/// Example       examples/echo.cpp
class ROTA_API tcp_stream : public detail::stream_socket {
 public:
  /// Connects. Only within a task. ECONNREFUSED, ETIMEDOUT, ... For options use tcp_socket.
  static task<result<tcp_stream>> connect(endpoint to);
  /// Takes over a connected TCP socket that was made elsewhere. Only within a task. On an error the caller
  /// keeps it. std::errc::wrong_protocol_type if it is no TCP socket.
  [[nodiscard]] static result<tcp_stream> adopt(int fd) noexcept;
  /// Gives the descriptor, non-blocking, to the caller.
  [[nodiscard]] result<int> release() && { return socket_.release(); }

  /// Sends small writes at once. If off, small writes may wait for the acknowledgement of earlier ones.
  result<void> set_nodelay(bool on) noexcept;
  /// Holds small writes back until it is turned off, or 200 ms have passed (TCP_CORK).
  result<void> set_cork(bool on) noexcept;
  /// Acknowledges at once for now. The system turns it off again by itself (TCP_QUICKACK).
  result<void> set_quickack(bool on) noexcept;
  /// Sets the keepalive probes. std::nullopt turns them off.
  result<void> set(std::optional<keepalive> how) noexcept;
  /// Sets how long a close waits until the written bytes have been sent, *and blocks its thread meanwhile*.
  /// With 0 a close resets the connection. With std::nullopt a close does not wait, and the system goes on
  /// sending.
  result<void> set_linger(std::optional<std::chrono::seconds> time) noexcept;
  /// Makes a close reset the connection at once: the peer gets ECONNRESET (SO_LINGER 0).
  result<void> reset_on_close() noexcept;
  /// 1..255 (for IPv6: hops).
  result<void> set_ttl(unsigned hops) noexcept;
  /// 0..255: the byte by which routers tell traffic apart (IP_TOS; IPV6_TCLASS). Its upper six bits are the
  /// DSCP: `46 << 2` is expedited forwarding. The system uses the lower two bits of a TCP connection for ECN.
  result<void> set_traffic_class(unsigned value) noexcept;
  /// Limits how long written bytes may stay unacknowledged; then the connection is broken (ETIMEDOUT). 0
  /// means the system's own limit, some minutes.
  result<void> set_user_timeout(std::chrono::milliseconds time) noexcept;
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  [[nodiscard]] result<endpoint> peer_endpoint() const noexcept;

  class read_half;
  class write_half;
  /// Splits the stream into two owners of one connection, for two tasks. The connection is closed when both
  /// have been destroyed. Destroying the write half alone does not tell the peer: call its shutdown().
  [[nodiscard]] std::pair<read_half, write_half> split() &&;
  /// Joins the halves again. Returns both if they do not belong to the same connection.
  [[nodiscard]] static std::expected<tcp_stream, std::pair<read_half, write_half>> reunite(
      read_half a, write_half b) noexcept;

 private:
  friend class tcp_listener;
  friend class tcp_socket;
  friend class accept_leaf;
  explicit tcp_stream(detail::socket_ref s) noexcept : stream_socket(std::move(s)) {}
};

class tcp_stream::read_half : public detail::reading_socket {
 private:
  friend class tcp_stream;
  explicit read_half(detail::socket_ref s) noexcept : reading_socket(std::move(s)) {}
};

class tcp_stream::write_half : public detail::writing_socket {
 public:
  result<void> shutdown() noexcept { return shutdown_write(); }

 private:
  friend class tcp_stream;
  explicit write_half(detail::socket_ref s) noexcept : writing_socket(std::move(s)) {}
};

}  // namespace rota::net
