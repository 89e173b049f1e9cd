// A listening unix socket.
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
  // The mode of its file, less the process's umask: a process that may write to the file may connect. An
  // abstract name has no mode.
  unsigned mode = 0600;
  bool unlink_at_end = false;  // the destructor removes its file, if it is still the same file
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
/// Ownership     As tcp_listener. Its file stays, unless `unlink_at_end` is set. If the file is still there
///               after the listener's end, bind() to it fails with EADDRINUSE, and a connect with
///               ECONNREFUSED.
/// Failure       As tcp_listener. bind: EADDRINUSE if there is a file; std::errc::invalid_argument if the
///               endpoint has no name.
/// Cost          As tcp_listener.
/// Example       examples/unix_sockets.cpp
class ROTA_API unix_listener {
 public:
  [[nodiscard]] static result<unix_listener> bind(const unix_endpoint& at,
                                                  unix_listen_options options = {}) noexcept;
  /// Takes the result of unix_endpoint::path() or abstract(). An error of it is returned.
  [[nodiscard]] static result<unix_listener> bind(const io::result<unix_endpoint>& at,
                                                  unix_listen_options options = {}) noexcept {
    if (!at.has_value()) return std::unexpected(at.error());
    return bind(*at, options);
  }
  /// Takes a path: `bind("/run/service.sock")`. For an abstract name:
  /// `bind(unix_endpoint::abstract("service"))`.
  [[nodiscard]] static result<unix_listener> bind(std::string_view path,
                                                  unix_listen_options options = {}) noexcept {
    return bind(unix_endpoint::path(path), options);
  }
  [[nodiscard]] static result<unix_listener> adopt(int fd) noexcept;

  unix_listener(unix_listener&&) noexcept = default;
  unix_listener& operator=(unix_listener&&) noexcept = default;
  ~unix_listener() = default;

  /// Accepts the next connection; co_await it. Yields a result<unix_stream>.
  unix_accept_leaf accept() noexcept { return unix_accept_leaf(by_); }
  /// Accepts without waiting. Returns std::errc::operation_would_block if no connection is there.
  [[nodiscard]] result<unix_stream> try_accept() noexcept;
  [[nodiscard]] result<unix_endpoint> local_endpoint() const noexcept;
  /// Closes the listener. Any task may call it while the listener lives. Waiting and later accepts return
  /// errc::closed. New connections are refused. The descriptor is closed by its last owner. A second call
  /// does nothing.
  void close() noexcept { by_.socket.close(); }
  [[nodiscard]] int native_handle() const noexcept { return by_.socket.descriptor(); }

 private:
  explicit unix_listener(detail::socket_ref s) noexcept { by_.socket = std::move(s); }
  detail::accepting by_;
  detail::unix_file file_;  // destroyed first
};

}  // namespace rota::net
