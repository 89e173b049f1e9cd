// Versions, and peers that do what is allowed but unusual.
#include "unit/tls/foreign_peer.hpp"

#include <gtest/gtest.h>

namespace rota::test::versions_test {
namespace {

using tls::alert;

task<int> handshake_of(foreign_peer& peer) {
  const int said = co_await peer.handshake();
  // The other side sees the end.
  if (said != 1) peer.below().close();
  co_return said;
}

struct with_foreign_client {
  explicit with_foreign_client(int highest, tls::version lowest) : pipe(io::duplex(wide)) {
    tls::server_config config = serving_example();
    config.minimum_version = lowest;
    server.emplace(config);
    peer.emplace(foreign_peer::role::client, std::move(pipe.first));
    SSL_set_max_proto_version(peer->ssl(), highest);
  }
  task<result<tls_stream>> run() {
    auto [said, got] = co_await when_all(handshake_of(*peer), server->accept(std::move(pipe.second)));
    peer_said = said;
    co_return std::move(got);
  }

  std::pair<duplex_end, duplex_end> pipe;
  std::optional<tls::server> server;
  std::optional<foreign_peer> peer;
  int peer_said = 0;
};

TEST(versions, before_1_3_are_refused_by_a_server) {
  with_foreign_client x(TLS1_2_VERSION, tls::server_config().minimum_version);
  testing::runtime rt;
  const result<tls_stream> got = rt.block_on(x.run());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().category(), tls::openssl_category());
  EXPECT_EQ(got.error().message(), "unsupported protocol");
  EXPECT_EQ(x.peer_said, SSL_ERROR_SSL) << "it is told by an alert";
}

TEST(versions, tls_1_2_is_accepted_if_configured) {
  with_foreign_client x(TLS1_2_VERSION, tls::version::tls_1_2);
  testing::runtime rt;
  const result<tls_stream> got = rt.block_on(x.run());
  ASSERT_TRUE(got.has_value()) << got.error().message();
  EXPECT_EQ(got->spoken(), tls::version::tls_1_2);
  EXPECT_TRUE(got->cipher().starts_with("ECDHE-")) << got->cipher();
}

struct with_foreign_server {
  explicit with_foreign_server(int highest, tls::version lowest) : pipe(io::duplex(wide)) {
    tls::client_config config = trusting();
    config.minimum_version = lowest;
    client.emplace(config);
    peer.emplace(foreign_peer::role::server, std::move(pipe.first));
    SSL_set_max_proto_version(peer->ssl(), highest);
  }
  task<result<tls_stream>> run() {
    auto [said, got] =
        co_await when_all(handshake_of(*peer), client->connect(std::move(pipe.second), "example.com"));
    peer_said = said;
    co_return std::move(got);
  }

  std::pair<duplex_end, duplex_end> pipe;
  std::optional<tls::client> client;
  std::optional<foreign_peer> peer;
  int peer_said = 0;
};

TEST(versions, before_1_3_are_refused_by_a_client) {
  with_foreign_server x(TLS1_2_VERSION, tls::client_config().minimum_version);
  testing::runtime rt;
  const result<tls_stream> got = rt.block_on(x.run());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error(), alert::protocol_version) << got.error().message();
  EXPECT_EQ(x.peer_said, SSL_ERROR_SSL);
}

TEST(versions, before_1_2_are_refused_whatever_is_configured) {
  with_foreign_client x(TLS1_1_VERSION, tls::version::tls_1_2);
  SSL_set_min_proto_version(x.peer->ssl(), TLS1_VERSION);
  SSL_set_security_level(x.peer->ssl(), 0);
  testing::runtime rt;
  const result<tls_stream> got = rt.block_on(x.run());
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().message(), "unsupported protocol");
}

task<void> renegotiates(with_foreign_client& x) {
  result<tls_stream> got = co_await x.run();
  EXPECT_TRUE(got.has_value());
  if (!got.has_value()) co_return;
  SSL_renegotiate(x.peer->ssl());
  SSL_do_handshake(x.peer->ssl());
  std::byte buffer[10];
  // This side answers although it only reads, and refuses. OpenSSL's client takes that for the end.
  const auto ask = [&x]() -> task<int> { return handshake_of(*x.peer); };
  auto [read, said] = co_await when_all(got->read(buffer), ask());
  EXPECT_EQ(said, SSL_ERROR_SSL);
  EXPECT_FALSE(read.has_value());
}

TEST(versions, tls_1_2_does_not_renegotiate) {
  with_foreign_client x(TLS1_2_VERSION, tls::version::tls_1_2);
  testing::runtime rt;
  rt.block_on(renegotiates(x));
}

// The peer asks for new keys a thousand times and rarely reads: the pending answers stay within a limit.
task<void> changes_keys(with_foreign_client& x) {
  result<tls_stream> got = co_await x.run();
  EXPECT_TRUE(got.has_value());
  if (!got.has_value()) co_return;
  std::string heard;
  for (int i = 0; i < 1000; ++i) {
    SSL_key_update(x.peer->ssl(), SSL_KEY_UPDATE_REQUESTED);
    std::byte one[1];
    auto [wrote, read] = co_await when_all(x.peer->write("x"), got->read(one));
    EXPECT_EQ(wrote, 1);
    EXPECT_EQ(read.value_or(0), 1U) << i;
    if (i % 100 != 0) continue;
    auto [put, answer] = co_await when_all(got->write(bytes_of("y")), x.peer->read(1));
    EXPECT_EQ(put.value_or(0), 1U);
    EXPECT_EQ(answer, "y") << "with the new keys";
  }
}

TEST(keys, are_updated_as_often_as_the_peer_requests) {
  with_foreign_client x(TLS1_3_VERSION, tls::version::tls_1_3);
  testing::runtime rt;
  rt.block_on(changes_keys(x));
}

// A ticket arrives in two parts. A write in between waits for the second part, also if no task reads.
enum class who_reads : unsigned char { a_reader, nobody };

/// Returns a ticket that is longer than a record of 512 bytes.
std::vector<std::byte> long_ticket(foreign_peer& peer) {
  const auto make_longer = [](SSL* s, void*) {
    const std::string much(1000, 'x');
    return SSL_SESSION_set1_ticket_appdata(SSL_get_session(s), much.data(), much.size());
  };
  SSL_CTX_set_session_ticket_cb(SSL_get_SSL_CTX(peer.ssl()), make_longer, nullptr, nullptr);
  SSL_set_max_send_fragment(peer.ssl(), 512);
  SSL_new_session_ticket(peer.ssl());
  SSL_do_handshake(peer.ssl());
  return peer.outgoing();
}

task<void> gives(foreign_peer& peer, std::span<const std::byte> bytes) {
  const result<void> put = co_await io::write_all(peer.below(), bytes);
  EXPECT_TRUE(put.has_value());
  // Every waiter has seen the bytes after this.
  for (int i = 0; i < 100; ++i) co_await yield();
}

task<std::string> reads_one(tls_stream& from) {
  std::byte one[1];
  const result<std::size_t> got = co_await from.read(one);
  EXPECT_EQ(got.value_or(0), 1U);
  co_return text_of(one);
}
task<bool> writes_one(tls_stream& to, bool& done) {
  const result<std::size_t> put = co_await to.write(bytes_of("x"));
  done = true;
  co_return put.value_or(0) == 1;
}

task<void> writes_between_two_halves(with_foreign_server& x, who_reads reads) {
  result<tls_stream> made = co_await x.run();
  EXPECT_TRUE(made.has_value());
  if (!made.has_value()) co_return;
  const std::vector<std::byte> ticket = long_ticket(*x.peer);
  EXPECT_GT(ticket.size(), 1000U);
  const auto half =
      std::span(ticket).first(5 + 512 + 1 + 16);  // a record: its head, the bytes, their type, a tag
  std::optional<join_handle<std::string>> reader = spawn(reads_one(*made));
  co_await gives(*x.peer, half);
  if (reads == who_reads::nobody) {
    reader->cancel();
    const outcome<std::string> end = co_await reader->result();
    EXPECT_TRUE(end.is_cancelled());
  }
  bool done = false;
  join_handle<bool> writer = spawn(writes_one(*made, done));
  for (int i = 0; i < 100; ++i) co_await yield();
  EXPECT_FALSE(done) << "half of a message has come";
  co_await gives(*x.peer, std::span(ticket).subspan(half.size()));
  EXPECT_TRUE(done);
  const bool wrote = co_await writer;
  EXPECT_TRUE(wrote);
  const std::string heard = co_await x.peer->read(1);
  EXPECT_EQ(heard, "x");
  if (reads == who_reads::nobody) reader = spawn(reads_one(*made));
  const int said = co_await x.peer->write("y");
  EXPECT_EQ(said, 1);
  const std::string answer = co_await *reader;
  EXPECT_EQ(answer, "y");
}

TEST(writes, wait_for_the_second_half_of_a_message) {
  for (const who_reads each : {who_reads::a_reader, who_reads::nobody}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      with_foreign_server x(TLS1_3_VERSION, tls::version::tls_1_3);
      testing::runtime rt(seed);
      rt.block_on(writes_between_two_halves(x, each));
    }
  }
}

// The end of the writing direction waits as well.
task<void> finishes_between_two_halves(with_foreign_server& x) {
  result<tls_stream> made = co_await x.run();
  EXPECT_TRUE(made.has_value());
  if (!made.has_value()) co_return;
  const std::vector<std::byte> ticket = long_ticket(*x.peer);
  const auto half = std::span(ticket).first(5 + 512 + 1 + 16);
  join_handle<std::string> reader = spawn(reads_one(*made));
  co_await gives(*x.peer, half);
  join_handle<result<void>> finishing = spawn(made->shutdown_write());
  co_await gives(*x.peer, std::span(ticket).subspan(half.size()));
  const result<void> finished = co_await finishing;
  EXPECT_TRUE(finished.has_value());
  const std::string heard = co_await x.peer->read(1);
  EXPECT_EQ(heard, "");
  EXPECT_NE(SSL_get_shutdown(x.peer->ssl()) & SSL_RECEIVED_SHUTDOWN, 0);
  const int said = co_await x.peer->write("y");
  EXPECT_EQ(said, 1);
  const std::string answer = co_await reader;
  EXPECT_EQ(answer, "y");
}

TEST(writes, end_after_the_second_half_of_a_message) {
  with_foreign_server x(TLS1_3_VERSION, tls::version::tls_1_3);
  testing::runtime rt;
  rt.block_on(finishes_between_two_halves(x));
}

}  // namespace
}  // namespace rota::test::versions_test
