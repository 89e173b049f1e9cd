#include <rota/net/tcp_listener.hpp>
#include <rota/time.hpp>

#include "net/socket.hpp"

#include <algorithm>
#include <cerrno>

namespace rota::net {

namespace sys = base::sys;

namespace {

class accept_leaf final : public detail::socket_leaf {
 public:
  explicit accept_leaf(detail::socket* s) noexcept : socket_leaf(s, false) {}
  ~accept_leaf() {
    // Accepted, but its task was cancelled before it saw it.
    if (fd_.has_value() && *fd_ != -1) sys::close(*fd_);
  }
  result<int> await_resume() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] const char* what() const noexcept override { return "socket accept"; }

 private:
  attempt try_once() noexcept override {
    fd_ = sys::accept(descriptor(), nullptr, nullptr);
    return !fd_.has_value() && sys::would_block(fd_.error()) ? attempt::would_block : attempt::done;
  }
  result<int> fd_{-1};
};

enum class on_error : unsigned char { skip, back_off, fail };

on_error judge(const std::error_code& e) noexcept {
  switch (e.value()) {
    // The connection broke while it waited; accept(2) asks to treat the network's own errors alike.
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH: return on_error::skip;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return on_error::back_off;
    default: return on_error::fail;
  }
}

}  // namespace

result<tcp_listener> tcp_listener::bind(const endpoint& at, listen_options options) noexcept {
  if (options.backlog < 1 || options.backlog > 65535) {
    return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  }
  const result<int> fd = sys::stream_socket(at.is_v6() ? AF_INET6 : AF_INET);
  if (!fd.has_value()) return std::unexpected(fd.error());
  sockaddr_storage address;
  const auto length = static_cast<socklen_t>(at.to_native(&address));
  result<void> step{};
  if (options.reuse_address) step = sys::set_option(*fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (step.has_value() && options.reuse_port) step = sys::set_option(*fd, SOL_SOCKET, SO_REUSEPORT, 1);
  if (step.has_value()) step = sys::bind(*fd, reinterpret_cast<const sockaddr*>(&address), length);
  if (step.has_value()) step = sys::listen(*fd, options.backlog);
  if (!step.has_value()) {
    sys::close(*fd);
    return std::unexpected(step.error());
  }
  result<detail::socket_ref> made = detail::socket::adopt(*fd);
  if (!made.has_value()) return std::unexpected(made.error());
  return tcp_listener(std::move(*made));
}

result<tcp_listener> tcp_listener::bind(const std::expected<endpoint, std::error_code>& at,
                                        listen_options options) noexcept {
  if (!at.has_value()) return std::unexpected(at.error());
  return bind(*at, options);
}

task<result<tcp_stream>> tcp_listener::accept() {
  constexpr std::chrono::milliseconds shortest(10);
  constexpr std::chrono::milliseconds longest(1000);
  for (;;) {
    const result<int> fd = co_await accept_leaf(socket_.get());
    if (fd.has_value()) {
      back_off_ = std::chrono::milliseconds(0);
      result<detail::socket_ref> made = detail::socket::adopt(*fd);
      if (!made.has_value()) co_return std::unexpected(made.error());
      co_return tcp_stream(std::move(*made));
    }
    const on_error what = judge(fd.error());
    if (what == on_error::fail) co_return std::unexpected(fd.error());
    if (what == on_error::skip) continue;
    const std::chrono::milliseconds wait = std::max(back_off_, shortest);
    back_off_ = std::min(2 * wait, longest);
    co_await sleep_for(wait);
    const auto now = base::now();
    if (now - last_report_ >= longest) {
      last_report_ = now;
      co_return std::unexpected(fd.error());
    }
  }
}

result<endpoint> tcp_listener::local_endpoint() const noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked =
      sys::local_address(socket_ ? socket_.get()->descriptor() : -1, &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return endpoint::from_native(&address, length);
}

}  // namespace rota::net
