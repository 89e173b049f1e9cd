// The matrix of causes (cause_matrix.hpp): TLS, over memory.
#include "api/cause_matrix.hpp"

#include <rota/io/duplex.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

using stream = tls::stream<io::duplex_end>;

/// Both sides of a connection. After a cancelled read or write the next run uses the connection again: the
/// read has taken nothing, and the write can be repeated.
struct connected {
  stream near;
  stream far;
};

tls::server_config of_server() {
  tls::server_config c;
  c.identities.push_back(tls::self_signed({"example.com"}, 1));
  return c;
}
tls::client_config of_client(const tls::server_config& server) {
  tls::client_config c;
  c.ca_pem = server.identities.front().chain_pem;
  c.trust_system = tls::system_trust::never;
  return c;
}

}  // namespace

struct world {
  world() : world(of_server()) {}
  explicit world(const tls::server_config& config) : server(config), client(of_client(config)) {
    runtime rt(with_workers(1));
    // The two works of a scope, and one that a limit has not unwound yet.
    for (int i = 0; i < 4; ++i) free.push_back(rt.block_on(connect()));
  }

  std::unique_ptr<connected> lend() {
    const std::lock_guard lock(mutex);
    std::unique_ptr<connected> one = std::move(free.back());
    free.pop_back();
    return one;
  }
  void take_back(std::unique_ptr<connected> one) {
    const std::lock_guard lock(mutex);
    free.push_back(std::move(one));
  }

  tls::server server;
  tls::client client;

 private:
  task<std::unique_ptr<connected>> connect() {
    auto [near, far] = io::duplex(1024);
    auto [c, s] =
        co_await when_all(client.connect(std::move(near), "example.com"), server.accept(std::move(far)));
    co_return std::make_unique<connected>(std::move(c).value(), std::move(s).value());
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<connected>> free;
};

namespace {

/// A connection of the world, for as long as this lives.
class lent {
 public:
  explicit lent(world& of) : of_(&of), one_(of.lend()) {}
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;
  ~lent() { of_->take_back(std::move(one_)); }
  [[nodiscard]] stream& near() const noexcept { return one_->near; }

 private:
  world* of_;
  std::unique_ptr<connected> one_;
};

task<int> a_read(run_of_one& r) {
  const lent here(r.around);
  std::array<std::byte, 8> bytes{};
  const auto size = co_await here.near().read(bytes);
  co_return size.has_value() ? 1 : 2;
}
task<int> writes(run_of_one& r) {
  const lent here(r.around);
  const std::array<std::byte, 512> bytes{};
  for (;;) {
    const auto size = co_await here.near().write(bytes);
    if (!size.has_value()) co_return 1;
  }
}
task<int> a_handshake_of_a_client(run_of_one& r) {
  auto [near, far] = io::duplex(4096);
  auto peer = spawn(keeps(std::move(far)));
  auto connecting = r.around.client.connect(std::move(near), "example.com");
  const auto end = co_await std::move(connecting);
  co_return end.has_value() ? 1 : 2;
}
task<int> a_handshake_of_a_server(run_of_one& r) {
  auto [near, far] = io::duplex(4096);
  auto peer = spawn(keeps(std::move(near)));
  auto accepting = r.around.server.accept(std::move(far));
  const auto end = co_await std::move(accepting);
  co_return end.has_value() ? 1 : 2;
}
/// Both sides, until the cause comes: handshakes one after the other.
task<int> handshakes(run_of_one& r) {
  for (;;) {
    auto [near, far] = io::duplex(4096);
    auto [c, s] = co_await when_all(r.around.client.connect(std::move(near), "example.com"),
                                    r.around.server.accept(std::move(far)));
    if (!c.has_value() || !s.has_value()) co_return 1;
  }
}

constexpr way ways[] = {
    {"a read of TLS", a_read},
    {"writes to TLS", writes},
    {"a handshake of a client", a_handshake_of_a_client},
    {"a handshake of a server", a_handshake_of_a_server},
    {"handshakes of both sides", handshakes},
};

TEST_P(cause_matrix, one_cause_has_one_report) {
  world around;
  expect_one_cause_one_report(GetParam(), around, ways);
}
INSTANTIATE_TEST_SUITE_P(boundaries, cause_matrix, ::testing::ValuesIn(boundaries), name_of);

TEST(cause_of_a_shutdown, has_one_report) {
  world around;
  expect_one_report_of_a_shutdown(around, ways);
}

TEST(document_of_causes, lists_the_tested_ways_to_wait_of_tls) {
  expect_ways_in_the_document("cause_matrix_tls_test", ways);
}

}  // namespace
}  // namespace rota::test
