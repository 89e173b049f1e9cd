// The cases of bench/tls/rota.cpp, by asio::ssl. Two threads may not use an ssl::stream at the same time, so
// with two workers each connection has a strand, as the manual requires.
#include "support/tls_contexts.hpp"

#include <algorithm>
#include <boost/asio/ssl.hpp>
#include <deque>
#include <memory>

#include "subject.hpp"

namespace peer {
namespace {

namespace ssl = asio::ssl;
using asio::ip::tcp;
using tls_load::message;
using tls_load::require;
using tls_load::tickets;
using secure_stream = ssl::stream<tcp::socket>;

/// Returns a context with its own reference to `of`.
ssl::context shared(SSL_CTX* of) {
  SSL_CTX_up_ref(of);
  return ssl::context(of);
}

/// State that all connections share.
struct place {
  place(asio::io_context& in, tickets some, unsigned how_many)
      : resumes(some == tickets::some),
        server(tls_load::make_server(own, some).release()),
        listener(in, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    listener.set_option(tcp::no_delay(true));
    for (unsigned i = 0; i < how_many; ++i) clients.emplace_back(own, some);
    for (tls_load::client& each : clients) contexts.push_back(shared(each.context()));
  }

  bool resumes;
  tls_load::own_certificate own;
  ssl::context server;
  tcp::acceptor listener;
  std::deque<tls_load::client> clients;
  std::vector<ssl::context> contexts;
};

using serve_one = awaitable<void> (*)(secure_stream stream);

awaitable<void> accept_one(place& here, tcp::socket socket, serve_one work) {
  secure_stream stream(std::move(socket), here.server);
  co_await stream.async_handshake(ssl::stream_base::server, use_awaitable);
  co_await work(std::move(stream));
}

[[noreturn]] void fail(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  std::_Exit(1);
}

void or_fail(std::exception_ptr why) {
  if (why) fail(why);
}

awaitable<void> serve(asio::io_context& in, place& here, serve_one work) {
  for (;;) {
    auto strand = asio::make_strand(in);
    tcp::socket socket = co_await here.listener.async_accept(strand, use_awaitable);
    asio::co_spawn(strand, accept_one(here, std::move(socket), work), or_fail);
  }
}

awaitable<secure_stream> connect(place& here, unsigned which, bool resumed) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(here.listener.local_endpoint(), use_awaitable);
  socket.set_option(tcp::no_delay(true));
  secure_stream stream(std::move(socket), here.contexts[which]);
  here.clients[which].prepare(stream.native_handle());
  co_await stream.async_handshake(ssl::stream_base::client, use_awaitable);
  tls_load::check(stream.native_handle(), resumed);
  co_return stream;
}

awaitable<void> expect_end(secure_stream& from) {
  boost::system::error_code why;
  char one = 0;
  co_await from.async_read_some(asio::buffer(&one, 1), asio::redirect_error(use_awaitable, why));
  require(why == asio::error::eof, "not the end");
}

awaitable<void> greet(secure_stream stream) {
  const char one = 0;
  co_await asio::async_write(stream, asio::buffer(&one, 1), use_awaitable);
  co_await expect_end(stream);
  co_await stream.async_shutdown(use_awaitable);
}

awaitable<void> visit(place& here, unsigned which, bool resumed) {
  secure_stream stream = co_await connect(here, which, resumed);
  char one = 0;
  co_await asio::async_read(stream, asio::buffer(&one, 1), use_awaitable);
  co_await stream.async_shutdown(use_awaitable);  // waits for the close_notify of the other side
}

awaitable<void> visit_again(place& here, unsigned which, std::uint64_t n) {
  for (; n != 0; --n) co_await visit(here, which, here.resumes);
}

awaitable<void> answer(secure_stream stream) {
  message one;
  for (;;) {
    boost::system::error_code why;
    const std::size_t got =
        co_await stream.async_read_some(asio::buffer(one), asio::redirect_error(use_awaitable, why));
    if (why) co_return;  // the run is over
    co_await asio::async_write(stream, asio::buffer(one, got), use_awaitable);
  }
}

awaitable<void> ask(secure_stream& over, std::uint64_t n) {
  message sent{};
  message got{};
  for (; n != 0; --n) {
    tls_load::put_number(sent, n);
    co_await asio::async_write(over, asio::buffer(sent), use_awaitable);
    co_await asio::async_read(over, asio::buffer(got), use_awaitable);
    require(got == sent, "an answer is not what was asked");
  }
}

awaitable<void> take_blocks(secure_stream stream) {
  std::vector<std::byte> block(tls_load::block_bytes);
  for (std::uint64_t left = 0;;) {
    boost::system::error_code why;
    co_await asio::async_read(stream, asio::buffer(block), asio::redirect_error(use_awaitable, why));
    if (why) co_return;  // the run is over
    const std::uint64_t number = tls_load::number_in(block);
    require(left == 0 || number == left, "another block than was sent");
    left = number - 1;
    if (left == 0) co_await asio::async_write(stream, asio::buffer(block, 1), use_awaitable);
  }
}

awaitable<void> send_blocks(secure_stream& over, std::uint64_t n) {
  std::vector<std::byte> block(tls_load::block_bytes);
  for (std::uint64_t left = n * tls_load::blocks_of_a_mib; left != 0; --left) {
    tls_load::put_number(block, left);
    co_await asio::async_write(over, asio::buffer(block), use_awaitable);
  }
  co_await asio::async_read(over, asio::buffer(block, 1), use_awaitable);
}

/// Threads that run an io_context, a server in it, and one strand per client.
class running {
 public:
  running(const job& what, tickets some, unsigned clients, serve_one work)
      : what_(&what), workers_(what.workers), here_(workers_.context(), some, clients) {
    asio::co_spawn(workers_.context(), serve(workers_.context(), here_, work), or_fail);
  }

  /// Runs `of(i, share)` for `many` clients, each on `strand(i)`.
  template <class Strand, class Of>
  void all(unsigned many, std::uint64_t n, Strand strand, Of of) {
    std::vector<std::future<void>> ends;
    for (unsigned i = 0; i < many; ++i)
      ends.push_back(asio::co_spawn(strand(i), of(i, tls_load::share(n, many, i)), asio::use_future));
    for (std::future<void>& each : ends) each.get();
  }
  [[nodiscard]] auto new_strand() { return asio::make_strand(workers_.context()); }
  [[nodiscard]] place& here() { return here_; }

  /// Measures, then ends the process without destructors: running coroutines may still use this object.
  template <class Work>
  [[noreturn]] void measure(Work work) {
    work(what_->warm_up);
    report_time(*what_, [&] { work(what_->operations); });
    std::fflush(stdout);
    std::_Exit(0);
  }

 private:
  const job* what_;
  pool workers_;
  place here_;
};

template <tickets Some>
void handshakes(const job& what) {
  running r(what, Some, tls_load::visitors, greet);
  std::vector<decltype(r.new_strand())> strands;
  for (unsigned i = 0; i < tls_load::visitors; ++i) strands.push_back(r.new_strand());
  const auto of = [&](unsigned i) { return strands[i]; };
  r.all(tls_load::visitors, 0, of, [&](unsigned i, std::uint64_t) { return visit(r.here(), i, false); });
  r.measure([&](std::uint64_t n) {
    r.all(tls_load::visitors, n, of, [&](unsigned i, std::uint64_t some) {
      return visit_again(r.here(), i, some);
    });
  });
}

awaitable<void> connect_one_more(place& here, std::vector<secure_stream>& to) {
  to.push_back(co_await connect(here, 0, false));
}

std::vector<secure_stream> connected(running& r, unsigned many) {
  std::vector<secure_stream> streams;
  for (unsigned i = 0; i < many; ++i)
    asio::co_spawn(r.new_strand(), connect_one_more(r.here(), streams), asio::use_future).get();
  return streams;
}

template <unsigned Connections>
void echoes(const job& what) {
  running r(what, tickets::none, 1, answer);
  std::vector<secure_stream> streams = connected(r, Connections);
  r.measure([&](std::uint64_t n) {
    r.all(
        Connections,
        n,
        [&](unsigned i) { return streams[i].get_executor(); },
        [&](unsigned i, std::uint64_t some) { return ask(streams[i], some); });
  });
}

void blocks(const job& what) {
  running r(what, tickets::none, 1, take_blocks);
  std::vector<secure_stream> streams = connected(r, 1);
  r.measure([&](std::uint64_t n) {
    r.all(
        1,
        n,
        [&](unsigned) { return streams[0].get_executor(); },
        [&](unsigned, std::uint64_t all) { return send_blocks(streams[0], all); });
  });
}

/// Chooses the cipher once, before any other use of OpenSSL.
template <void (*Run)(const job&)>
void chosen(const job& what) {
  tls_load::choose_the_cipher();
  Run(what);
}

constexpr one_case cases[] = {
    {"handshake", 3000, 600, chosen<handshakes<tickets::none>>},
    {"handshake_resumed", 4000, 800, chosen<handshakes<tickets::some>>},
    {"echo_1", 50'000, 10'000, chosen<echoes<1>>},
    {"echo_50", 100'000, 20'000, chosen<echoes<50>>},
    {"bulk", 1024, 128, chosen<blocks>},
    {"handshake_1", 3000, 600, chosen<handshakes<tickets::none>>},
    {"handshake_resumed_1", 4000, 800, chosen<handshakes<tickets::some>>},
    {"echo_1_1", 50'000, 10'000, chosen<echoes<1>>},
    {"echo_50_1", 100'000, 20'000, chosen<echoes<50>>},
    {"bulk_1", 1024, 128, chosen<blocks>},
};

}  // namespace

const std::span<const one_case> tls_cases(cases);

}  // namespace peer
