#include "server.hpp"

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/unix_signal.hpp>

#include "session.hpp"

namespace file_server {

namespace {

/// The frame that keeps a session's objects while it is served.
rota::task<void> serve_one(server& s, rota::net::tcp_stream stream, connections::place here) {
  struct leaver {
    connections& from;
    connections::place here;
    leaver(connections& c, connections::place p) noexcept : from(c), here(p) {}
    leaver(const leaver&) = delete;
    leaver& operator=(const leaver&) = delete;
    ~leaver() { from.leave(here); }
  };
  const leaver last(s.open_connections(), here);
  static_cast<void>(stream.set_nodelay(true));
  session one(s, std::move(stream), here);
  co_await one.serve();
}

int complain(const char* what, const std::error_code& why) {
  std::fprintf(stderr, "file_server: %s: %s\n", what, why.message().c_str());
  return 1;
}

}  // namespace

server::server(const options& o, unsigned workers)
    : options_(o),
      workers_(workers),
      began_(std::chrono::steady_clock::now()),
      files_(o.directory),
      connections_(o.max_connections) {
  static_cast<void>(checked(o.parser));
}

stats server::snapshot() const {
  const auto up = std::chrono::steady_clock::now() - began_;
  stats s;
  s.uptime_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(up).count());
  s.workers = workers_;
  s.connections_open = connections_.open();
  s.connections_accepted = counters_.accepted.load();
  s.connections_refused = counters_.refused.load();
  s.requests = counters_.requests.load();
  s.responses_2xx = counters_.answered_2xx.load();
  s.responses_4xx = counters_.answered_4xx.load();
  s.responses_5xx = counters_.answered_5xx.load();
  s.header_timeouts = counters_.header_timeouts.load();
  s.idle_timeouts = counters_.idle_timeouts.load();
  s.bytes_received = counters_.received.load();
  s.bytes_sent = counters_.sent.load();
  return s;
}

rota::task<int> server::run() {
  auto signals = rota::unix_signal::open({SIGINT, SIGTERM});
  if (!signals.has_value()) co_return complain("signals", signals.error());
  const std::string where =
      (options_.address.find(':') == std::string::npos ? options_.address : "[" + options_.address + "]") +
      ":" + std::to_string(options_.port);
  const auto at = rota::net::endpoint::parse(where);
  if (!at.has_value()) co_return complain(("--bind " + options_.address).c_str(), at.error());
  auto listener = rota::net::tcp_listener::bind(*at);
  if (!listener.has_value()) co_return complain(where.c_str(), listener.error());
  const auto actual = listener->local_endpoint();
  std::printf("serving %s on http://%s/\n", options_.directory.c_str(), actual->to_string().c_str());
  std::fflush(stdout);

  rota::join_handle<void> acceptor = rota::spawn(accept_all(*listener));
  const int number = co_await signals->next();
  std::printf("signal %d: draining %u connections\n", number, connections_.open());
  std::fflush(stdout);

  acceptor.cancel();
  const rota::outcome<void> stopped = co_await acceptor.result();
  static_cast<void>(stopped);
  connections_.drain();
  const auto drained = co_await rota::timeout(options_.drain_timeout, connections_.none());
  std::printf(drained.has_value() ? "drained\n" : "drain timeout: closing %u connections\n",
              connections_.open());
  std::fflush(stdout);
  co_return 0;
}

rota::task<void> server::accept_all(rota::net::tcp_listener& listener) {
  for (;;) {
    rota::net::result<rota::net::tcp_stream> stream = co_await listener.accept();
    if (!stream.has_value()) {
      std::fprintf(stderr, "file_server: accept: %s\n", stream.error().message().c_str());
      continue;
    }
    counters::add(counters_.accepted, 1);
    const auto here = connections_.enter();
    if (!here.has_value()) {
      counters::add(counters_.refused, 1);
      rota::join_handle<void> refusal = rota::spawn(refuse(std::move(*stream)));
      refusal.detach();
      continue;
    }
    connections_.started(*here, rota::spawn(serve_one(*this, std::move(*stream), *here)));
  }
}

/// One connection too many: 503, and a second to take it.
rota::task<void> server::refuse(rota::net::tcp_stream stream) {
  std::array<char, responder::answer_capacity> text;
  responder writer(files_);
  const answer a = writer.refusal(status::unavailable, body_rule::allowed, std::time(nullptr), text);
  counters::add(counters_.answered_5xx, 1);
  const auto bytes = std::as_bytes(std::span(text).first(a.bytes));
  const rota::net::result<std::size_t> sent =
      co_await rota::timeout(std::chrono::seconds(1), stream.write_all(bytes));
  if (sent.has_value()) co_await linger(stream);
}

}  // namespace file_server
