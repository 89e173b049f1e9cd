#include <rota/net/tcp_stream.hpp>

#include "net/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace rota::net {

namespace sys = base::sys;

namespace detail {

namespace {

/// Waits for a connect that goes on.
class connect_leaf final : public socket_leaf {
 public:
  explicit connect_leaf(socket* s) noexcept : socket_leaf(s, true) {}
  result<void> await_resume() noexcept { return result_; }
  [[nodiscard]] const char* what() const noexcept override { return "socket connect"; }

 private:
  /// The first try comes before the first event: then nothing is decided.
  attempt try_once() noexcept override {
    if (!asked_) {
      asked_ = true;
      return attempt::would_block;
    }
    result_ = sys::socket_error(descriptor());
    if (!result_.has_value()) return attempt::done;
    sockaddr_storage peer;
    socklen_t length = sizeof peer;
    // Writable without an error, but with no peer yet: an event from before the connect.
    return sys::peer_address(descriptor(), &peer, &length).has_value() ? attempt::done : attempt::would_block;
  }
  bool asked_ = false;
  result<void> result_;
};

}  // namespace

socket_leaf::attempt read_leaf::try_once() noexcept {
  // A socket that has nothing to receive refuses even that.
  if (into_.empty()) return attempt::done;
  result_ = sys::receive(descriptor(), into_.data(), into_.size());
  return !result_.has_value() && sys::would_block(result_.error()) ? attempt::would_block : attempt::done;
}

socket_leaf::attempt write_leaf::try_once() noexcept {
  // A large write fills the socket and comes back for more; result_ counts what has gone.
  while (!from_.empty()) {
    const result<std::size_t> sent = sys::send(descriptor(), from_.data(), from_.size());
    if (!sent.has_value()) {
      if (sys::would_block(sent.error())) return attempt::would_block;
      result_ = sent;
      return attempt::done;
    }
    *result_ += *sent;
    from_ = from_.subspan(*sent);
    if (!all_) break;
  }
  return attempt::done;
}

socket_leaf::attempt send_file_leaf::try_once() noexcept {
  // The kernel may send less than it is asked for without being full: bounded turns, so that others get theirs.
  constexpr std::size_t most_at_once = std::size_t{1} << 20U;
  while (left_ != 0) {
    const result<std::size_t> sent =
        sys::send_file(descriptor(), file_, offset_, left_ < most_at_once ? left_ : most_at_once);
    if (!sent.has_value()) {
      if (sys::would_block(sent.error())) return attempt::would_block;
      result_ = sent;
      return attempt::done;
    }
    if (*sent == 0) break;  // the file has become shorter
    *result_ += *sent;
    offset_ += static_cast<std::int64_t>(*sent);
    left_ -= *sent;
  }
  return attempt::done;
}

}  // namespace detail

task<result<tcp_stream>> tcp_stream::connect(endpoint to) {
  const result<int> fd = sys::stream_socket(to.is_v6() ? AF_INET6 : AF_INET);
  if (!fd.has_value()) co_return std::unexpected(fd.error());
  sockaddr_storage address;
  const auto length = static_cast<socklen_t>(to.to_native(&address));
  // Connected first, watched then: the socket is not writable before it is decided.
  const result<void> begun = sys::connect(*fd, reinterpret_cast<const sockaddr*>(&address), length);
  if (!begun.has_value()) {
    sys::close(*fd);
    co_return std::unexpected(begun.error());
  }
  result<detail::socket_ref> made = detail::socket::adopt(*fd);
  if (!made.has_value()) co_return std::unexpected(made.error());
  const result<void> connected = co_await detail::connect_leaf(made->get());
  if (!connected.has_value()) co_return std::unexpected(connected.error());
  co_return tcp_stream(std::move(*made));
}

result<void> tcp_stream::shutdown(shutdown_how how) noexcept {
  switch (how) {
    case shutdown_how::read: return sys::shutdown(native_handle(), SHUT_RD);
    case shutdown_how::write: return sys::shutdown(native_handle(), SHUT_WR);
    case shutdown_how::both: break;
  }
  return sys::shutdown(native_handle(), SHUT_RDWR);
}

result<void> tcp_stream::set_nodelay(bool on) noexcept {
  return sys::set_option(native_handle(), IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

result<void> tcp_stream::set_cork(bool on) noexcept {
  return sys::set_option(native_handle(), IPPROTO_TCP, TCP_CORK, on ? 1 : 0);
}

result<void> tcp_stream::reset_on_close() noexcept { return sys::set_linger_zero(native_handle()); }

result<endpoint> tcp_stream::local_endpoint() const noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked = sys::local_address(native_handle(), &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return endpoint::from_native(&address, length);
}

result<endpoint> tcp_stream::peer_endpoint() const noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked = sys::peer_address(native_handle(), &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return endpoint::from_native(&address, length);
}

int tcp_stream::native_handle() const noexcept { return socket_ ? socket_.get()->descriptor() : -1; }

std::pair<tcp_stream::read_half, tcp_stream::write_half> tcp_stream::split() && {
  detail::socket_ref second = socket_;
  return {read_half(std::move(socket_)), write_half(std::move(second))};
}

result<void> tcp_stream::write_half::shutdown() noexcept {
  return sys::shutdown(socket_ ? socket_.get()->descriptor() : -1, SHUT_WR);
}

}  // namespace rota::net
