// A user's program with TLS: over memory, so that it needs no network.
#include <rota/io/duplex.hpp>
#include <rota/rota.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include <cstdio>
#include <utility>

namespace {

rota::task<bool> meet() {
  rota::tls::server_config mine;
  mine.identities.push_back(rota::tls::self_signed({"localhost"}, 1));
  rota::tls::client_config trusting;
  trusting.ca_pem = mine.identities.front().chain_pem;
  const rota::tls::server server(mine);
  const rota::tls::client client(trusting);
  auto [near, far] = rota::io::duplex(65536);
  auto [c, s] =
      co_await rota::when_all(client.connect(std::move(near), "localhost"), server.accept(std::move(far)));
  co_return c.has_value() && s.has_value();
}

}  // namespace

int main() {
  const bool met = rota::run(meet());
  std::puts(met ? "tls: both have met" : "tls: failed");
  return met ? 0 : 1;
}
