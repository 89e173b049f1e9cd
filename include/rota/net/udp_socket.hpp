// UDP: datagrams, to anybody or to one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <rota/detail/net_datagram.hpp>
#include <rota/net/endpoint.hpp>

namespace rota::net {

struct udp_options {
  bool reuse_address = false;  // several sockets have the address: for multicast
  bool reuse_port = false;     // they share what comes
  bool v6_only = false;        // an IPv6 socket takes no IPv4 datagrams
  bool broadcast = false;      // it may send to a broadcast address
};

/// One of several that are received or sent at once.
struct datagram {
  std::span<std::byte> bytes;  // to be sent; or room, for what is received
  endpoint peer;               // to whom, or from whom; of a connected socket: not used when it sends
  std::size_t size = 0;        // received: so many of `bytes`
  bool is_cut = false;         // received: there were more, and they are lost
};

/// A UDP socket, closed by its destructor.
///
/// Threads       One task at a time receives, and one sends (see `split`). Belongs to the runtime in whose task it was made.
/// Ownership     Owns the descriptor. Bytes and endpoints that an operation is given live until its co_await is done.
/// Ordering      None: datagrams come in another order, twice or not at all.
/// Failure       std::error_code of the system. A datagram that is longer than `into` is cut, and nobody says so but recv_batch. Of a connected
///               socket: ECONNREFUSED, if the peer's machine has said that nobody receives there, is told by the next operation, once. An option
///               whose value is out of range is std::errc::invalid_argument. Cancelled, an operation has no effect: no datagram is lost
///               by it, and none is sent. One that was moved from is std::errc::bad_file_descriptor.
/// Cost          One system call for each operation that need not wait, and for a batch of up to 64 that is received; two for one that is sent. No
///               allocation.
/// Example       examples/udp.cpp
class ROTA_API udp_socket {
 public:
  /// errc::no_runtime outside of a task; EADDRINUSE, ...
  [[nodiscard]] static result<udp_socket> bind(const endpoint& at, udp_options options = {}) noexcept;
  /// An address and a port, as "127.0.0.1:5353" or "[::]:0". No name of a host: the error of endpoint::parse().
  [[nodiscard]] static result<udp_socket> bind(std::string_view at, udp_options options = {}) noexcept {
    const std::expected<endpoint, std::error_code> parsed = endpoint::parse(at);
    if (!parsed.has_value()) return std::unexpected(parsed.error());
    return bind(*parsed, options);
  }
  /// One that was made elsewhere: owns it from now on. An error: it stays the caller's; std::errc::wrong_protocol_type: it is none.
  [[nodiscard]] static result<udp_socket> adopt(int fd) noexcept;
  /// The other way: the descriptor, non-blocking, is the caller's.
  [[nodiscard]] result<int> release() && { return socket_.release(); }

  /// From now on send() goes there, and nothing comes from anybody else.
  result<void> connect(const endpoint& peer) noexcept;
  /// Has the same port as before; EADDRINUSE, if the system had chosen it, and has given it to another one in between: then it has none.
  result<void> disconnect() noexcept;

  /// co_await them: a result<std::size_t>, the bytes of one datagram. Of a connected socket; what is received may come from anybody otherwise.
  detail::send_leaf send(std::span<const std::byte> from) noexcept {
    return detail::send_leaf(socket_.get(), from);
  }
  detail::receive_leaf recv(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, taken);
  }
  /// The datagram stays, and the next one gives it again.
  detail::receive_leaf peek(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, stays);
  }
  detail::send_to_leaf<endpoint> send_to(std::span<const std::byte> bytes, const endpoint& to) noexcept {
    return detail::send_to_leaf<endpoint>(socket_.get(), bytes, to);
  }
  detail::receive_from_leaf<endpoint> recv_from(std::span<std::byte> into, endpoint& from) noexcept {
    return detail::receive_from_leaf<endpoint>(socket_.get(), into, from, taken);
  }
  detail::receive_from_leaf<endpoint> peek_from(std::span<std::byte> into, endpoint& from) noexcept {
    return detail::receive_from_leaf<endpoint>(socket_.get(), into, from, stays);
  }
  /// co_await them: how many datagrams, up to 64, and at least one; 0: there was no room for any, or nothing to be sent. A datagram that cannot be sent
  /// ends the batch before it; if it is the first, its error is told.
  detail::receive_batch_leaf recv_batch(std::span<datagram> into) noexcept {
    return detail::receive_batch_leaf(socket_.get(), into);
  }
  detail::send_batch_leaf send_batch(std::span<const datagram> from) noexcept {
    return detail::send_batch_leaf(socket_.get(), from);
  }
  /// Never wait: std::errc::operation_would_block. Of a connected socket.
  [[nodiscard]] result<std::size_t> try_send(std::span<const std::byte> from) noexcept {
    return detail::try_send(socket_, from);
  }
  [[nodiscard]] result<std::size_t> try_recv(std::span<std::byte> into) noexcept {
    return detail::try_receive(socket_, into);
  }
  /// co_await them: a result<void>.
  detail::ready_leaf readable() noexcept { return detail::ready_leaf(socket_.get(), false); }
  detail::ready_leaf writable() noexcept { return detail::ready_leaf(socket_.get(), true); }

  result<void> set_broadcast(bool on) noexcept;
  /// 1..255 (for IPv6: hops).
  result<void> set_ttl(unsigned hops) noexcept;
  /// 0..255: the byte by which routers tell traffic apart (IP_TOS; IPV6_TCLASS). Its upper six bits are the DSCP: `46 << 2` is expedited
  /// forwarding. Its lower two bits are the ECN's.
  result<void> set_traffic_class(unsigned value) noexcept;
  /// Receives what is sent to the group; its port is not used. `interface_index`: by which network; 0: the system chooses.
  result<void> join(const endpoint& group, unsigned interface_index = 0) noexcept;
  result<void> leave(const endpoint& group, unsigned interface_index = 0) noexcept;
  /// Does what this machine sends to a group come back to it?
  result<void> set_multicast_loop(bool on) noexcept;
  /// 0..255: how far what is sent to a group goes.
  result<void> set_multicast_ttl(unsigned hops) noexcept;
  /// By which network what is sent to a group goes; 0: the system chooses.
  result<void> set_multicast_interface(unsigned interface_index) noexcept;
  /// At least 1 byte. The system makes of it what it likes, Linux twice as much: ask afterwards.
  result<void> set_receive_buffer(int bytes) noexcept;
  result<void> set_send_buffer(int bytes) noexcept;
  [[nodiscard]] result<int> receive_buffer() const noexcept;
  [[nodiscard]] result<int> send_buffer() const noexcept;
  /// The error that the system keeps for the next operation, and forgets then; 0: none.
  [[nodiscard]] std::error_code take_error() noexcept;

  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  /// ENOTCONN: it has none.
  [[nodiscard]] result<endpoint> peer_endpoint() const noexcept;
  /// From any task, at any time while this lives: who waits, and whoever comes later, is told errc::closed. The descriptor
  /// is closed with its last owner. Again: nothing.
  void close() noexcept { socket_.close(); }
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

  class recv_half;
  class send_half;
  /// Two owners of one socket, for two tasks. It is closed when both have gone.
  [[nodiscard]] std::pair<recv_half, send_half> split() &&;

 private:
  static constexpr detail::read_leaf::what_then taken = detail::read_leaf::what_then::taken;
  static constexpr detail::read_leaf::what_then stays = detail::read_leaf::what_then::stays;

  explicit udp_socket(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  [[nodiscard]] result<bool> is_v6() const noexcept;
  result<void> set_membership(bool joins, const endpoint& group, unsigned interface_index) noexcept;
  detail::socket_ref socket_;
};

/// See udp_socket.
class udp_socket::recv_half {
 public:
  detail::receive_leaf recv(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, taken);
  }
  detail::receive_from_leaf<endpoint> recv_from(std::span<std::byte> into, endpoint& from) noexcept {
    return detail::receive_from_leaf<endpoint>(socket_.get(), into, from, taken);
  }
  detail::receive_batch_leaf recv_batch(std::span<datagram> into) noexcept {
    return detail::receive_batch_leaf(socket_.get(), into);
  }

 private:
  friend class udp_socket;
  explicit recv_half(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
};

class udp_socket::send_half {
 public:
  detail::send_leaf send(std::span<const std::byte> from) noexcept {
    return detail::send_leaf(socket_.get(), from);
  }
  detail::send_to_leaf<endpoint> send_to(std::span<const std::byte> bytes, const endpoint& to) noexcept {
    return detail::send_to_leaf<endpoint>(socket_.get(), bytes, to);
  }
  detail::send_batch_leaf send_batch(std::span<const datagram> from) noexcept {
    return detail::send_batch_leaf(socket_.get(), from);
  }

 private:
  friend class udp_socket;
  explicit send_half(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
};

}  // namespace rota::net
