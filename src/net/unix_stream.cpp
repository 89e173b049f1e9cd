#include <rota/net/unix_stream.hpp>

#include "net/unix_sockets.hpp"

#include <rota/net/unix_listener.hpp>
#include <rota/time.hpp>

#include <algorithm>

namespace rota::net {

namespace sys = base::sys;

task<result<unix_stream>> unix_stream::connect(unix_endpoint to) {
  if (!detail::socket::can_watch()) co_return std::unexpected(make_error_code(errc::no_runtime));
  constexpr std::chrono::milliseconds longest(64);
  const result<int> fd = sys::unix_socket(SOCK_STREAM);
  if (!fd.has_value()) co_return std::unexpected(fd.error());
  detail::owned_descriptor owned(*fd);
  const detail::native_unix_address address(to);
  std::chrono::milliseconds wait(1);
  for (;;) {
    // The connect ends at once, unless the listener's queue is full. No event reports when it has space.
    const result<void> connected = sys::connect(*fd, address.get(), address.size);
    if (connected.has_value()) break;
    if (!sys::would_block(connected.error())) co_return std::unexpected(connected.error());
    co_await sleep_for(wait);
    wait = std::min(2 * wait, longest);
  }
  result<detail::socket_ref> made = detail::socket::adopt(owned.release());
  if (!made.has_value()) co_return std::unexpected(made.error());
  co_return unix_stream(std::move(*made));
}

result<std::pair<unix_stream, unix_stream>> unix_stream::pair() noexcept {
  auto both = detail::unix_pair(SOCK_STREAM);
  if (!both.has_value()) return std::unexpected(both.error());
  return std::pair(unix_stream(std::move(both->first)), unix_stream(std::move(both->second)));
}

result<unix_stream> unix_stream::adopt(int fd) noexcept {
  result<detail::socket_ref> made = detail::adopt_unix(fd, SOCK_STREAM);
  if (!made.has_value()) return std::unexpected(made.error());
  return unix_stream(std::move(*made));
}

result<credentials> unix_stream::peer() const noexcept {
  struct ucred who{};
  const result<void> asked = sys::option_bytes(native_handle(), SOL_SOCKET, SO_PEERCRED, &who, sizeof who);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return credentials{.pid = who.pid, .uid = who.uid, .gid = who.gid};
}

result<unix_endpoint> unix_stream::local_endpoint() const noexcept {
  return detail::local_unix_endpoint(native_handle());
}
result<unix_endpoint> unix_stream::peer_endpoint() const noexcept {
  return detail::peer_unix_endpoint(native_handle());
}

std::pair<unix_stream::read_half, unix_stream::write_half> unix_stream::split() && {
  detail::socket_ref second = socket_;
  return {read_half(std::move(socket_)), write_half(std::move(second))};
}

std::expected<unix_stream, std::pair<unix_stream::read_half, unix_stream::write_half>> unix_stream::reunite(
    read_half a, write_half b) noexcept {
  if (a.socket_.get() != b.socket_.get()) return std::unexpected(std::pair(std::move(a), std::move(b)));
  return unix_stream(std::move(a.socket_));
}

// ---- the listener

result<unix_listener> unix_listener::bind(const unix_endpoint& at, unix_listen_options options) noexcept {
  if (options.backlog < 1 || options.backlog > 65535) return detail::out_of_range();
  const result<int> fd = sys::unix_socket(SOCK_STREAM);
  if (!fd.has_value()) return std::unexpected(fd.error());
  detail::owned_descriptor owned(*fd);
  const result<void> bound = detail::bind_unix(*fd, at, options.mode);
  if (!bound.has_value()) return std::unexpected(bound.error());
  detail::unix_file file;
  if (options.unlink_at_end) file.unlink_at_end(at);
  const result<void> listens = sys::listen(*fd, options.backlog);
  if (!listens.has_value()) return std::unexpected(listens.error());
  result<detail::socket_ref> made = detail::socket::adopt(owned.release());
  if (!made.has_value()) return std::unexpected(made.error());
  unix_listener listener(std::move(*made));
  listener.file_ = std::move(file);
  return listener;
}

result<unix_listener> unix_listener::adopt(int fd) noexcept {
  const result<void> listens = detail::demand_listening(fd);
  if (!listens.has_value()) return std::unexpected(listens.error());
  result<detail::socket_ref> made = detail::adopt_unix(fd, SOCK_STREAM);
  if (!made.has_value()) return std::unexpected(made.error());
  return unix_listener(std::move(*made));
}

result<unix_stream> unix_listener::try_accept() noexcept {
  result<detail::socket_ref> made = detail::try_accept(by_);
  if (!made.has_value()) return std::unexpected(made.error());
  return unix_stream(std::move(*made));
}

result<unix_endpoint> unix_listener::local_endpoint() const noexcept {
  return detail::local_unix_endpoint(native_handle());
}

result<unix_stream> unix_accept_leaf::await_resume() noexcept {
  result<detail::socket_ref> made = take();
  if (!made.has_value()) return std::unexpected(made.error());
  return unix_stream(std::move(*made));
}

}  // namespace rota::net
