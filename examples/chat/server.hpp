// Accepts clients until a signal arrives.
#pragma once

#include <optional>

#include <rota/gate/actor.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/unix_signal.hpp>

#include "chat/lobby.hpp"
#include "chat/options.hpp"
#include "chat/session.hpp"

namespace chat {

class server {
 public:
  /// `on` must outlive the server.
  server(rota::runtime& on, const options& o);

  /// Starts to listen and subscribes to SIGINT and SIGTERM. Returns the address.
  [[nodiscard]] rota::task<rota::net::result<rota::net::endpoint>> open();
  /// Serves clients. Call it after open(). Returns after a signal, when the last client is gone.
  [[nodiscard]] rota::task<void> serve();

  [[nodiscard]] const totals& sums() const noexcept { return sums_; }
  /// Returns the number of lines and requests that wait in all mailboxes.
  [[nodiscard]] std::uint64_t waiting() const { return executor_.stats().depth; }
  [[nodiscard]] rota::task<std::size_t> rooms();

 private:
  rota::task<void> serve_until_signal(rota::scope& sessions);
  rota::task<void> accept_all(rota::scope& sessions);
  rota::task<void> turn_away(rota::net::tcp_stream stream) const;
  rota::task<void> run_session(rota::net::tcp_stream stream, client_id id);

  options options_;
  totals sums_;
  rota::gate::executor executor_;
  rota::gate::actor<lobby> lobby_;
  std::optional<rota::net::tcp_listener> listener_;
  std::optional<rota::unix_signal> signals_;
};

}  // namespace chat
