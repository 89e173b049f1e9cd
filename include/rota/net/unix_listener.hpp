// Waiting for connections of this machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <rota/detail/net_accept.hpp>
#include <rota/detail/net_unix_file.hpp>
#include <rota/net/unix_stream.hpp>

namespace rota::net {

struct unix_listen_options {
  int backlog = 4096;  // 1..65535; the system may keep fewer
  unsigned mode =
      0600;  // of its file, less the process's umask: who may write there may connect. No abstract name has one
  bool unlink_at_end = false;  // its file goes with it, if it is still the same
};

/// What unix_listener::accept() returns.
class ROTA_DETAIL_AWAIT_IT ROTA_API unix_accept_leaf final : public detail::accept_core {
 public:
  explicit unix_accept_leaf(detail::accepting& by) noexcept : accept_core(by) {}
  [[nodiscard]] result<unix_stream> await_resume() noexcept;
};

/// A listening unix socket.
///
/// Threads       As tcp_listener.
/// Ownership     As tcp_listener. Its file stays, unless `unlink_at_end`: the next one to bind there is told EADDRINUSE, and who connects ECONNREFUSED.
/// Failure       As tcp_listener. bind: EADDRINUSE: there is a file; std::errc::invalid_argument: the endpoint has no name.
/// Cost          As tcp_listener.
/// Example       examples/unix_sockets.cpp
class ROTA_API unix_listener {
 public:
  [[nodiscard]] static result<unix_listener> bind(const unix_endpoint& at,
                                                  unix_listen_options options = {}) noexcept;
  /// Of unix_endpoint::path() or abstract(), without looking at it: an error of it is the error of this.
  [[nodiscard]] static result<unix_listener> bind(const io::result<unix_endpoint>& at,
                                                  unix_listen_options options = {}) noexcept {
    if (!at.has_value()) return std::unexpected(at.error());
    return bind(*at, options);
  }
  /// A path: `bind("/run/service.sock")`. An abstract name: `bind(unix_endpoint::abstract("service"))`.
  [[nodiscard]] static result<unix_listener> bind(std::string_view path,
                                                  unix_listen_options options = {}) noexcept {
    return bind(unix_endpoint::path(path), options);
  }
  [[nodiscard]] static result<unix_listener> adopt(int fd) noexcept;

  unix_listener(unix_listener&&) noexcept = default;
  unix_listener& operator=(unix_listener&&) noexcept = default;
  ~unix_listener() = default;

  /// co_await it: the next connection, a result<unix_stream>.
  unix_accept_leaf accept() noexcept { return unix_accept_leaf(by_); }
  /// Never waits: std::errc::operation_would_block.
  [[nodiscard]] result<unix_stream> try_accept() noexcept;
  [[nodiscard]] result<unix_endpoint> local_endpoint() const noexcept;
  /// From any task, at any time while this lives: who waits, and whoever comes later, is told errc::closed; who connects is refused. The descriptor
  /// is closed with its last owner. Again: nothing.
  void close() noexcept { by_.socket.close(); }
  [[nodiscard]] int native_handle() const noexcept { return by_.socket.descriptor(); }

 private:
  explicit unix_listener(detail::socket_ref s) noexcept { by_.socket = std::move(s); }
  detail::accepting by_;
  detail::unix_file file_;  // goes first
};

}  // namespace rota::net
