// Resumed sessions: with which host, for how long, and how many.
#include "tls/session_cache.hpp"
#include "unit/tls/foreign_peer.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <utility>

namespace rota::test::sessions_test {
namespace {

/// A connection in which the server sends a byte, so that the client has read the tickets.
task<ends> visit(tls::client client,
                 tls::server server,
                 std::string host = "example.com",
                 std::size_t capacity = wide) {
  ends both = co_await shaken(client, server, host, capacity);
  if (!both.client.has_value() || !both.server.has_value()) co_return both;
  std::byte one[1];
  auto [put, got] = co_await when_all(both.server->write(bytes_of("!")), both.client->read(one));
  EXPECT_EQ(put.value_or(0), 1U);
  EXPECT_EQ(got.value_or(0), 1U);
  co_return both;
}

TEST(sessions, are_resumed_by_the_same_client) {
  const tls::client client(trusting());
  const tls::server server(serving_example());
  testing::runtime rt;
  const ends first = made_by(rt, visit(client, server));
  ASSERT_FALSE(first.of_client());
  EXPECT_FALSE(first.client->is_resumed());
  const ends second = made_by(rt, visit(client, server));
  ASSERT_FALSE(second.of_client()) << second.of_client().message();
  EXPECT_TRUE(second.client->is_resumed());
  EXPECT_TRUE(second.server->is_resumed());
  EXPECT_EQ(second.client->peer_subject(), "CN=test") << "of the session's beginning";
  const ends other = made_by(rt, visit(tls::client(trusting()), server));
  EXPECT_FALSE(other.client->is_resumed()) << "another client has its own";
}

// The capacity is less than a ticket: the rest goes with the server's next write.
TEST(sessions, are_resumed_although_a_ticket_exceeds_the_capacity) {
  const tls::client client(trusting());
  const tls::server server(serving_example());
  testing::runtime rt;
  const ends first = made_by(rt, visit(client, server, "example.com", 100));
  ASSERT_FALSE(first.of_client());
  const ends second = made_by(rt, visit(client, server, "example.com", 100));
  ASSERT_FALSE(second.of_client());
  EXPECT_TRUE(second.client->is_resumed());
}

TEST(sessions, are_resumed_with_the_same_host_only) {
  const tls::client client(trusting());
  const tls::server server(serving(root().issue({.hosts = "DNS:a.example,DNS:b.example"})));
  testing::runtime rt;
  const ends first = made_by(rt, visit(client, server, "a.example"));
  const ends second = made_by(rt, visit(client, server, "b.example"));
  EXPECT_FALSE(second.client->is_resumed());
  const ends third = made_by(rt, visit(client, server, "a.example"));
  EXPECT_TRUE(third.client->is_resumed());
}

TEST(sessions, are_forgotten_beyond_the_limit) {
  tls::client_config config = trusting();
  config.remembered_hosts = 2;
  const tls::client client(config);
  const tls::server server(serving(root().issue({.hosts = "DNS:*.some.example"})));
  testing::runtime rt;
  for (const char* host : {"a.some.example", "b.some.example", "c.some.example"}) {
    const ends both = made_by(rt, visit(client, server, host));
    ASSERT_FALSE(both.of_client());
  }
  const ends oldest = made_by(rt, visit(client, server, "a.some.example"));
  EXPECT_FALSE(oldest.client->is_resumed());
  const ends newer = made_by(rt, visit(client, server, "c.some.example"));
  EXPECT_TRUE(newer.client->is_resumed());
}

/// Returns the session of a client with example.com. Its certificate is valid from yesterday until tomorrow.
task<SSL_SESSION*> session_of_example() {
  const tls::server server(serving_example());
  auto [near, far] = io::duplex(wide);
  foreign_peer client(foreign_peer::role::client, std::move(near));
  auto [said, got] = co_await when_all(client.handshake(), server.accept(std::move(far)));
  EXPECT_EQ(said, 1);
  auto [put, heard] = co_await when_all(got->write(bytes_of("!")), client.read(1));
  EXPECT_EQ(heard, "!");
  co_return SSL_get1_session(client.ssl());
}

TEST(sessions, are_not_offered_when_their_certificate_is_out_of_date) {
  testing::runtime rt;
  SSL_SESSION* const one = rt.block_on(session_of_example());
  ASSERT_NE(one, nullptr);
  const std::time_t now = std::time(nullptr);
  const std::time_t two_days = 2 * 24 * 3600;
  for (const std::time_t at : {now - two_days, now, now + two_days}) {
    tls::detail::session_cache cache(1);
    SSL_SESSION_up_ref(one);
    cache.put("example.com", tls::detail::ssl_session_ptr(one));
    EXPECT_EQ(cache.take("example.com", &at) != nullptr, at == now) << at - now;
    EXPECT_EQ(cache.take("example.com", &now), nullptr) << "given out, or dropped";
  }
  SSL_SESSION_free(one);
}

/// Resumes sessions as long as possible. Returns the result of the first handshake without a resumption.
ends after_its_sessions(testing::runtime& rt, const tls::client& client, const tls::server& server) {
  for (;;) {
    ends both = made_by(rt, visit(client, server));
    if (!both.server.has_value() || !both.server->is_resumed()) return both;
  }
}

// Sessions resume only while both certificates are valid.
TEST(sessions, end_with_the_certificate_of_either_side) {
  const wish short_lived{.to_days = 0, .to_seconds = 3};
  const tls::server short_server(serving(root().issue(short_lived)));
  const tls::client client(trusting());
  tls::client_config own = trusting();
  own.own.push_back(root().issue(short_lived));
  const tls::client short_client(own);
  tls::server_config asking = serving_example();
  asking.from_clients = tls::client_certificates::required;
  asking.ca_pem = root().pem();
  const tls::server server(asking);
  testing::runtime rt;
  const ends with_short_server = made_by(rt, visit(client, short_server));
  const ends with_short_client = made_by(rt, visit(short_client, server));
  ASSERT_FALSE(with_short_server.of_client() || with_short_client.of_server());
  const ends resumed = made_by(rt, visit(short_client, server));
  EXPECT_TRUE(resumed.server.has_value() && resumed.server->is_resumed());

  const ends of_server = after_its_sessions(rt, client, short_server);
  EXPECT_EQ(of_server.of_client(), tls::verify_error::expired) << of_server.of_client().message();
  const ends of_client = after_its_sessions(rt, short_client, server);
  EXPECT_EQ(of_client.of_server(), tls::verify_error::expired) << of_client.of_server().message();
}

// The sessions used last are kept, even if that use made no new session.
TEST(sessions, are_forgotten_in_the_order_of_their_use) {
  tls::client_config config = trusting();
  config.remembered_hosts = 2;
  const tls::client client(config);
  const tls::server server(serving(root().issue({.hosts = "DNS:*.some.example"})));
  testing::runtime rt;
  const ends a = made_by(rt, visit(client, server, "a.some.example"));
  const ends b = made_by(rt, visit(client, server, "b.some.example"));
  const ends a_unread = made_by(rt, shaken(client, server, "a.some.example"));
  ASSERT_FALSE(a_unread.of_client());
  EXPECT_TRUE(a_unread.client->is_resumed());
  const ends c = made_by(rt, visit(client, server, "c.some.example"));
  const ends a_again = made_by(rt, visit(client, server, "a.some.example"));
  EXPECT_TRUE(a_again.client->is_resumed());
}

TEST(sessions, are_not_resumed_if_either_side_disables_them) {
  tls::client_config no_memory = trusting();
  no_memory.remembered_hosts = 0;
  tls::server_config no_tickets = serving_example();
  no_tickets.sessions = tls::resumption::none;
  const std::pair<tls::client, tls::server> all[] = {{tls::client(no_memory), tls::server(serving_example())},
                                                     {tls::client(trusting()), tls::server(no_tickets)}};
  for (const auto& [client, server] : all) {
    testing::runtime rt;
    const ends first = made_by(rt, visit(client, server));
    ASSERT_FALSE(first.of_client());
    const ends second = made_by(rt, visit(client, server));
    ASSERT_FALSE(second.of_client());
    EXPECT_FALSE(second.client->is_resumed());
  }
}

}  // namespace
}  // namespace rota::test::sessions_test
