// The promised names of TLS, over memory.
#include <rota/io/duplex.hpp>
#include <rota/rota.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/error.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using rota::io::duplex_end;
using rota::tls::result;
using stream = rota::tls::stream<duplex_end>;
using read_half = rota::tls::read_half<duplex_end>;
using write_half = rota::tls::write_half<duplex_end>;

static_assert(rota::io::stream<stream> && rota::io::half_closer<stream>);
static_assert(rota::io::reader<read_half> && rota::io::writer<write_half> &&
              rota::io::half_closer<write_half>);

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

rota::tls::server_config of_server() {
  rota::tls::server_config c;
  c.identities.push_back(rota::tls::self_signed({"example.com", "127.0.0.1", "::1"}, 1));
  c.unknown = rota::tls::unknown_hosts::are_refused;
  c.from_clients = rota::tls::client_certificates::none;
  c.alpn = {"echo"};
  c.minimum_version = rota::tls::version::tls_1_2;
  c.sessions = rota::tls::resumption::by_tickets;
  return c;
}

rota::tls::client_config of_client(const rota::tls::server_config& server) {
  rota::tls::client_config c;
  c.ca_pem = server.identities.front().chain_pem;
  c.trust_system = rota::tls::system_trust::never;
  c.verify = rota::tls::verification::required;
  c.alpn = {"echo"};
  c.minimum_version = rota::tls::version::tls_1_3;
  c.remembered_hosts = 10;
  return c;
}

rota::task<std::string> sends_and_hears(stream from, stream to) {
  auto [reading, writing] = std::move(to).split();
  std::array<std::byte, 16> buffer;
  const result<std::size_t> put = co_await from.write(bytes_of("hello"));
  const result<void> flushed = co_await from.flush();
  const result<std::size_t> got = co_await reading.read(buffer);
  const result<std::size_t> back = co_await writing.write_all(std::span(buffer).first(got.value_or(0)));
  const result<void> finished = co_await writing.shutdown_write();
  const result<std::size_t> echoed = co_await from.read(buffer);
  EXPECT_TRUE(put.has_value() && flushed.has_value() && back.has_value() && finished.has_value());
  const result<std::size_t> end = co_await from.read(std::span(buffer).subspan(8));
  EXPECT_EQ(end.value_or(9), 0U);
  from.close();
  co_return std::string(reinterpret_cast<const char*>(buffer.data()), echoed.value_or(0));
}

rota::task<std::string> talks() {
  const rota::tls::server_config config = of_server();
  const rota::tls::server server(config);
  const rota::tls::client client(of_client(config));
  auto [near, far] = rota::io::duplex(65536);
  auto [c, s] =
      co_await rota::when_all(client.connect(std::move(near), "example.com"), server.accept(std::move(far)));
  if (!c.has_value()) co_return c.error().message();
  if (!s.has_value()) co_return s.error().message();
  EXPECT_EQ(s->host(), "example.com");
  EXPECT_EQ(c->alpn(), "echo");
  EXPECT_EQ(c->spoken(), rota::tls::version::tls_1_3);
  EXPECT_FALSE(c->cipher().empty());
  EXPECT_FALSE(c->is_resumed());
  EXPECT_EQ(c->peer_subject(), "CN=example.com");
  EXPECT_FALSE(c->peer_certificate().empty());
  static_cast<void>(c->below().try_read(std::span<std::byte>()));
  co_return co_await sends_and_hears(std::move(*c), std::move(*s));
}

TEST(public_api, tls_echo) { EXPECT_EQ(rota::run(talks()), "hello"); }

rota::task<std::error_code> refused(std::string host) {
  const rota::tls::server_config config = of_server();
  const rota::tls::server server(config);
  const rota::tls::client client(of_client(config));
  auto [near, far] = rota::io::duplex(65536);
  auto [c, s] = co_await rota::when_all(client.connect(std::move(near), host), server.accept(std::move(far)));
  co_return c.has_value() ? std::error_code() : c.error();
}

TEST(public_api, tls_errors_have_names) {
  EXPECT_EQ(rota::run(refused("example.org")), rota::tls::alert::unrecognized_name);
  EXPECT_EQ(rota::run(refused("127.0.0.2")), rota::tls::verify_error::address_mismatch);
  EXPECT_EQ(rota::run(refused("")), rota::tls::errc::bad_name);
  EXPECT_FALSE(rota::run(refused("::1")));
  EXPECT_STREQ(rota::tls::error_category().name(), "rota.tls");
  EXPECT_STREQ(rota::tls::alert_category().name(), "rota.tls.alert");
  EXPECT_STREQ(rota::tls::verify_category().name(), "rota.tls.verify");
  EXPECT_STREQ(rota::tls::openssl_category().name(), "openssl");
}

TEST(public_api, tls_configurations_name_what_is_wrong_with_them) {
  rota::tls::client_config c;
  c.own.push_back({.chain_file = "/nowhere/chain.pem", .key_file = "/nowhere/key.pem"});
  try {
    const rota::tls::client client(c);
    FAIL() << "there is no such file";
  } catch (const rota::tls::config_error& e) {
    EXPECT_EQ(e.field(), "client_config.own[0].chain_file");
    EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
  }
}

TEST(public_api, self_signed_tls_certificate_refuses_invalid_arguments) {
  for (const std::vector<std::string>& hosts : {std::vector<std::string>{},
                                                std::vector<std::string>{""},
                                                std::vector<std::string>{"a b"},
                                                std::vector<std::string>{"a:b"},
                                                std::vector<std::string>{"010.0.0.1"},
                                                std::vector<std::string>{"127.1"},
                                                std::vector<std::string>(101, "a.example")}) {
    EXPECT_THROW(static_cast<void>(rota::tls::self_signed(hosts, 1)), std::invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(rota::tls::self_signed({"a.example"}, 0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rota::tls::self_signed({"a.example"}, 3651)), std::invalid_argument);
}

}  // namespace
