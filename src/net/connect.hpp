// Waits for the end of a connect.
#pragma once

#include "net/socket.hpp"

namespace rota::net::detail {

class connect_leaf final : public socket_leaf {
 public:
  explicit connect_leaf(socket* s) noexcept : socket_leaf(s, true) {}
  result<void> await_resume() noexcept { return result_; }
  [[nodiscard]] const char* what() const noexcept override { return "socket connect"; }

 private:
  /// The first try comes before the first event: the connect is still going on.
  attempt try_once() noexcept override {
    if (!asked_) {
      asked_ = true;
      return attempt::would_block;
    }
    result_ = base::sys::socket_error(descriptor());
    if (!result_.has_value()) return attempt::done;
    sockaddr_storage peer;
    socklen_t length = sizeof peer;
    // Writable, without an error and without a peer: the event came before the connect.
    const bool has_peer = base::sys::peer_address(descriptor(), &peer, &length).has_value();
    return has_peer ? attempt::done : attempt::would_block;
  }
  void fail(std::error_code why) noexcept override { result_ = std::unexpected(why); }
  [[nodiscard]] bool has_moved() const noexcept override { return result_.has_value(); }
  bool asked_ = false;
  result<void> result_;
};

}  // namespace rota::net::detail
