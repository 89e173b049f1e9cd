// The parameters of a handshake: certificates, names, versions, protocols.
#include "unit/tls/tls_support.hpp"

#include "support/scratch_folder.hpp"

#include <rota/io/algorithms.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace rota::test::handshake_test {
namespace {

using tls::alert;
using tls::verify_error;

task<std::string> says_hello(ends& both) {
  const result<std::size_t> put = co_await both.client->write(bytes_of("hello"));
  EXPECT_EQ(put.value_or(0), 5U);
  const result<void> finished = co_await both.client->shutdown_write();
  EXPECT_TRUE(finished.has_value());
  std::string heard;
  const std::error_code why = co_await read_all(*both.server, heard);
  EXPECT_FALSE(why) << why.message();
  co_return heard;
}

TEST(handshake, connects_a_client_and_a_server) {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{100}, wide}) {
    // Also with less capacity than a ticket needs before the client reads: tickets are not waited for.
    ends both = shake(trusting(), serving_example(), "example.com", capacity);
    ASSERT_TRUE(both.client.has_value()) << both.of_client().message();
    ASSERT_TRUE(both.server.has_value()) << both.of_server().message();
    EXPECT_EQ(both.client->spoken(), tls::version::tls_1_3);
    EXPECT_EQ(both.server->host(), "example.com");
    EXPECT_EQ(both.client->cipher(), both.server->cipher());
    EXPECT_FALSE(both.client->is_resumed());
    EXPECT_EQ(both.client->peer_subject(), "CN=test");
    EXPECT_GT(both.client->peer_certificate().size(), 100U);
    EXPECT_TRUE(both.server->peer_certificate().empty());
    EXPECT_TRUE(both.client->alpn().empty());
    if (capacity != wide) continue;
    testing::runtime rt;
    EXPECT_EQ(rt.block_on(says_hello(both)), "hello");
  }
}

TEST(handshake, takes_an_identity_from_files) {
  const scratch_folder folder;
  folder.write("chain.pem", of_example_com().chain_pem);
  folder.write("key.pem", of_example_com().key_pem);
  folder.write("ca.pem", "a comment before it\n" + root().pem());
  tls::identity files;
  files.chain_file = folder.at("chain.pem");
  files.key_file = folder.at("key.pem");
  tls::client_config config;
  config.ca_file = folder.at("ca.pem");
  const ends both = shake(config, serving(files));
  EXPECT_FALSE(both.of_client());
  EXPECT_FALSE(both.of_server());
}

// The server sends the intermediate certificate with its own.
TEST(certificates, may_be_signed_by_an_intermediate_certificate) {
  const authority middle("middle", root());
  const ends both = shake(trusting(), serving(middle.issue({})));
  EXPECT_FALSE(both.of_client()) << both.of_client().message();
  // The intermediate certificate alone does not complete a chain.
  tls::client_config not_the_root;
  not_the_root.ca_pem = middle.pem();
  const ends refused = shake(not_the_root, serving(middle.issue({})));
  EXPECT_EQ(refused.of_client().category(), tls::verify_category());
}

struct refusal {
  const char* what;
  tls::identity who;
  std::string host;
  verify_error why;
  alert said;
};

TEST(certificates, are_refused_with_the_matching_error_and_alert) {
  const authority stranger("stranger");
  const refusal all[] = {
      {"wrong host", of_example_com(), "example.org", verify_error::host_mismatch, alert::bad_certificate},
      {"host of more labels",
       of_example_com(),
       "www.example.com",
       verify_error::host_mismatch,
       alert::bad_certificate},
      {"two labels for a star",
       root().issue({.hosts = "DNS:*.example.com"}),
       "a.b.example.com",
       verify_error::host_mismatch,
       alert::bad_certificate},
      {"a star in a part",
       root().issue({.hosts = "DNS:w*.example.com"}),
       "www.example.com",
       verify_error::host_mismatch,
       alert::bad_certificate},
      {"no host at all",
       root().issue({.name = "x", .hosts = "email:a@b.c"}),
       "example.com",
       verify_error::host_mismatch,
       alert::bad_certificate},
      {"a common name alone",
       root().issue({.name = "example.com", .hosts = ""}),
       "example.com",
       verify_error::host_mismatch,
       alert::bad_certificate},
      {"an address", of_example_com(), "127.0.0.1", verify_error::address_mismatch, alert::bad_certificate},
      {"an address as a name",
       root().issue({.hosts = "DNS:127.0.0.1"}),
       "127.0.0.1",
       verify_error::address_mismatch,
       alert::bad_certificate},
      {"expired",
       root().issue({.to_days = 0}),
       "example.com",
       verify_error::expired,
       alert::certificate_expired},
      {"not yet",
       root().issue({.from_days = 1, .to_days = 2}),
       "example.com",
       verify_error::not_yet_valid,
       alert::bad_certificate},
      {"self-signed",
       authority::self_signed({}),
       "example.com",
       verify_error::self_signed,
       alert::unknown_ca},
      {"unknown", stranger.issue({}), "example.com", verify_error::unknown_issuer, alert::unknown_ca},
  };
  for (const refusal& each : all) {
    const ends both = shake(trusting(), serving(each.who), each.host);
    EXPECT_EQ(both.of_client(), each.why) << each.what << ": " << both.of_client().message();
    // The client sends the alert at its end of the handshake; in TLS 1.3 the server has not finished yet.
    EXPECT_EQ(both.of_server(), each.said) << each.what << ": " << both.of_server().message();
    EXPECT_FALSE(both.of_client().message().empty());
  }
}

TEST(certificates, are_accepted_for_names_and_addresses) {
  const tls::identity many = root().issue({.hosts = "DNS:*.example.com,DNS:other.org,IP:127.0.0.1,IP:::1"});
  for (const char* host :
       {"www.example.com", "WWW.Example.COM", "other.org", "other.org.", "127.0.0.1", "::1"}) {
    const ends both = shake(trusting(), serving(many), host);
    EXPECT_FALSE(both.of_client()) << host << ": " << both.of_client().message();
    EXPECT_FALSE(both.of_server()) << host;
  }
}

TEST(certificates, are_not_checked_if_verification_is_off) {
  tls::client_config blind;
  blind.verify = tls::verification::none;
  const ends both = shake(blind, serving(authority::self_signed({})), "whoever.example");
  EXPECT_FALSE(both.of_client());
  const ends nameless = shake(blind, serving_example(), "");
  ASSERT_FALSE(nameless.of_client());
  EXPECT_EQ(nameless.server->host(), "");
}

/// Expects that the name is refused and nothing is sent.
void expect_refused(const std::string& host) {
  const tls::client client(trusting());
  testing::runtime rt;
  auto [near, far] = io::duplex(wide);
  const auto got = rt.block_on(client.connect(std::move(near), host));
  ASSERT_FALSE(got.has_value()) << host;
  EXPECT_EQ(got.error(), tls::errc::bad_name) << host << ": " << got.error().message();
  std::vector<std::byte> sent;
  const result<std::size_t> read = rt.block_on(io::read_to_end(far, sent, wide));
  EXPECT_TRUE(read.has_value() && sent.empty()) << host;
}

TEST(hosts, must_be_valid_names) {
  const std::string long_name = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                                std::string(63, 'c') + "." + std::string(63, 'd');
  for (const std::string& host : {std::string(),
                                  std::string("example.com\0.evil.org", 21),
                                  std::string("exämple.com"),
                                  std::string("a b"),
                                  std::string("http://example.com"),
                                  std::string("1:2"),
                                  std::string("example.com:443"),
                                  std::string("."),
                                  std::string("a..b"),
                                  std::string(".a"),
                                  std::string("a.."),
                                  std::string(64, 'a') + ".test",
                                  long_name})
    expect_refused(host);
}

// The rule of net::resolve(). OpenSSL would read the first one as 10.0.0.1, and the second one as an address.
TEST(hosts, whose_last_label_is_a_number_must_be_valid_addresses) {
  for (const char* host : {"010.0.0.1",
                           "::ffff:010.0.0.1",
                           "0177.0.0.1",
                           "127.1",
                           "0x7f.1",
                           "2130706433",
                           "0x7F000001",
                           "1.2.3.4.5",
                           "1.2.3.256",
                           "10.0.0.1.",
                           "example.com.1"})
    expect_refused(host);
}

TEST(alpn, is_the_servers_choice) {
  tls::client_config client = trusting();
  tls::server_config server = serving_example();
  client.alpn = {"h2", "http/1.1", "echo"};
  server.alpn = {"http/1.1", "h2"};
  const ends both = shake(client, server);
  ASSERT_FALSE(both.of_client());
  EXPECT_EQ(both.client->alpn(), "http/1.1");
  EXPECT_EQ(both.server->alpn(), "http/1.1");
}

TEST(alpn, without_a_common_protocol_is_refused) {
  tls::client_config client = trusting();
  tls::server_config server = serving_example();
  client.alpn = {"h3"};
  server.alpn = {"http/1.1", "h2"};
  const ends both = shake(client, server);
  EXPECT_EQ(both.of_client(), alert::no_application_protocol) << both.of_client().message();
  EXPECT_EQ(both.of_server().category(), tls::openssl_category()) << both.of_server().message();
  // A client without a list takes part in no negotiation.
  client.alpn.clear();
  const ends silent = shake(client, server);
  ASSERT_FALSE(silent.of_client());
  EXPECT_EQ(silent.client->alpn(), "");
}

TEST(sni, chooses_the_certificate) {
  tls::server_config server;
  server.identities.push_back(
      root().issue({.name = "first", .hosts = "DNS:first.example", .kind = key_kind::rsa}));
  server.identities.push_back(root().issue({.name = "second", .hosts = "DNS:*.second.example"}));
  server.identities.push_back(
      root().issue({.name = "third", .hosts = "DNS:third.example,DNS:a.second.example"}));
  const std::pair<const char*, const char*> expected[] = {{"first.example", "CN=first"},
                                                          {"b.second.example", "CN=second"},
                                                          {"a.second.example", "CN=second"},
                                                          {"third.example", "CN=third"}};
  for (const auto& [host, who] : expected) {
    const ends both = shake(trusting(), server, host);
    ASSERT_FALSE(both.of_client()) << host << ": " << both.of_client().message();
    EXPECT_EQ(both.client->peer_subject(), who) << host;
    EXPECT_EQ(both.server->host(), host);
  }
  const ends unknown = shake(trusting(), server, "fourth.example");
  EXPECT_EQ(unknown.of_client(), verify_error::host_mismatch) << "it got the first";
  server.unknown = tls::unknown_hosts::are_refused;
  const ends refused = shake(trusting(), server, "fourth.example");
  EXPECT_EQ(refused.of_client(), alert::unrecognized_name) << refused.of_client().message();
}

tls::server_config asking(tls::client_certificates how) {
  tls::server_config server = serving_example();
  server.from_clients = how;
  server.ca_pem = root().pem();
  return server;
}

task<std::error_code> first_read(ends& both) {
  std::string nothing;
  co_return co_await read_all(*both.client, nothing);
}

TEST(client_certificates, are_seen_by_the_server) {
  tls::client_config client = trusting();
  client.own.push_back(root().issue({.name = "alice", .hosts = ""}));
  for (const auto how : {tls::client_certificates::optional, tls::client_certificates::required}) {
    const ends both = shake(client, asking(how));
    ASSERT_FALSE(both.of_server()) << both.of_server().message();
    EXPECT_EQ(both.server->peer_subject(), "CN=alice");
  }
  const ends not_asked = shake(client, serving_example());
  ASSERT_FALSE(not_asked.of_server());
  EXPECT_EQ(not_asked.server->peer_subject(), "");
}

TEST(client_certificates, that_are_required_and_missing_end_the_connection) {
  ends both = shake(trusting(), asking(tls::client_certificates::required));
  EXPECT_EQ(both.of_server(), tls::errc::no_certificate) << both.of_server().message();
  ASSERT_FALSE(both.of_client()) << "it has finished before the server knows";
  testing::runtime rt;
  EXPECT_EQ(rt.block_on(first_read(both)), alert::certificate_required);
  const ends optional = shake(trusting(), asking(tls::client_certificates::optional));
  EXPECT_FALSE(optional.of_server());
}

TEST(client_certificates, of_an_unknown_issuer_end_the_connection) {
  const authority stranger("stranger");
  tls::client_config client = trusting();
  client.own.push_back(stranger.issue({.name = "mallory"}));
  for (const auto how : {tls::client_certificates::optional, tls::client_certificates::required}) {
    ends both = shake(client, asking(how));
    EXPECT_EQ(both.of_server(), verify_error::unknown_issuer) << both.of_server().message();
    ASSERT_FALSE(both.of_client());
    testing::runtime rt;
    EXPECT_EQ(rt.block_on(first_read(both)), alert::unknown_ca);
  }
}

}  // namespace
}  // namespace rota::test::handshake_test
