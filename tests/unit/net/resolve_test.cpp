// Addresses of names: by the system, and by name servers, one of which belongs to the test.
#include "net/name_sources.hpp"
#include "net/resolve_ares.hpp"
#include "unit/net/name_server.hpp"

#include <rota/net/resolve.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

namespace rota::test::resolve_test {
namespace {

using net::address_family;
using net::endpoint;
using net::name_source;
using net::resolve_errc;
using net::resolve_options;

endpoint at(const char* text) { return endpoint::parse(text).value(); }

net::result<std::vector<endpoint>> resolved(const std::string& host, const resolve_options& how = {}) {
  std::optional<net::result<std::vector<endpoint>>> got;
  run([&]() -> task<> {
    auto asking = net::resolve(host, 80, how);
    got = co_await std::move(asking);
  });
  return *got;
}

// ---- what is no name, and the system

task<void> numbers_need_no_question() {
  auto four = co_await net::resolve("10.1.2.3", 80);
  EXPECT_TRUE(four.has_value());
  if (four.has_value()) {
    EXPECT_EQ(*four, std::vector<endpoint>{at("10.1.2.3:80")});
  }
  auto six = co_await net::resolve("::1", 443);
  EXPECT_TRUE(six.has_value());
  if (six.has_value()) {
    EXPECT_EQ(*six, std::vector<endpoint>{at("[::1]:443")});
  }
  net::resolve_options only_six;
  only_six.family = net::address_family::v6;
  const auto other = co_await net::resolve("10.1.2.3", 80, only_six);
  EXPECT_FALSE(other.has_value());
  if (!other.has_value()) {
    EXPECT_EQ(other.error(), net::resolve_errc::no_address);
    EXPECT_EQ(other.error().message(), "the host has no address of this family");
  }
}

TEST(resolve, numbers_need_no_question) {
  runtime rt(with_workers(1));
  rt.block_on(numbers_need_no_question());
}

task<void> no_names() {
  for (const std::string& host : {std::string(), std::string(300, 'a'), std::string("a\0b", 3)}) {
    const auto refused = co_await net::resolve(host, 1);
    EXPECT_FALSE(refused.has_value());
    if (!refused.has_value()) {
      EXPECT_EQ(refused.error(), net::resolve_errc::bad_name);
    }
  }
}

TEST(resolve, refuses_invalid_names_without_a_question) {
  runtime rt(with_workers(1));
  rt.block_on(no_names());
}

TEST(resolve, refuses_name_servers_that_cannot_be_asked) {
  resolve_options how;
  how.name_servers = {at("127.0.0.1:0")};
  EXPECT_EQ(resolved("a.test", how).error(), std::errc::invalid_argument);
  how.name_servers = {at("127.0.0.1:53")};
  how.by = name_source::system;
  EXPECT_EQ(resolved("a.test", how).error(), std::errc::invalid_argument);
}

TEST(resolve, resolves_localhost_by_every_name_source) {
  for (const name_source by : {name_source::automatic, name_source::system, name_source::name_servers}) {
    if (by == name_source::name_servers && !net::detail::can_ask_name_servers()) continue;
    resolve_options how;
    how.by = by;
    how.family = address_family::v4;
    const auto got = resolved("localhost", how);
    ASSERT_TRUE(got.has_value()) << got.error().message();
    EXPECT_EQ(got->front(), at("127.0.0.1:80")) << static_cast<int>(by);
  }
}

// ---- where the system looks

struct sources_row {
  const char* name;
  const char* text;
  bool are_simple;
};
std::ostream& operator<<(std::ostream& out, const sources_row& r) { return out << r.name; }

class name_sources : public ::testing::TestWithParam<sources_row> {};

TEST_P(name_sources, are_simple_if_hosts_lists_only_files_and_dns_without_actions) {
  EXPECT_EQ(net::detail::only_files_and_name_servers(GetParam().text), GetParam().are_simple);
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    name_sources,
    ::testing::Values(
        sources_row{"nothing", "", true},
        sources_row{"debian", "passwd: files systemd\nhosts:          files dns\nnetworks: files\n", true},
        sources_row{"no_end_of_line", "hosts: dns", true},
        sources_row{"nobody_says_where", "passwd: compat\n", true},
        sources_row{"none_at_all", "hosts:\n", true},
        sources_row{"mdns", "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", false},
        sources_row{"systemd", "hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n", false},
        sources_row{"an_action", "hosts: files [SUCCESS=continue] dns\n", false},
        sources_row{"a_comment", "hosts: files # mdns4\n", true},
        sources_row{"a_line_that_is_a_comment", "# hosts: ldap\n hosts :\tfiles\r\n", true},
        sources_row{"the_first_counts", "hosts: files\nhosts: ldap\n", true},
        sources_row{"another_name", "ghosts: ldap\nhosts x: ldap\n", true}),
    [](const auto& one) { return std::string(one.param.name); });

// ---- name servers

#define ROTA_NEEDS_NAME_SERVERS() \
  if (!net::detail::can_ask_name_servers()) GTEST_SKIP() << "built without c-ares"

/// Runs `body` beside a name server of the test.
template <class F>
void beside_a_name_server(F body) {
  run([&]() -> task<> {
    name_server server;
    auto datagrams = spawn(server.answer_datagrams());
    auto streams = spawn(server.answer_streams());
    auto asking = body(server);
    co_await std::move(asking);
    datagrams.cancel();
    streams.cancel();
    const auto one = co_await datagrams.result();
    const auto two = co_await streams.result();
    EXPECT_TRUE(one.is_cancelled() && two.is_cancelled());
  });
}

resolve_options by(const name_server& server) {
  resolve_options how;
  how.name_servers = {server.at()};
  return how;
}

struct answer_row {
  const char* name;
  address_family family;
  std::vector<const char*> addresses;  // none: an error is expected
  resolve_errc error = resolve_errc::failed;
};
std::ostream& operator<<(std::ostream& out, const answer_row& r) { return out << r.name; }

class name_server_answers : public ::testing::TestWithParam<answer_row> {};

TEST_P(name_server_answers, become_addresses_or_errors) {
  ROTA_NEEDS_NAME_SERVERS();
  const answer_row& row = GetParam();
  beside_a_name_server([&](name_server& server) -> task<> {
    resolve_options how = by(server);
    how.family = row.family;
    auto asking = net::resolve(std::string(row.name) + ".test", 443, how);
    auto got = co_await std::move(asking);
    if (row.addresses.empty()) {
      EXPECT_EQ(got.error(), row.error) << got.error().message();
      co_return;
    }
    EXPECT_TRUE(got.has_value()) << got.error().message();
    if (!got.has_value()) co_return;
    std::vector<std::string> said;
    for (const endpoint& each : *got) said.push_back(each.to_string());
    std::vector<std::string> expected(row.addresses.begin(), row.addresses.end());
    // The order is that of RFC 6724, which depends on this machine's routes.
    std::sort(said.begin(), said.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(said, expected);
  });
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    name_server_answers,
    ::testing::Values(answer_row{"v4", address_family::v4, {"10.0.0.1:443", "10.0.0.2:443"}},
                      answer_row{"v6", address_family::any, {"[fd00::1]:443"}},
                      answer_row{"both", address_family::any, {"10.0.0.1:443", "[fd00::1]:443"}},
                      answer_row{"alias", address_family::v4, {"10.0.0.7:443"}},
                      answer_row{"other", address_family::v4, {"10.0.0.1:443"}},
                      answer_row{"none", address_family::any, {}, resolve_errc::not_found},
                      answer_row{"nothing", address_family::any, {}, resolve_errc::no_address},
                      answer_row{"v4", address_family::v6, {}, resolve_errc::no_address},
                      answer_row{"broken", address_family::v4, {}, resolve_errc::try_again},
                      // c-ares asks the next server, and at the end reports that none has answered.
                      answer_row{"refused", address_family::v4, {}, resolve_errc::try_again}),
    [](const auto& one) { return std::to_string(one.index) + "_" + one.param.name; });

TEST(name_servers, are_asked_by_tcp_when_the_answer_is_large) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    resolve_options how = by(server);
    how.family = address_family::v4;
    auto asking = net::resolve("large.test", 1, how);
    const auto got = co_await std::move(asking);
    EXPECT_TRUE(got.has_value());
    EXPECT_EQ(got.has_value() ? got->size() : 0, 100U);
    EXPECT_EQ(server.by_tcp(), 1);
  });
}

TEST(name_servers, that_do_not_answer_are_waited_for_no_longer_than_asked) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    for (const char* name : {"silent.test", "garbage.test"}) {
      resolve_options how = by(server);
      how.limit = 50ms;
      auto asking = net::resolve(name, 1, how);
      const auto got = co_await std::move(asking);
      EXPECT_TRUE(!got.has_value());
      EXPECT_EQ(got.error(), errc::timed_out) << name << ": " << got.error().message();
    }
  });
}

TEST(name_servers, that_send_a_truncated_answer_have_not_answered) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    resolve_options how = by(server);
    how.family = address_family::v4;
    how.limit = 200ms;
    auto asking = net::resolve("cut.test", 1, how);
    const auto got = co_await std::move(asking);
    EXPECT_FALSE(got.has_value());
  });
}

TEST(name_servers, that_are_unreachable_give_an_error) {
  ROTA_NEEDS_NAME_SERVERS();
  run([]() -> task<> {
    resolve_options how;
    {
      const auto nobody = demand(net::udp_socket::bind(endpoint::loopback_v4(0)));
      how.name_servers = {demand(nobody.local_endpoint())};
    }
    auto asking = net::resolve("v4.test", 1, how);
    const auto got = co_await std::move(asking);
    EXPECT_TRUE(!got.has_value());
    EXPECT_EQ(got.error(), resolve_errc::try_again) << got.error().message();
  });
}

TEST(name_servers, are_tried_one_after_the_other) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    resolve_options how = by(server);
    {
      const auto nobody = demand(net::udp_socket::bind(endpoint::loopback_v4(0)));
      how.name_servers.insert(how.name_servers.begin(), demand(nobody.local_endpoint()));
    }
    auto asking = net::resolve("both.test", 1, how);
    const auto got = co_await std::move(asking);
    EXPECT_TRUE(got.has_value());
    EXPECT_EQ(got.has_value() ? got->size() : 0, 2U);
  });
}

TEST(name_servers, leave_no_socket_open_when_the_question_is_cancelled) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    const std::size_t before = open_files();
    constexpr int each = 2;  // one for each address family
    for (int asked = server.questions() + each; asked <= 10 * each; asked += each) {
      auto asking = spawn(net::resolve("silent.test", 1, by(server)));
      while (server.questions() < asked) co_await yield();
      EXPECT_GT(open_files(), before);
      asking.cancel();
      const auto end = co_await asking.result();
      EXPECT_TRUE(end.is_cancelled());
    }
    EXPECT_EQ(open_files(), before);
  });
}

TEST(name_servers, are_asked_many_things_at_once) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    std::vector<join_handle<net::result<std::vector<endpoint>>>> all;
    for (int i = 0; i < 100; ++i) all.push_back(spawn(net::resolve("both.test", 1, by(server))));
    for (auto& each : all) {
      const auto got = co_await each;
      EXPECT_TRUE(got.has_value());
      EXPECT_EQ(got.has_value() ? got->size() : 0, 2U);
    }
  });
}

TEST(name_servers, are_asked_by_connect) {
  ROTA_NEEDS_NAME_SERVERS();
  beside_a_name_server([](name_server& server) -> task<> {
    net::connect_options how;
    how.name_servers = {server.at()};
    auto connecting = net::connect("none.test", 1, how);
    const auto got = co_await std::move(connecting);
    EXPECT_TRUE(!got.has_value());
    EXPECT_EQ(got.error(), resolve_errc::not_found);
  });
}

}  // namespace
}  // namespace rota::test::resolve_test
