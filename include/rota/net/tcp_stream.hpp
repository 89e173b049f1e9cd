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

/// A connected TCP socket, closed by its destructor, which resets the connection if there is unread input, or if some comes afterwards (see finish()). An
/// io::stream, and an io::half_closer.
///
/// Threads       One task at a time in each direction: one may read while another one writes (see `split`). Belongs to the
///               runtime in whose task it was made.
/// Ownership     Owns the descriptor. The buffer given to an operation must live until its co_await is done,
///               and does, if it belongs to the awaiting frame or to one further out.
/// Ordering      Bytes arrive in the order in which they were written.
/// Failure       std::error_code of the system. A peer that has gone is EPIPE or ECONNRESET, never a signal. Cancelled, an
///               operation has no effect, except that `write_all`, `write_all_v` and `send_file` may have sent a part.
///               An option whose value is out of range is std::errc::invalid_argument. One that was moved from is
///               std::errc::bad_file_descriptor.
/// Cost          One system call for each operation that need not wait, two for one that must. No allocation.
/// Example       examples/echo.cpp
class ROTA_API tcp_stream : public detail::stream_socket {
 public:
  /// Connects, within a task. ECONNREFUSED, ETIMEDOUT, ... With options: tcp_socket.
  static task<result<tcp_stream>> connect(endpoint to);
  /// A connected TCP socket that was made elsewhere, within a task: owns it from now on. An error: it stays the caller's;
  /// std::errc::wrong_protocol_type: it is no TCP socket.
  [[nodiscard]] static result<tcp_stream> adopt(int fd) noexcept;
  /// The other way: the descriptor, non-blocking, is the caller's.
  [[nodiscard]] result<int> release() && { return socket_.release(); }

  /// Small writes go at once; else they may wait for the peer's acknowledgement of earlier ones.
  result<void> set_nodelay(bool on) noexcept;
  /// Holds small writes back until it is turned off, or 200 ms have passed (TCP_CORK).
  result<void> set_cork(bool on) noexcept;
  /// Acknowledges at once, for now: the system turns it off again when it likes (TCP_QUICKACK).
  result<void> set_quickack(bool on) noexcept;
  /// Nothing: off.
  result<void> set(std::optional<keepalive> how) noexcept;
  /// How long a close waits for what was written, *and blocks its thread meanwhile*; 0: it resets the connection. Nothing: it does not wait, and the
  /// system goes on sending.
  result<void> set_linger(std::optional<std::chrono::seconds> time) noexcept;
  /// Closing resets the connection at once, and the peer sees ECONNRESET (SO_LINGER 0).
  result<void> reset_on_close() noexcept;
  /// 1..255 (for IPv6: hops).
  result<void> set_ttl(unsigned hops) noexcept;
  /// 0..255: the byte by which routers tell traffic apart (IP_TOS; IPV6_TCLASS). Its upper six bits are the DSCP: `46 << 2` is expedited
  /// forwarding. The system keeps the lower two bits of a TCP connection to itself: it uses them for ECN.
  result<void> set_traffic_class(unsigned value) noexcept;
  /// What was written may stay unacknowledged for so long; then the connection is broken (ETIMEDOUT). 0: the system's own limit, minutes.
  result<void> set_user_timeout(std::chrono::milliseconds time) noexcept;
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  [[nodiscard]] result<endpoint> peer_endpoint() const noexcept;

  class read_half;
  class write_half;
  /// Two owners of one connection, for two tasks. It is closed when both have gone; dropping the write half does not
  /// tell the peer: call its shutdown().
  [[nodiscard]] std::pair<read_half, write_half> split() &&;
  /// The other way; both back, if they are not of one connection.
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
