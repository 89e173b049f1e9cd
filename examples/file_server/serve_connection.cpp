#include "serve_connection.hpp"

#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include <rota/error.hpp>
#include <rota/finally.hpp>
#include <rota/time.hpp>

#include "encryption.hpp"
#include "session.hpp"

namespace file_server {

namespace {

/// Limit for a few bytes to enter the socket buffer. Shorter than the time that the drain waits for cancelled
/// connections.
constexpr std::chrono::milliseconds goodbye_limit{500};

void count_handshake(counters& c, const rota::net::result<std::unique_ptr<secure_stream>>& done) {
  if (done.has_value()) return counters::add(c.handshakes, 1);
  const bool is_late = done.error() == rota::errc::timed_out;
  counters::add(is_late ? c.handshake_timeouts : c.handshake_failures, 1);
}

/// Does the handshake. Returns null if the connection has ended. Until the handshake is over the client has
/// made no request, so the drain may end it.
rota::task<std::unique_ptr<secure_stream>> shake_hands(server& s,
                                                       rota::net::tcp_stream stream,
                                                       connections::place here) {
  here->idle.store(true);
  // Either this thread sees the drain, or the drain sees an idle connection and cancels it.
  if (s.open_connections().is_draining()) co_return nullptr;
  rota::net::result<std::unique_ptr<secure_stream>> done =
      co_await rota::timeout(s.settings().handshake_timeout, s.secured()->accept(std::move(stream)));
  here->idle.store(false);
  count_handshake(s.counts(), done);
  if (!done.has_value()) co_return nullptr;
  co_return std::move(*done);
}

rota::task<void> serve_secure(server& s, rota::net::tcp_stream stream, connections::place here) {
  std::unique_ptr<secure_stream> over = co_await shake_hands(s, std::move(stream), here);
  if (over == nullptr) co_return;
  session one(s, transport(std::move(over)), here);
  auto serving = one.serve();
  // Its frame is allocated before serving begins, so that the goodbye cannot fail for lack of memory.
  auto last_words = one.say_goodbye();
  const auto goodbye = [&last_words] { return std::move(last_words); };
  try {
    co_await rota::finally(std::move(serving), goodbye, goodbye_limit);
  } catch (const rota::error& e) {
    // A client that does not read gets no goodbye.
    if (e.code() != rota::errc::timed_out) throw;
  }
}

}  // namespace

/// The frame of this task owns the session's objects while it is served.
rota::task<void> serve_connection(server& s, rota::net::tcp_stream stream, connections::place here) {
  struct leaver {
    connections& from;
    connections::place here;
    leaver(connections& c, connections::place p) noexcept : from(c), here(p) {}
    leaver(const leaver&) = delete;
    leaver& operator=(const leaver&) = delete;
    ~leaver() { from.leave(here); }
  };
  const leaver last(s.open_connections(), here);
  try {
    static_cast<void>(stream.set_nodelay(true));
    if (s.secured() != nullptr) {
      co_await serve_secure(s, std::move(stream), here);
      co_return;
    }
    session one(s, transport(std::move(stream)), here);
    co_await one.serve();
  } catch (const std::bad_alloc&) {
    // Ends this connection only.
    counters::add(s.counts().out_of_memory, 1);
  }
}

}  // namespace file_server
