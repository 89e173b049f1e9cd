#include "chat/server.hpp"

#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>

#include <rota/time.hpp>
#include <rota/when.hpp>

namespace chat {

using rota::net::endpoint;
using rota::net::result;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

server::server(rota::runtime& on, const options& o)
    : options_(o),
      executor_(on),
      lobby_(executor_, [this] { return lobby(executor_, options_.max_rooms); }) {}

rota::task<result<endpoint>> server::open() {
  auto signals = rota::unix_signal::open({SIGINT, SIGTERM});
  if (!signals.has_value()) co_return std::unexpected(signals.error());
  const bool is_v6 = options_.address.find(':') != std::string::npos;
  const std::string where = is_v6 ? "[" + options_.address + "]" : options_.address;
  auto listener = tcp_listener::bind(endpoint::parse(where + ":" + std::to_string(options_.port)));
  if (!listener.has_value()) co_return std::unexpected(listener.error());
  const result<endpoint> at = listener->local_endpoint();
  signals_ = std::move(*signals);
  listener_ = std::move(*listener);
  co_return at;
}

rota::task<void> server::serve() {
  co_await rota::with_scope([&](rota::scope& sessions) { return serve_until_signal(sessions); });
}

/// Shutdown has this order: (1) stop accepting; (2) put a last line into every outbox; (3) cancel the
/// sessions, which first write what is in their outboxes.
rota::task<void> server::serve_until_signal(rota::scope& sessions) {
  co_await rota::when_any(accept_all(sessions), signals_->next());
  listener_.reset();
  signals_.reset();  // the next Ctrl-C kills the process
  std::printf("stopping, %zu clients\n", sessions.size());
  const shared_line last = make_line("-- the server is going down");
  co_await lobby_.ask([&](lobby& hall) { hall.tell_all(last); });
  sessions.cancel();
}

rota::task<void> server::accept_all(rota::scope& sessions) {
  for (client_id next = 1;;) {
    result<tcp_stream> stream = co_await listener_->accept();
    if (!stream.has_value()) {
      std::fprintf(stderr, "chat: accept: %s\n", stream.error().message().c_str());
    } else if (sessions.size() >= options_.max_clients) {
      co_await turn_away(std::move(*stream));
    } else {
      sessions.fork(run_session(std::move(*stream), next++));
    }
  }
}

/// A new socket has buffer space, so the write does not wait.
rota::task<void> server::turn_away(tcp_stream stream) const {
  constexpr std::string_view full = "!! there are too many clients, try again later\n";
  const result<std::size_t> sent =
      co_await rota::timeout(std::chrono::seconds(0), stream.write_all(std::as_bytes(std::span(full))));
  static_cast<void>(sent);
}

rota::task<void> server::run_session(tcp_stream stream, client_id id) {
  try {
    static_cast<void>(stream.set_nodelay(true));
    if (const int size = options_.send_buffer; size != 0) {
      static_cast<void>(::setsockopt(stream.native_handle(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
    }
    session one({options_, executor_, lobby_.ref(), sums_}, std::move(stream), id);
    ++sums_.clients;
    co_await one.serve();
  } catch (const std::exception& e) {  // an exception that left the task would cancel the other sessions
    std::fprintf(stderr, "chat: client %llu: %s\n", static_cast<unsigned long long>(id), e.what());
  }
}

rota::task<std::size_t> server::rooms() {
  return lobby_.ask([](const lobby& hall) { return hall.rooms(); });
}

}  // namespace chat
