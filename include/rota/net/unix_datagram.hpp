// Datagrams between processes of one machine, or within one: whole, in order, and never lost.
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
/// Ordering      Datagrams of one sender come in the order in which they were sent.
/// Failure       As udp_socket. ECONNREFUSED: nobody is bound there any more; EMSGSIZE: longer than the send buffer. A receiver that does not receive makes a send
///               wait.
/// Cost          As udp_socket; a send_to() that must wait tries again after 1 ms to 64 ms, since the system does not say when there is room.
/// Example       examples/unix_sockets.cpp
class ROTA_API unix_datagram {
 public:
  /// Within a task.
  [[nodiscard]] static result<unix_datagram> bind(const unix_endpoint& at,
                                                  unix_datagram_options options = {}) noexcept;
  /// Of unix_endpoint::path() or abstract(), without looking at it: an error of it is the error of this.
  [[nodiscard]] static result<unix_datagram> bind(const io::result<unix_endpoint>& at,
                                                  unix_datagram_options options = {}) noexcept {
    if (!at.has_value()) return std::unexpected(at.error());
    return bind(*at, options);
  }
  /// A path: `bind("/run/service.sock")`. An abstract name: `bind(unix_endpoint::abstract("service"))`.
  [[nodiscard]] static result<unix_datagram> bind(std::string_view path,
                                                  unix_datagram_options options = {}) noexcept {
    return bind(unix_endpoint::path(path), options);
  }
  /// It has no name: it may send, and nobody can answer unless both are connected.
  [[nodiscard]] static result<unix_datagram> unbound() noexcept;
  /// Two that are connected to each other.
  [[nodiscard]] static result<std::pair<unix_datagram, unix_datagram>> pair() noexcept;
  [[nodiscard]] static result<unix_datagram> adopt(int fd) noexcept;
  /// Its file stays.
  [[nodiscard]] result<int> release() && noexcept;

  /// From now on send() goes there, and nothing comes from anybody else.
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
  /// From any task, at any time while this lives: who waits, and whoever comes later, is told errc::closed. The descriptor
  /// is closed with its last owner. Again: nothing.
  void close() noexcept { socket_.close(); }
  [[nodiscard]] int native_handle() const noexcept { return socket_.descriptor(); }

  class recv_half;
  class send_half;
  /// Two owners of one socket, for two tasks. It is closed when both have gone; its file goes with the one that receives.
  [[nodiscard]] std::pair<recv_half, send_half> split() &&;

 private:
  explicit unix_datagram(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
  detail::unix_file file_;  // goes first
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
  detail::unix_file file_;  // where it is received; goes first
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
