// Unix sockets for datagrams between processes of one machine, or within one process: whole, in order, never
// lost.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <rota/detail/net_datagram.hpp>
#include <rota/detail/net_unix_file.hpp>
#include <rota/net/unix_endpoint.hpp>

namespace rota::net {

struct unix_datagram_options {
  unsigned mode = 0600;        // as unix_listen_options
  bool unlink_at_end = false;  // as unix_listen_options
};

/// A unix socket for datagrams, closed by its destructor.
///
/// Threads       As udp_socket.
/// Ownership     As udp_socket; its file: as unix_listener.
/// Ordering      Datagrams of one sender arrive in the order in which they were sent.
/// Failure       As udp_socket. ECONNREFUSED if no socket is bound there any more; EMSGSIZE if the datagram
///               is longer than the send buffer. A send waits while the receiver's queue is full.
/// Cost          As udp_socket. A send_to() that must wait tries again after 1 ms to 64 ms, since the system
///               does not report when there is space.
/// Example       examples/unix_sockets.cpp
class ROTA_API unix_datagram {
 public:
  /// Binds a socket. Only within a task.
  [[nodiscard]] static result<unix_datagram> bind(const unix_endpoint& at,
                                                  unix_datagram_options options = {}) noexcept;
  /// Takes the result of unix_endpoint::path() or abstract(). An error of it is returned.
  [[nodiscard]] static result<unix_datagram> bind(const io::result<unix_endpoint>& at,
                                                  unix_datagram_options options = {}) noexcept {
    if (!at.has_value()) return std::unexpected(at.error());
    return bind(*at, options);
  }
  /// Takes a path: `bind("/run/service.sock")`. For an abstract name:
  /// `bind(unix_endpoint::abstract("service"))`.
  [[nodiscard]] static result<unix_datagram> bind(std::string_view path,
                                                  unix_datagram_options options = {}) noexcept {
    return bind(unix_endpoint::path(path), options);
  }
  /// Makes a socket without a name. It may send. A receiver cannot answer it unless both are connected.
  [[nodiscard]] static result<unix_datagram> unbound() noexcept;
  /// Makes two sockets that are connected to each other.
  [[nodiscard]] static result<std::pair<unix_datagram, unix_datagram>> pair() noexcept;
  [[nodiscard]] static result<unix_datagram> adopt(int fd) noexcept;
  /// Gives the descriptor to the caller. The file of the socket stays.
  [[nodiscard]] result<int> release() && noexcept;

  /// Connects to `peer`: send() sends to it, and only its datagrams are received from now on.
  result<void> connect(const unix_endpoint& peer) noexcept;
  result<void> disconnect() noexcept;

  // As udp_socket.
  detail::send_leaf send(std::span<const std::byte> from) noexcept {
    return detail::send_leaf(socket_.get(), from);
  }
  detail::receive_leaf recv(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, detail::read_leaf::what_then::taken);
  }
  detail::receive_leaf peek(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, detail::read_leaf::what_then::stays);
  }
  detail::unix_send_to_leaf send_to(std::span<const std::byte> bytes, const unix_endpoint& to) noexcept {
    return detail::unix_send_to_leaf(socket_.get(), bytes, to);
  }
  detail::receive_from_leaf<unix_endpoint> recv_from(std::span<std::byte> into,
                                                     unix_endpoint& from) noexcept {
    return detail::receive_from_leaf<unix_endpoint>(
        socket_.get(), into, from, detail::read_leaf::what_then::taken);
  }
  [[nodiscard]] result<std::size_t> try_send(std::span<const std::byte> from) noexcept {
    return detail::try_send(socket_, from);
  }
  [[nodiscard]] result<std::size_t> try_recv(std::span<std::byte> into) noexcept {
    return detail::try_receive(socket_, into);
  }

  [[nodiscard]] result<unix_endpoint> local_endpoint() const noexcept;
  [[nodiscard]] result<unix_endpoint> peer_endpoint() const noexcept;
  /// Closes the socket. Any task may call it while the socket lives. Waiting and later operations return
  /// errc::closed. The descriptor is closed by its last owner. A second call does nothing.
  void close() noexcept { socket_.close(); }
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

  class recv_half;
  class send_half;
  /// Splits the socket into two owners, for two tasks. It is closed when both have been destroyed. The
  /// receiving half removes its file.
  [[nodiscard]] std::pair<recv_half, send_half> split() &&;

 private:
  explicit unix_datagram(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
  detail::unix_file file_;  // destroyed first
};

/// See unix_datagram.
class unix_datagram::recv_half {
 public:
  detail::receive_leaf recv(std::span<std::byte> into) noexcept {
    return detail::receive_leaf(socket_.get(), into, detail::read_leaf::what_then::taken);
  }
  detail::receive_from_leaf<unix_endpoint> recv_from(std::span<std::byte> into,
                                                     unix_endpoint& from) noexcept {
    return detail::receive_from_leaf<unix_endpoint>(
        socket_.get(), into, from, detail::read_leaf::what_then::taken);
  }

 private:
  friend class unix_datagram;
  recv_half(detail::unix_file file, detail::socket_ref s) noexcept
      : socket_(std::move(s)), file_(std::move(file)) {}
  detail::socket_ref socket_;
  detail::unix_file file_;  // the file of the receiving address; destroyed first
};

class unix_datagram::send_half {
 public:
  detail::send_leaf send(std::span<const std::byte> from) noexcept {
    return detail::send_leaf(socket_.get(), from);
  }
  detail::unix_send_to_leaf send_to(std::span<const std::byte> bytes, const unix_endpoint& to) noexcept {
    return detail::unix_send_to_leaf(socket_.get(), bytes, to);
  }

 private:
  friend class unix_datagram;
  explicit send_half(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
};

}  // namespace rota::net
