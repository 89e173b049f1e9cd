// QUESTION  What do encrypted connections cost: making them, an answer over one, many bytes through one?
// WHY       The computing of OpenSSL is the same for all its users. The difference is how bytes get to it and
//           from it, and how tasks wait.
// BASELINE  `openssl`, one thread with OpenSSL on both ends and no waiting; Tokio with tokio-openssl, Asio
//           with its ssl::stream, and Go with its own crypto/tls. All by TCP over the loopback interface, TLS
//           1.3, TLS_AES_128_GCM_SHA256, X25519, a certificate of P-256.
// READ IT   ns per operation; both sides are in the process, and in the processor time. handshake: 8 at a
//           time, each a connection that is made, one byte from the server, and the close_notify of both
//           sides; in handshake_resumed the server sends tickets, and each client offers its last one. echo:
//           64 bytes there and back, in echo_50 over each of 50 connections at a time. bulk: a MiB in writes
//           of 16 KiB. Everything is checked. Two workers, and one in the cases that end in one `_1` more.
#include "support/subject.hpp"
#include "support/tls_load.hpp"

#include <rota/io/algorithms.hpp>
#include <rota/net/tcp_socket.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using bench::job;
using rota::task;
using rota::net::tcp_listener;
using rota::net::tcp_stream;
using rota::tls::result;
using tls_load::block_bytes;
using tls_load::message;
using tls_load::require;
using secure_stream = rota::tls::stream<tcp_stream>;

template <class T>
T value(result<T> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  if constexpr (!std::is_void_v<T>) return std::move(*got);
}

enum class tickets : unsigned char { none, some };

/// State that all connections share. Each client has its own sessions. Made in a task.
struct place {
  place(tickets some, unsigned how_many) : resumes(some == tickets::some) {
    rota::tls::client_config trusting;
    trusting.ca_pem = own.chain_pem;
    if (!resumes) trusting.remembered_hosts = 0;
    for (unsigned i = 0; i < how_many; ++i) clients.emplace_back(trusting);
  }
  rota::tls::server_config serving() const {
    rota::tls::server_config made;
    made.identities.push_back(own);
    if (!resumes) made.sessions = rota::tls::resumption::none;
    return made;
  }
  static tcp_listener listening() {
    auto socket = value(rota::net::tcp_socket::open(rota::net::address_family::v4));
    socket.nodelay(true).bind(rota::net::endpoint::loopback_v4(0));
    return value(std::move(socket).listen());
  }

  bool resumes;
  rota::tls::identity own = rota::tls::self_signed({"localhost"}, 1);
  rota::tls::server server{serving()};
  tcp_listener listener = listening();
  rota::net::endpoint where = value(listener.local_endpoint());
  std::vector<rota::tls::client> clients;
};

task<secure_stream> connect(const place& here, const rota::tls::client& client) {
  auto socket = value(co_await tcp_stream::connect(here.where));
  value(socket.set_nodelay(true));
  auto stream = value(co_await client.connect(std::move(socket), "localhost"));
  require(stream.cipher() == tls_load::cipher, "another cipher than was asked for");
  co_return stream;
}

task<void> read_all(secure_stream& from, std::span<std::byte> into) {
  value(co_await rota::io::read_exact(from, into));
}
task<void> write_all(secure_stream& to, std::span<const std::byte> all) {
  const std::size_t put = value(co_await to.write_all(all));
  require(put == all.size(), "a write took less than it was given");
}
task<void> expect_end(secure_stream& from) {
  std::array<std::byte, 1> more;
  const std::size_t got = value(co_await from.read(more));
  require(got == 0, "a read found more than there should be");
}

using serve_one = task<void> (*)(secure_stream stream);

task<void> accept_one(rota::tls::server server, tcp_stream socket, serve_one work) {
  auto stream = value(co_await server.accept(std::move(socket)));
  co_await work(std::move(stream));
}

/// A failure here ends the program.
task<void> serve(place& here, serve_one work) {
  for (;;) {
    auto socket = value(co_await here.listener.accept());
    rota::join_handle<void> one = rota::spawn(accept_one(here.server, std::move(socket), work));
    one.detach();
  }
}

/// Runs `each(i, share)` concurrently, for i below `many`.
template <class Each>
task<void> at_a_time(unsigned many, std::uint64_t n, const Each& each) {
  co_await rota::with_scope([&](rota::scope& all) -> task<void> {
    for (unsigned i = 0; i < many; ++i) all.fork(each(i, tls_load::share(n, many, i)));
    co_return;
  });
}

task<void> greet(secure_stream stream) {
  const std::array<std::byte, 1> one{};
  co_await write_all(stream, one);
  co_await expect_end(stream);
  value(co_await stream.shutdown_write());
}

task<void> visit(const place& here, const rota::tls::client& client, bool resumed) {
  secure_stream stream = co_await connect(here, client);
  require(stream.is_resumed() == resumed, "a session was resumed that should not, or was not");
  std::array<std::byte, 1> one;
  co_await read_all(stream, one);
  value(co_await stream.shutdown_write());
  co_await expect_end(stream);
}

task<void> visit_again(const place& here, const rota::tls::client& client, std::uint64_t n) {
  for (; n != 0; --n) co_await visit(here, client, here.resumes);
}

/// One operation: a connection.
template <tickets Some>
struct handshakes {
  static constexpr serve_one serves = greet;

  task<void> begin() {
    for (const rota::tls::client& each : here.clients) co_await visit(here, each, false);
  }
  task<void> run(std::uint64_t n) {
    const auto each = [this](unsigned i, std::uint64_t some) {
      return visit_again(here, here.clients[i], some);
    };
    co_await at_a_time(tls_load::visitors, n, each);
  }

  place here{Some, tls_load::visitors};
};

task<void> answer(secure_stream stream) {
  message one;
  for (;;) {
    const result<std::size_t> got = co_await stream.read(one);
    if (!got.has_value() || *got == 0) co_return;  // the run is over
    co_await write_all(stream, std::span(one).first(*got));
  }
}

task<void> ask(secure_stream& over, std::uint64_t n) {
  message sent{};
  message got{};
  for (; n != 0; --n) {
    tls_load::put_number(sent, n);
    co_await write_all(over, sent);
    co_await read_all(over, got);
    require(got == sent, "an answer is not what was asked");
  }
}

/// One operation: 64 bytes there and back.
template <unsigned Connections>
struct echoes {
  static constexpr serve_one serves = answer;

  task<void> begin() {
    for (unsigned i = 0; i < Connections; ++i)
      streams.push_back(co_await connect(here, here.clients.front()));
  }
  task<void> run(std::uint64_t n) {
    const auto each = [this](unsigned i, std::uint64_t some) { return ask(streams[i], some); };
    co_await at_a_time(Connections, n, each);
  }

  place here{tickets::none, 1};
  std::vector<secure_stream> streams;
};

/// Each block carries the number of blocks that are left, itself included. After the last one, one byte is
/// sent back.
task<void> take_blocks(secure_stream stream) {
  std::vector<std::byte> block(block_bytes);
  for (std::uint64_t left = 0;;) {
    const result<void> got = co_await rota::io::read_exact(stream, std::span(block));
    if (!got.has_value()) co_return;  // the run is over
    const std::uint64_t number = tls_load::number_in(block);
    require(left == 0 || number == left, "another block than was sent");
    left = number - 1;
    if (left == 0) co_await write_all(stream, std::span(block).first(1));
  }
}

/// One operation: a MiB.
struct blocks {
  static constexpr serve_one serves = take_blocks;

  task<void> begin() { streams.push_back(co_await connect(here, here.clients.front())); }
  task<void> run(std::uint64_t n) {
    std::vector<std::byte> block(block_bytes);
    for (std::uint64_t left = n * tls_load::blocks_of_a_mib; left != 0; --left) {
      tls_load::put_number(block, left);
      co_await write_all(streams.front(), block);
    }
    co_await read_all(streams.front(), std::span(block).first(1));
  }

  place here{tickets::none, 1};
  std::vector<secure_stream> streams;
};

template <class Load>
task<bench::spent> measure(job what) {
  Load load;
  rota::join_handle<void> serving = rota::spawn(serve(load.here, Load::serves));
  co_await load.begin();
  co_await load.run(what.warm_up);
  const bench::stretch measured;
  co_await load.run(what.operations);
  const bench::spent sum = measured.end();
  serving.cancel();
  const rota::outcome<void> stopped = co_await serving.result();
  require(stopped.is_cancelled(), "the server has ended by itself");
  co_return sum;
}

template <class Load>
void on_a_worker(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  auto root = runtime.spawn(measure<Load>(what));
  bench::report(what, root.join());
}

constexpr bench::one_case cases[] = {
    {"handshake", "ns", 3000, 600, on_a_worker<handshakes<tickets::none>>},
    {"handshake_resumed", "ns", 4000, 800, on_a_worker<handshakes<tickets::some>>},
    {"echo_1", "ns", 50'000, 10'000, on_a_worker<echoes<1>>},
    {"echo_50", "ns", 100'000, 20'000, on_a_worker<echoes<50>>},
    {"bulk", "ns", 1024, 128, on_a_worker<blocks>},
    {"handshake_1", "ns", 3000, 600, on_a_worker<handshakes<tickets::none>>},
    {"handshake_resumed_1", "ns", 4000, 800, on_a_worker<handshakes<tickets::some>>},
    {"echo_1_1", "ns", 50'000, 10'000, on_a_worker<echoes<1>>},
    {"echo_50_1", "ns", 100'000, 20'000, on_a_worker<echoes<50>>},
    {"bulk_1", "ns", 1024, 128, on_a_worker<blocks>},
};

}  // namespace

int main(int argc, char** argv) {
  tls_load::choose_the_cipher();
  return bench::run_subject(argc, argv, cases);
}
