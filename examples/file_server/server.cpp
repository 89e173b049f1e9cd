#include "server.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <string>
#include <utility>

#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/unix_signal.hpp>

#include "responder.hpp"
#include "serve_connection.hpp"

namespace file_server {

namespace {

int complain(const char* what, const std::error_code& why) {
  std::fprintf(stderr, "file_server: %s: %s\n", what, why.message().c_str());
  return 1;
}

}  // namespace

server::server(const options& o, unsigned workers)
    : options_(o),
      workers_(workers),
      began_(std::chrono::steady_clock::now()),
      files_(o.directory, {.precompressed = o.precompressed, .listings = o.listings}),
      connections_(o.max_connections) {
  static_cast<void>(checked(o.parser));
  if (!o.certificate.empty()) encryption_ = make_encryption(o.certificate, o.key);
  if (!o.access_log.empty()) log_.emplace(o.access_log, o.log_rotation);
}

stats server::snapshot() const {
  const auto up = std::chrono::steady_clock::now() - began_;
  stats s;
  s.uptime_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(up).count());
  s.workers = workers_;
  s.connections_open = connections_.open();
  s.connections_accepted = counters_.accepted.load();
  s.connections_refused = counters_.refused.load();
  s.connections_out_of_memory = counters_.out_of_memory.load();
  s.requests = counters_.requests.load();
  s.responses_2xx = counters_.answered_2xx.load();
  s.responses_3xx = counters_.answered_3xx.load();
  s.responses_4xx = counters_.answered_4xx.load();
  s.responses_5xx = counters_.answered_5xx.load();
  s.header_timeouts = counters_.header_timeouts.load();
  s.idle_timeouts = counters_.idle_timeouts.load();
  s.handshakes = counters_.handshakes.load();
  s.handshake_failures = counters_.handshake_failures.load();
  s.handshake_timeouts = counters_.handshake_timeouts.load();
  s.bytes_received = counters_.received.load();
  s.bytes_sent = counters_.sent.load();
  if (log_.has_value()) {
    s.log_lines = log_->lines();
    s.log_lines_dropped = log_->dropped();
    s.log_lines_lost = log_->lost();
  }
  return s;
}

void server::log(const log_entry& e) noexcept {
  std::array<char, log_line_capacity> line;
  const std::size_t size = write_log_line(line, e);
  log_->add({line.data(), size});
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
  if (!log_.has_value()) {
    co_await serve_until_signal(std::move(*listener), *signals);
    co_return 0;
  }
  auto hangups = rota::unix_signal::open({SIGHUP});
  if (!hangups.has_value()) co_return complain("signals", hangups.error());
  rota::join_handle<void> writer = rota::spawn(log_->write_until_finished());
  rota::join_handle<void> reopener = rota::spawn(reopen_log(*hangups));
  co_await serve_until_signal(std::move(*listener), *signals);
  reopener.cancel();
  const rota::outcome<void> stopped = co_await reopener.result();
  static_cast<void>(stopped);
  co_await finish_log(writer);
  co_return 0;
}

rota::task<void> server::serve_until_signal(rota::net::tcp_listener listener, rota::unix_signal& signals) {
  const auto actual = listener.local_endpoint();
  std::fprintf(messages(),
               "serving %s on %s://%s/\n",
               options_.directory.c_str(),
               encryption_ == nullptr ? "http" : "https",
               actual->to_string().c_str());
  std::fflush(messages());

  // The acceptor owns the listener. When it has ended, the listener is closed and the kernel refuses new
  // clients.
  rota::join_handle<void> acceptor = rota::spawn(accept_all(std::move(listener)));
  const int number = co_await signals.next();
  acceptor.cancel();
  const rota::outcome<void> stopped = co_await acceptor.result();
  static_cast<void>(stopped);
  co_await drain(number);
}

/// Tells the connections before it prints anything: the reader of the output may be stuck.
rota::task<void> server::drain(int signal_number) {
  const std::uint32_t open = connections_.open();
  connections_.drain();
  std::fprintf(messages(), "signal %d: draining %u connections\n", signal_number, open);
  std::fflush(messages());
  const auto drained = co_await rota::timeout(options_.drain_timeout, connections_.none());
  if (drained.has_value()) {
    std::fputs("drained\n", messages());
  } else {
    std::fprintf(messages(), "drain timeout: closing %u connections\n", connections_.open());
    // Waits so that the cancelled answers get their lines in the log, which ends after this.
    connections_.end();
    const auto ended = co_await rota::timeout(std::chrono::seconds(1), connections_.none());
    static_cast<void>(ended);
  }
  std::fflush(messages());
}

/// If the access log goes to standard output, messages go to standard error.
std::FILE* server::messages() const noexcept { return options_.access_log == "-" ? stderr : stdout; }

rota::task<void> server::reopen_log(rota::unix_signal& hangups) {
  for (;;) {
    const int number = co_await hangups.next();
    static_cast<void>(number);
    log_->reopen();
  }
}

/// Waits until all lines are written, but no longer than ten seconds for a slow disk.
rota::task<void> server::finish_log(rota::join_handle<void>& writer) {
  constexpr auto limit = std::chrono::seconds(10);
  log_->finish();
  const auto written = co_await rota::timeout(limit, writer.detached_wait());
  if (!written.has_value()) std::fprintf(stderr, "file_server: the access log was not written to its end\n");
}

rota::task<void> server::accept_all(rota::net::tcp_listener listener) {
  constexpr auto back_off = std::chrono::milliseconds(10);
  for (;;) {
    bool is_out_of_memory = false;
    try {
      rota::net::result<rota::net::tcp_stream> stream = co_await listener.accept();
      if (stream.has_value()) {
        admit(std::move(*stream));
      } else {
        std::fprintf(stderr, "file_server: accept: %s\n", stream.error().message().c_str());
      }
    } catch (const std::bad_alloc&) {
      is_out_of_memory = true;
    }
    if (is_out_of_memory) co_await rota::sleep_for(back_off);
  }
}

void server::admit(rota::net::tcp_stream stream) noexcept {
  counters::add(counters_.accepted, 1);
  std::optional<connections::place> here;
  try {
    here = connections_.enter();
    if (here.has_value()) {
      connections_.started(*here, rota::spawn(serve_connection(*this, std::move(stream), *here)));
    } else {
      turn_away(std::move(stream));
    }
  } catch (const std::bad_alloc&) {
    // Nothing was started: the place is freed, and the client sees its connection closed.
    counters::add(counters_.refused, 1);
    if (!here.has_value()) return;
    connections_.leave(*here);
    connections_.started(*here, {});
  }
}

/// Refuses a connection. If no refusal place is free, or memory is short, the connection is closed at once.
void server::turn_away(rota::net::tcp_stream stream) noexcept {
  counters::add(counters_.refused, 1);
  refusal_place place(refusals_);
  if (!place.is_free()) return;
  try {
    rota::join_handle<void> refusal = rota::spawn(refuse(std::move(stream), std::move(place)));
    refusal.detach();
  } catch (const std::bad_alloc&) {
    // The stream was destroyed together with the task that could not start.
    counters::add(counters_.out_of_memory, 1);
  }
}

/// A connection above the limit gets 503, and one second to read it. With TLS the handshake, without which
/// the client could not read the answer, gets one second more.
rota::task<void> server::refuse(rota::net::tcp_stream stream, refusal_place place) {
  const refusal_place mine = std::move(place);
  try {
    if (encryption_ == nullptr) {
      transport plain(std::move(stream));
      co_await send_refusal(plain);
      co_return;
    }
    auto done = co_await rota::timeout(std::chrono::seconds(1), encryption_->accept(std::move(stream)));
    if (!done.has_value()) co_return;
    transport secure(std::move(*done));
    co_await send_refusal(secure);
  } catch (const std::bad_alloc&) {
    // The client sees its connection closed. The other connections go on.
    counters::add(counters_.out_of_memory, 1);
  }
}

rota::task<void> server::send_refusal(transport& over) {
  std::array<char, responder::refusal_capacity> text;
  responder writer(files_);
  const std::int64_t now = std::time(nullptr);
  const answer a = writer.refusal(status::unavailable, body_rule::allowed, now, text);
  counters::add(counters_.of(a.code), 1);
  if (is_logging()) {
    const std::string client = client_of(over.socket());
    log({.client = client, .time = now, .code = a.code, .bytes = a.body});
  }
  const auto bytes = std::as_bytes(std::span(text).first(a.bytes));
  constexpr auto limit = std::chrono::seconds(1);
  rota::net::result<std::size_t> sent = 0;
  if (secure_stream* const secure = over.secure(); secure != nullptr) {
    sent = co_await rota::timeout(limit, secure->write_all(bytes));
  } else {
    sent = co_await rota::timeout(limit, over.socket().write_all(bytes));
  }
  if (sent.has_value()) co_await linger(over);
}

std::string client_of(const rota::net::tcp_stream& stream) {
  const auto peer = stream.peer_endpoint();
  if (!peer.has_value()) return {};
  std::string text = peer->to_string();
  text.resize(text.rfind(':'));
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace file_server
