// QUESTION  How many requests per second does an echo server answer, with what latency, and at what processor
//           time per request?
// WHY       An echo consists of sockets, tasks and the driver only, so each of their detours is a part of
//           each request.
// BASELINE  Tokio, Asio, Go and libuv, each written as in its manual; bench/echo/epoll.cpp, one thread with
//           only the necessary system calls.
// READ IT   This is only the server; bench/echo/load.cpp sends the requests and measures. A buffer has space
//           for two messages, so a read that has emptied the socket is a short one; TCP_NODELAY is on; each
//           connection has its own task.
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/spawn.hpp>

#include <array>
#include <cstdio>

#include "support/subject.hpp"

namespace {

using bench::job;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

template <std::size_t Message>
rota::task<void> echo(tcp_stream stream) {
  std::array<std::byte, 2 * Message> buffer;
  for (;;) {
    const auto got = co_await stream.read(buffer);
    if (!got.has_value() || *got == 0) co_return;
    const auto sent = co_await stream.write_all(std::span(buffer).first(*got));
    if (!sent.has_value()) co_return;
  }
}

template <std::size_t Message>
rota::task<void> serve() {
  auto listener = tcp_listener::bind(rota::net::endpoint::loopback_v4(0));
  if (!listener.has_value()) bench::fail("no port to listen on");
  std::printf("{\"port\":%u}\n", unsigned{listener->local_endpoint()->port()});
  std::fflush(stdout);
  for (;;) {
    auto stream = co_await listener->accept();
    if (!stream.has_value() || !stream->set_nodelay(true).has_value())
      bench::fail("a connection was not accepted");
    rota::join_handle<void> connection = rota::spawn(echo<Message>(std::move(*stream)));
    connection.detach();
  }
}

template <std::size_t Message>
void server(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  rota::join_handle<void> root = runtime.spawn(serve<Message>());
  root.join();
}

constexpr bench::one_case servers[] = {
    {"echo_64", "", 1, 1, server<64>},
    {"echo_16k", "", 1, 1, server<16384>},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject_of_backend(argc, argv, servers); }
