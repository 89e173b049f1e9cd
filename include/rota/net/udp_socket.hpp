// UDP sockets: datagrams to and from any address, or one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <rota/detail/net_datagram.hpp>
#include <rota/net/endpoint.hpp>

namespace rota::net {

struct udp_options {
  bool reuse_address = false;  // several sockets may have the address: for multicast
  bool reuse_port = false;     // several sockets share the datagrams of one port
  bool v6_only = false;        // an IPv6 socket takes no IPv4 datagrams
  bool broadcast = false;      // it may send to a broadcast address
};

/// One datagram of a batch.
struct datagram {
  std::span<std::byte> bytes;  // the bytes to be sent, or the buffer to receive into
  endpoint peer;               // the receiver or the sender; ignored when a connected socket sends
  std::size_t size = 0;        // how many of `bytes` were received
  bool is_cut = false;         // the received datagram was longer; its end is lost
};

/// A UDP socket, closed by its destructor.
///
/// Threads       One task at a time receives, and one sends (see `split`). Belongs to the runtime of the task
///               that made it.
/// Ownership     Owns the descriptor. The bytes and endpoints of an operation must live until its co_await is
///               done.
/// Ordering      None: datagrams may be reordered, duplicated or lost.
/// Failure       std::error_code of the system. A datagram that is longer than `into` is cut; only recv_batch
///               reports this. Connected sockets: if the peer's machine has reported that no socket receives
///               there, the next operation returns ECONNREFUSED, once. An option with a value out of range is
///               std::errc::invalid_argument. A cancelled operation has no effect: it loses no datagram, and
///               sends none. A socket that was moved from: std::errc::bad_file_descriptor.
/// Cost          One system call for an operation that need not wait, and for a received batch of up to 64;
///               two for a sent batch. No allocation.
/// Example       examples/udp.cpp
class ROTA_API udp_socket {
 public:
  /// Binds a socket. errc::no_runtime outside of a task; EADDRINUSE, ...
  [[nodiscard]] static result<udp_socket> bind(const endpoint& at, udp_options options = {}) noexcept;
  /// Takes an address and a port, as "127.0.0.1:5353" or "[::]:0". Returns the error of
  /// endpoint::parse() for a host name.
  [[nodiscard]] static result<udp_socket> bind(std::string_view at, udp_options options = {}) noexcept {
    const std::expected<endpoint, std::error_code> parsed = endpoint::parse(at);
    if (!parsed.has_value()) return std::unexpected(parsed.error());
    return bind(*parsed, options);
  }
  /// Takes over a socket that was made elsewhere. On an error the caller keeps it.
  /// std::errc::wrong_protocol_type if it is no UDP socket.
  [[nodiscard]] static result<udp_socket> adopt(int fd) noexcept;
  /// Gives the descriptor, non-blocking, to the caller.
  [[nodiscard]] result<int> release() && { return socket_.release(); }

  /// Connects to `peer`: send() sends to it, and only its datagrams are received from now on.
  result<void> connect(const endpoint& peer) noexcept;
  /// Removes the peer. The socket keeps its port. EADDRINUSE if the system had chosen the port and has given
  /// it to another socket meanwhile: then the socket has no port.
  result<void> disconnect() noexcept;

  /// Send or receive one datagram; co_await them. Yield a result<std::size_t>, the bytes of the datagram.
  /// send() needs a connected socket. Without connect() a received datagram may come from any sender.
  detail::send_leaf send(std::span<const std::byte> from) noexcept {
    return detail::send_leaf(socket_.get(), from);
  }
  detail::receive_leaf recv(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, taken);
  }
  /// Receives a datagram and leaves it there: the next receive returns it again.
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
  /// Receive or send up to 64 datagrams, and at least one; co_await them. Yield how many. Yield 0 if `into`
  /// or `from` is empty. A datagram that cannot be sent ends the batch before it. If it is the first, its
  /// error is returned.
  detail::receive_batch_leaf recv_batch(std::span<datagram> into) noexcept {
    return detail::receive_batch_leaf(socket_.get(), into);
  }
  detail::send_batch_leaf send_batch(std::span<const datagram> from) noexcept {
    return detail::send_batch_leaf(socket_.get(), from);
  }
  /// Send or receive without waiting. Return std::errc::operation_would_block instead of waiting. try_send()
  /// needs a connected socket.
  [[nodiscard]] result<std::size_t> try_send(std::span<const std::byte> from) noexcept {
    return detail::try_send(socket_, from);
  }
  [[nodiscard]] result<std::size_t> try_recv(std::span<std::byte> into) noexcept {
    return detail::try_receive(socket_, into);
  }
  /// Wait until a receive, or a send, would not wait; co_await them. Yield a result<void>.
  detail::ready_leaf readable() noexcept { return detail::ready_leaf(socket_.get(), false); }
  detail::ready_leaf writable() noexcept { return detail::ready_leaf(socket_.get(), true); }

  result<void> set_broadcast(bool on) noexcept;
  /// 1..255 (for IPv6: hops).
  result<void> set_ttl(unsigned hops) noexcept;
  /// 0..255: the byte by which routers tell traffic apart (IP_TOS; IPV6_TCLASS). Its upper six bits are the
  /// DSCP: `46 << 2` is expedited forwarding. Its lower two bits belong to ECN.
  result<void> set_traffic_class(unsigned value) noexcept;
  /// Receives datagrams that are sent to the group; its port is ignored. `interface_index` chooses the
  /// network. 0: the system chooses.
  result<void> join(const endpoint& group, unsigned interface_index = 0) noexcept;
  result<void> leave(const endpoint& group, unsigned interface_index = 0) noexcept;
  /// Sets whether datagrams that this machine sends to a group are also received by it.
  result<void> set_multicast_loop(bool on) noexcept;
  /// 0..255: how many hops a datagram to a group may take.
  result<void> set_multicast_ttl(unsigned hops) noexcept;
  /// Chooses the network for datagrams to a group. 0: the system chooses.
  result<void> set_multicast_interface(unsigned interface_index) noexcept;
  /// Sets the buffer size, at least 1 byte. The system adapts the value (Linux doubles it): read it back.
  result<void> set_receive_buffer(int bytes) noexcept;
  result<void> set_send_buffer(int bytes) noexcept;
  [[nodiscard]] result<int> receive_buffer() const noexcept;
  [[nodiscard]] result<int> send_buffer() const noexcept;
  /// Returns and clears the error that the system keeps for the next operation. Returns an empty code if
  /// there is none.
  [[nodiscard]] std::error_code take_error() noexcept;

  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  /// Returns the address of the peer. ENOTCONN if there is none.
  [[nodiscard]] result<endpoint> peer_endpoint() const noexcept;
  /// Closes the socket. Any task may call it while the socket lives. Waiting and later operations return
  /// errc::closed. The descriptor is closed by its last owner. A second call does nothing.
  void close() noexcept { socket_.close(); }
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

  class recv_half;
  class send_half;
  /// Splits the socket into two owners, for two tasks. It is closed when both have been destroyed.
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
