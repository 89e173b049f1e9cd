#include <rota/detail/net_accept.hpp>

#include "base/clock.hpp"
#include "net/socket.hpp"

#include <rota/error.hpp>

#include <algorithm>
#include <cerrno>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

constexpr std::chrono::milliseconds shortest(10);
constexpr std::chrono::milliseconds longest_back_off(1000);

enum class on_error : unsigned char { skip, pause, fail };

on_error judge(const std::error_code& e) noexcept {
  switch (e.value()) {
    // The connection broke while it waited; accept(2) says to treat the network's own errors in the same way.
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
    case ENOMEM: return on_error::pause;
    default: return on_error::fail;
  }
}

/// Accepts the first connection that is not broken already.
result<int> accept_one(int listener) noexcept {
  for (;;) {
    result<int> fd = sys::accept(listener, nullptr, nullptr);
    if (fd.has_value() || judge(fd.error()) != on_error::skip) return fd;
  }
}

}  // namespace

socket_leaf::attempt accept_core::try_once() noexcept {
  if (std::exchange(tells_, false)) return attempt::done;
  const result<int> fd = accept_one(descriptor());
  if (fd.has_value()) {
    by_->back_off = std::chrono::milliseconds(0);
    result_ = socket::adopt(*fd, by_->socket.get()->kind());
    return attempt::done;
  }
  if (sys::would_block(fd.error())) return attempt::would_block;
  if (judge(fd.error()) == on_error::pause) return pause(fd.error());
  result_ = std::unexpected(fd.error());
  return attempt::done;
}

socket_leaf::attempt accept_core::pause(const std::error_code& why) noexcept {
  const std::chrono::milliseconds wait = std::max(by_->back_off, shortest);
  by_->back_off = std::min(2 * wait, longest_back_off);
  result_ = std::unexpected(why);
  timer_.arm(task(), timing::now_for(task()) + wait, make_waker());
  return attempt::paused;
}

bool accept_core::pause_is_over() noexcept {
  if (!timer_.has_fired()) return false;
  // By the machine's clock: the report is for the application's log, whatever time the runtime has.
  const auto now = base::now();
  if (now - by_->last_report >= longest_back_off) {
    by_->last_report = now;
    tells_ = true;
  }
  return true;
}

result<socket_ref> try_accept(const accepting& by) noexcept {
  if (by.socket && by.socket.get()->is_closed()) return std::unexpected(make_error_code(errc::closed));
  const result<int> fd = accept_one(by.socket.descriptor());
  if (!fd.has_value()) return std::unexpected(fd.error());
  return socket::adopt(*fd, by.socket.get()->kind());
}

}  // namespace rota::net::detail
