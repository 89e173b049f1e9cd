// Shared by the tests of TLS: clients, servers, and connections between them in memory.
#pragma once

#include "support/certificates.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/io/duplex.hpp>
#include <rota/testing/runtime.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/error.hpp>
#include <rota/tls/server.hpp>
#include <rota/when.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace rota::test {

using io::duplex_end;
using io::result;
using tls_stream = tls::stream<duplex_end>;

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns a configuration that trusts the root of the tests.
inline tls::client_config trusting() {
  tls::client_config c;
  c.ca_pem = root().pem();
  return c;
}
inline tls::server_config serving(const tls::identity& who) {
  tls::server_config s;
  s.identities.push_back(who);
  return s;
}
inline tls::server_config serving_example() { return serving(of_example_com()); }

/// The results of the two ends of a handshake.
struct ends {
  result<tls_stream> client;
  result<tls_stream> server;

  [[nodiscard]] std::error_code of_client() const {
    return client.has_value() ? std::error_code() : client.error();
  }
  [[nodiscard]] std::error_code of_server() const {
    return server.has_value() ? std::error_code() : server.error();
  }
};

/// Reads until the end. Returns the error, if there is one.
inline task<std::error_code> read_all(tls_stream& from, std::string& into) {
  std::byte buffer[1000];
  for (;;) {
    const result<std::size_t> got = co_await from.read(buffer);
    if (!got.has_value()) co_return got.error();
    if (*got == 0) co_return std::error_code();
    into += text_of(std::span(buffer).first(*got));
  }
}

inline constexpr std::size_t wide = 65536;

inline task<ends> shaken(tls::client client,
                         tls::server server,
                         std::string host = "example.com",
                         std::size_t capacity = wide) {
  auto [near, far] = io::duplex(capacity);
  auto [c, s] = co_await when_all(client.connect(std::move(near), host), server.accept(std::move(far)));
  co_return ends{std::move(c), std::move(s)};
}

/// Like block_on(). g++ 12 takes the outcome of such a task for uninitialised.
inline ends made_by(testing::runtime& rt, task<ends> work) {
  std::optional<ends> made;
  const auto keep = [](task<ends> from, std::optional<ends>& to) -> task<void> {
    to.emplace(co_await std::move(from));
  };
  rt.block_on(keep(std::move(work), made));
  return std::move(*made);
}

/// Runs a handshake on a testing runtime, which throws if every task waits.
inline ends shake(const tls::client_config& c,
                  const tls::server_config& s,
                  const std::string& host = "example.com",
                  std::size_t capacity = wide) {
  testing::runtime rt;
  return made_by(rt, shaken(tls::client(c), tls::server(s), host, capacity));
}

/// A connection for a test of streams.
struct tls_pair {
  tls_stream near;
  tls_stream far;
};
inline task<tls_pair> connected(std::size_t capacity = wide) {
  const tls::client client(trusting());
  const tls::server server(serving_example());
  ends both = co_await shaken(client, server, "example.com", capacity);
  if (!both.client.has_value()) throw std::system_error(both.client.error());
  if (!both.server.has_value()) throw std::system_error(both.server.error());
  co_return tls_pair{std::move(*both.client), std::move(*both.server)};
}

}  // namespace rota::test
