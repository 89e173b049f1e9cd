// TLS in a coroutine job of a pool: its row in the table "In a coroutine job" in docs/pool.md.
#include <rota/io/duplex.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>
#include <rota/when.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <utility>

namespace rota::pool {
namespace {

/// A client and a server of one job: returns what the server reads.
task<std::string> talks() {
  tls::server_config settings;
  settings.identities.push_back(tls::self_signed({"example.com"}, 1));
  tls::client_config trusted;
  trusted.ca_pem = settings.identities.front().chain_pem;
  const tls::server server(settings);
  const tls::client client(trusted);
  auto [near, far] = io::duplex(65536);
  auto [ours, theirs] =
      co_await when_all(client.connect(std::move(near), "example.com"), server.accept(std::move(far)));
  if (!ours.has_value()) co_return ours.error().message();
  if (!theirs.has_value()) co_return theirs.error().message();
  const auto sent = co_await ours->write_all("hello");
  const auto flushed = co_await ours->flush();
  if (!sent.has_value() || !flushed.has_value()) co_return "not sent";
  std::array<std::byte, 16> bytes{};
  const auto got = co_await theirs->read(bytes);
  if (!got.has_value()) co_return got.error().message();
  co_return std::string(reinterpret_cast<const char*>(bytes.data()), *got);
}

std::string row_of_the_document() {
  std::ifstream file(ROTA_TEST_SOURCE_DIR "/docs/pool.md");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("| `tls::client`")) {
  }
  return line;
}

TEST(regress_pool_coroutine_tls, the_row_of_the_document_is_what_the_pool_does) {
  thread_pool pool({.max_threads = 2});
  EXPECT_EQ(pool.submit(talks()).fetch().value(), "hello");
  const std::string row = row_of_the_document();
  EXPECT_NE(row.find("`io::duplex` | works |"), std::string::npos) << row;
}

}  // namespace
}  // namespace rota::pool
