// The end of a TLS connection over TCP: bytes that TLS itself sends must not turn a close into a reset.
#include "support/sanitized.hpp"
#include "unit/tls/foreign_peer.hpp"
#include "unit/tls/tls_support.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota::test::finish_test {
namespace {

using net::tcp_stream;
using tcp_tls = tls::stream<tcp_stream>;
using io::finish_outcome;

struct tcp_tls_pair {
  tcp_tls client;
  tcp_tls server;
};

template <class T>
T demand(result<T> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  return std::move(*got);
}

struct tcp_pair {
  tcp_stream near;
  tcp_stream far;
};

task<tcp_pair> tcp_connected() {
  net::tcp_listener listener = demand(net::tcp_listener::bind(net::endpoint::loopback_v4(0)));
  auto near = co_await tcp_stream::connect(demand(listener.local_endpoint()));
  auto far = co_await listener.accept();
  co_return tcp_pair{demand(std::move(near)), demand(std::move(far))};
}

tls::identity of_this_host() { return root().issue({.hosts = "IP:127.0.0.1"}); }

task<tcp_tls_pair> connected_over_tcp() {
  const tls::client client(trusting());
  const tls::server server(serving(of_this_host()));
  auto connecting = tcp_connected();
  tcp_pair both = co_await std::move(connecting);
  auto [c, s] = co_await when_all(client.connect(std::move(both.near), "127.0.0.1"),
                                  server.accept(std::move(both.far)));
  co_return tcp_tls_pair{demand(std::move(c)), demand(std::move(s))};
}

/// Returns how many bytes come before the end. Sets `why` if an error comes instead of the end.
task<std::size_t> count_to_the_end(tcp_tls& from, std::error_code& why) {
  std::vector<std::byte> buffer(4096);
  std::size_t all = 0;
  for (;;) {
    const result<std::size_t> got = co_await from.read(buffer);
    if (!got.has_value()) why = got.error();
    if (got.value_or(0) == 0) co_return all;
    all += *got;
  }
}

constexpr std::size_t much = 200'000;

task<> writes_and_goes(tcp_tls client) {
  const std::vector<std::byte> bytes(much);
  const result<std::size_t> sent = co_await client.write_all(bytes);
  EXPECT_EQ(sent.value_or(0), much);
  const result<void> finished = co_await client.shutdown_write();
  EXPECT_TRUE(finished.has_value());
}

/// Returns when the peer's socket has all that was written to `by`. Gives up after a second.
task<> has_arrived(const tcp_stream& by) {
  int left = 1;
  for (int round = 0; round < 1000 && left != 0; ++round) {
    if (round != 0) co_await sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(::ioctl(by.native_handle(), SIOCOUTQ, &left), 0);
  }
}

/// The client is destroyed before the server reads.
task<> reads_what_is_left(tcp_tls_pair both) {
  co_await has_arrived(both.server.below());  // tickets that come after the close would reset the connection
  co_await writes_and_goes(std::move(both.client));
  std::error_code why;
  const std::size_t got = co_await count_to_the_end(both.server, why);
  EXPECT_FALSE(why) << why.message();
  EXPECT_EQ(got, much);
}

TEST(tls_finish, loses_nothing_of_a_client_that_only_writes_and_closes) {
  for (unsigned workers : {1U, 2U}) {
    runtime rt(with_workers(workers));
    for (int i = 0; i < 5; ++i) {
      rt.spawn([]() -> task<> {
          auto making = connected_over_tcp();
          co_await reads_what_is_left(co_await std::move(making));
        }).join();
    }
  }
}

// The server's bytes lie in the client's socket, and the client never reads them.
TEST(tls_finish, loses_nothing_of_a_client_that_leaves_input_unread) {
  runtime rt(with_workers(2));
  rt.spawn([]() -> task<> {
      auto making = connected_over_tcp();
      tcp_tls_pair both = co_await std::move(making);
      const result<std::size_t> put = co_await both.server.write(bytes_of("with tickets before it"));
      EXPECT_TRUE(put.has_value());
      const result<void> has_come = co_await both.client.below().readable();
      EXPECT_TRUE(has_come.has_value());
      co_await reads_what_is_left(std::move(both));
    }).join();
}

// ---- a server by OpenSSL alone: its tickets come after all that the client has written

using foreign_tcp = foreign_peer_over<tcp_stream>;
using bytes_span = std::span<const std::byte>;

task<std::size_t> reads_after_tickets(foreign_tcp& server, bytes_span tickets) {
  const result<std::size_t> put = co_await server.below().write_all(tickets);
  EXPECT_TRUE(put.has_value());
  const std::string got = co_await server.read(much + 1);
  static_cast<void>(co_await server.until_done(&SSL_shutdown));
  co_return got.size();
}

/// The same, after the tickets have been answered by a reset. The loop ends with that.
task<std::size_t> reads_after_reset(foreign_tcp& server, bytes_span tickets) {
  for (;;) {
    const result<std::size_t> put = co_await server.below().write_all(tickets);
    if (!put.has_value()) break;
    co_await yield();
  }
  const std::string got = co_await server.read(much + 1);
  co_return got.size();
}

task<> writes_and_finishes(tcp_tls client) {
  const std::vector<std::byte> bytes(much);
  const result<std::size_t> sent = co_await client.write_all(bytes);
  EXPECT_EQ(sent.value_or(0), much);
  auto finishing = client.finish(30s);
  const result<finish_outcome> end = co_await std::move(finishing);
  EXPECT_EQ(demand(end), finish_outcome::end_of_stream);
}

/// Returns how many of the bytes that `client_part` writes reach `server_part`.
task<std::size_t> bytes_beside_late_tickets(task<> (*client_part)(tcp_tls),
                                            task<std::size_t> (*server_part)(foreign_tcp&, bytes_span)) {
  auto connecting = tcp_connected();
  tcp_pair both = co_await std::move(connecting);
  // Less than the client writes: the rest waits in the client's socket.
  const result<void> set = both.far.set_receive_buffer(32'768);
  EXPECT_TRUE(set.has_value());
  foreign_tcp server(foreign_tcp::role::server, std::move(both.far), of_this_host());
  const tls::client client(trusting());
  auto [made, tickets] = co_await when_all(client.connect(std::move(both.near), "127.0.0.1"),
                                           server.handshake_without_last_step());
  EXPECT_FALSE(tickets.empty());
  // The runtime has one worker, so the client runs first, until it has ended or waits for its end.
  auto writing = client_part(demand(std::move(made)));
  auto reading = server_part(server, tickets);
  const auto [ended, got] = co_await when_all(std::move(writing), std::move(reading));
  co_return got;
}

TEST(tls_finish, loses_nothing_of_a_client_that_only_writes_when_the_tickets_come_late) {
  runtime rt(with_workers(1));
  EXPECT_EQ(rt.spawn(bytes_beside_late_tickets, writes_and_finishes, reads_after_tickets).join(), much);
}

// A client that does not finish() loses data, as the headers say.
TEST(tls_finish, is_needed_when_the_tickets_come_after_the_close) {
  runtime rt(with_workers(1));
  EXPECT_LT(rt.spawn(bytes_beside_late_tickets, writes_and_goes, reads_after_reset).join(), much);
}

task<finish_outcome> answers_and_finishes(tcp_tls server) {
  const result<std::size_t> put = co_await server.write(bytes_of("the last answer"));
  EXPECT_TRUE(put.has_value());
  auto finishing = server.finish(30s);
  const result<finish_outcome> end = co_await std::move(finishing);
  co_return demand(end);
}

TEST(tls_finish, delivers_the_last_answer_when_the_peer_has_sent_unread_input) {
  runtime rt(with_workers(2));
  rt.spawn([]() -> task<> {
      auto making = connected_over_tcp();
      tcp_tls_pair both = co_await std::move(making);
      auto answering = spawn(answers_and_finishes(std::move(both.server)));
      {
        const std::vector<std::byte> bytes(much);
        const result<std::size_t> sent = co_await both.client.write_all(bytes);
        EXPECT_EQ(sent.value_or(0), much);
        std::error_code why;
        const std::size_t got = co_await count_to_the_end(both.client, why);
        EXPECT_FALSE(why) << why.message();
        EXPECT_EQ(got, std::string("the last answer").size());
        const tcp_tls gone = std::move(both.client);
      }
      const finish_outcome end = co_await answering;
      EXPECT_EQ(end, finish_outcome::end_of_stream);
    }).join();
}

TEST(tls_finish, returns_limit_reached_when_the_peer_does_not_end) {
  runtime rt(with_workers(1));
  rt.spawn([]() -> task<> {
      auto making = connected_over_tcp();
      tcp_tls_pair both = co_await std::move(making);
      auto finishing = both.client.finish(10ms);
      const result<finish_outcome> end = co_await std::move(finishing);
      EXPECT_EQ(demand(end), finish_outcome::limit_reached);
      std::error_code why;
      const std::size_t got = co_await count_to_the_end(both.server, why);
      EXPECT_FALSE(why) << "the end was told: " << why.message();
      EXPECT_EQ(got, 0U);
      const result<std::size_t> after = co_await both.client.below().write(bytes_of("x"));
      EXPECT_TRUE(!after.has_value() && after.error() == rota::errc::closed);
    }).join();
}

// A close_notify of the child would end the parent's connection.
TEST(tls_finish, is_refused_in_a_forked_child) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  runtime rt(with_workers(1));
  std::optional<tcp_tls_pair> both;
  rt.block_on([](std::optional<tcp_tls_pair>& made) -> task<> {
    auto making = connected_over_tcp();
    made.emplace(co_await std::move(making));
  }(both));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    runtime own(with_workers(1));
    const result<finish_outcome> end = own.block_on(both->client.finish(1s));
    ::_exit(!end.has_value() && end.error() == rota::errc::forked ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  rt.block_on([](tcp_tls_pair& of) -> task<> {
    const result<std::size_t> put = co_await of.client.write(bytes_of("still here"));
    EXPECT_TRUE(put.has_value());
    std::array<std::byte, 16> bytes;
    const result<std::size_t> got = co_await of.server.read(bytes);
    EXPECT_EQ(got.value_or(0), 10U);
  }(*both));
}

}  // namespace
}  // namespace rota::test::finish_test
