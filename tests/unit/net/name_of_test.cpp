// Names of addresses: by the system, and by name servers, one of which belongs to the test.
#include "net/host_name.hpp"
#include "net/resolve_ares.hpp"
#include "unit/net/name_server.hpp"

#include <rota/net/name_of.hpp>
#include <rota/net/resolve.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <ostream>
#include <string>
#include <system_error>

namespace rota::test::name_of_test {
namespace {

using net::endpoint;
using net::name_options;
using net::name_source;
using net::resolve_errc;

endpoint at(const char* text) { return endpoint::parse(text).value(); }

#define ROTA_NEEDS_NAME_SERVERS() \
  if (!net::detail::can_ask_name_servers()) GTEST_SKIP() << "built without c-ares"

/// Runs `body` beside a name server of the test.
template <class F>
void beside_a_name_server(F body) {
  run([&]() -> task<> {
    name_server server;
    auto datagrams = spawn(server.answer_datagrams());
    auto asking = body(server);
    co_await std::move(asking);
    datagrams.cancel();
    const auto end = co_await datagrams.result();
    EXPECT_TRUE(end.is_cancelled());
  });
}

name_options by(const name_server& server) {
  name_options how;
  how.name_servers = {server.at()};
  return how;
}

struct row {
  const char* what;
  const char* address;
  const char* name;  // null: an error is expected
  std::error_code error = {};
};
std::ostream& operator<<(std::ostream& out, const row& r) { return out << r.what; }

class name_of_address : public ::testing::TestWithParam<row> {};

TEST_P(name_of_address, is_what_the_server_says) {
  ROTA_NEEDS_NAME_SERVERS();
  const row& r = GetParam();
  beside_a_name_server([&](name_server& server) -> task<> {
    auto asking = net::name_of(at(r.address), by(server));
    const auto got = co_await std::move(asking);
    if (r.name != nullptr) {
      EXPECT_EQ(got.value_or("none"), r.name);
    } else {
      EXPECT_EQ(got.has_value() ? std::error_code() : got.error(), r.error) << got.value_or("an error");
    }
    EXPECT_GT(server.questions(), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    name_of_address,
    ::testing::Values(row{"four", "10.20.30.1:443", "four.test"},
                      row{"six", "[fd12:3456:789a:bcde:f1e:2d3c:4b5a:6978]:1", "six.test"},
                      row{"mapped", "[::ffff:10.20.30.1]:1", "four.test"},
                      row{"unknown", "10.20.30.2:1", nullptr, resolve_errc::no_name},
                      row{"without", "10.20.30.3:1", nullptr, resolve_errc::no_name},
                      row{"broken", "10.20.30.4:1", nullptr, resolve_errc::try_again},
                      row{"cut", "10.20.30.7:1", nullptr, resolve_errc::failed},
                      row{"hostile", "10.20.30.8:1", nullptr, resolve_errc::failed},
                      row{"an_address", "10.20.30.0:1", nullptr, resolve_errc::failed}),
    [](const auto& one) { return std::string(one.param.what); });

TEST(name_of, tells_one_of_several_names) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    auto asking = net::name_of(at("10.20.30.9:1"), by(server));
    const auto got = co_await std::move(asking);
    EXPECT_TRUE(got.value_or("none") == "first.test" || got.value_or("none") == "second.test");
  });
}

TEST(name_of, waits_for_servers_that_do_not_answer_no_longer_than_asked) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    for (const char* address : {"10.20.30.5:1", "10.20.30.6:1"}) {
      name_options how = by(server);
      how.limit = 50ms;
      auto asking = net::name_of(at(address), how);
      const auto got = co_await std::move(asking);
      EXPECT_FALSE(got.has_value());
      EXPECT_EQ(got.error(), errc::timed_out) << address;
    }
  });
}

TEST(name_of, ends_at_once_when_it_is_cancelled) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    auto asking = spawn(net::name_of(at("10.20.30.5:1"), by(server)));
    while (server.questions() == 0) co_await yield();
    asking.cancel();
    const auto end = co_await asking.result();
    EXPECT_TRUE(end.is_cancelled());
  });
}

// The reverse of resolve("localhost").
TEST(name_of, this_host_asks_no_resolver) {
  run([]() -> task<> {
    name_options how;
    {
      const auto unanswered = demand(net::udp_socket::bind(endpoint::loopback_v4(0)));
      how.name_servers = {demand(unanswered.local_endpoint())};
    }
    for (const char* address : {"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"}) {
      auto asking = net::name_of(at(address), how);
      const auto got = co_await std::move(asking);
      EXPECT_EQ(got.value_or("none"), "localhost") << address;
    }
    auto asking = net::name_of(endpoint::loopback_v4(0));
    const auto got = co_await std::move(asking);
    EXPECT_EQ(got.value_or("none"), "localhost");
  });
}

// 192.0.2.0/24 is reserved for documentation: no name server has a name for it, or none answers.
TEST(name_of, by_the_system_ends_with_an_error_if_there_is_no_name) {
  run([]() -> task<> {
    name_options how;
    how.by = name_source::system;
    how.limit = 5s;
    auto asking = net::name_of(at("192.0.2.7:1"), how);
    const auto got = co_await std::move(asking);
    EXPECT_FALSE(got.has_value());
    const std::error_code why = got.error();
    EXPECT_TRUE(why == resolve_errc::no_name || why == resolve_errc::try_again || why == errc::timed_out ||
                why == resolve_errc::failed)
        << why.message();
  });
}

TEST(name_of, refuses_name_servers_that_cannot_be_asked) {
  run([]() -> task<> {
    name_options how;
    how.name_servers = {at("127.0.0.1:0")};
    auto first = net::name_of(at("10.20.30.1:1"), how);
    const auto without_port = co_await std::move(first);
    EXPECT_EQ(without_port.error(), std::errc::invalid_argument);
    how.name_servers = {at("127.0.0.1:53")};
    how.by = name_source::system;
    auto second = net::name_of(at("10.20.30.1:1"), how);
    const auto both = co_await std::move(second);
    EXPECT_EQ(both.error(), std::errc::invalid_argument);
  });
}

TEST(name_of, accepts_plain_names_only) {
  for (const char* name : {"a.test", "A-1.b_c.test", "x", "a.test."}) {
    EXPECT_TRUE(net::detail::is_plain_name(name)) << name;
  }
  for (const char* name : {"", ".", "a..b", "a b", "a;b", "a\nb", "a\x1b[2J", "a/b", "\xC3\xA4"}) {
    EXPECT_FALSE(net::detail::is_plain_name(name)) << name;
  }
  EXPECT_EQ(make_error_code(resolve_errc::no_name).message(), "the address has no name");
}

}  // namespace
}  // namespace rota::test::name_of_test
