// The meaning of a host's text, independent of the resolver.
#include "net/host_name.hpp"
#include "net/address_order.hpp"
#include "net/resolve_ares.hpp"
#include "unit/net/name_server.hpp"

#include <rota/net/resolve.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rota::test::host_name_test {
namespace {

using net::address_family;
using net::endpoint;
using net::name_source;
using net::resolve_errc;
using net::resolve_options;
using addresses = net::result<std::vector<endpoint>>;

endpoint at(const std::string& text) { return endpoint::parse(text).value(); }

/// All sources: the system, the system's servers, and a server of the test.
std::vector<resolve_options> all_sources(const name_server& server) {
  std::vector<resolve_options> all(2);
  all[1].by = name_source::system;
  if (!net::detail::can_ask_name_servers()) return all;
  all.resize(4);
  all[2].by = name_source::name_servers;
  all[3].name_servers = {server.at()};
  return all;
}

/// Calls `check` with the answer of each source for each host. No server may be asked.
template <class Check>
void from_every_source(const std::vector<std::string>& hosts, address_family family, Check check) {
  run([&]() -> task<> {
    name_server server;
    auto datagrams = spawn(server.answer_datagrams());
    for (resolve_options how : all_sources(server)) {
      how.family = family;
      for (const std::string& host : hosts) {
        auto asking = net::resolve(host, 80, how);
        const addresses got = co_await std::move(asking);
        check(host, got);
      }
    }
    EXPECT_EQ(server.questions(), 0);
    datagrams.cancel();
    const auto end = co_await datagrams.result();
    EXPECT_TRUE(end.is_cancelled());
  });
}

TEST(host_name, is_refused_when_its_last_label_is_a_number_and_it_is_no_address) {
  const std::vector<std::string> hosts{"010.0.0.1",
                                       "0177.0.0.1",
                                       "127.1",
                                       "0x7f.1",
                                       "2130706433",
                                       "1.2.3.4.5",
                                       "1.2.3.256",
                                       "a.test.1",
                                       "10.0.0.1.",
                                       "0x7F000001",
                                       "10.0.0.0x",
                                       "1.2.3.04",
                                       "0X7F.0.0.1"};
  from_every_source(hosts, address_family::any, [](const std::string& host, const addresses& got) {
    EXPECT_FALSE(got.has_value()) << host;
    if (got.has_value()) return;
    EXPECT_EQ(got.error(), resolve_errc::bad_name) << host << ": " << got.error().message();
  });
}

TEST(host_name, is_an_address_in_the_strict_dotted_form) {
  from_every_source({"10.0.0.1"}, address_family::any, [](const std::string&, const addresses& got) {
    EXPECT_TRUE(got.has_value());
    if (!got.has_value()) return;
    EXPECT_EQ(*got, std::vector<endpoint>{at("10.0.0.1:80")});
  });
}

TEST(host_name, is_refused_when_a_label_is_empty_or_too_long) {
  const std::vector<std::string> hosts{"",
                                       ".",
                                       "a..test",
                                       ".test",
                                       "a.test..",
                                       std::string(64, 'a') + ".test",
                                       std::string("a\0b", 3),
                                       std::string("127.0.0.1\0.ok.test", 18),
                                       std::string("10.0.0.1\0", 9),
                                       std::string("::1\0x", 5),
                                       std::string("fe80::1%lo\0x", 12),
                                       std::string("localhost\0", 10),
                                       std::string(254, 'a')};
  from_every_source(hosts, address_family::any, [](const std::string& host, const addresses& got) {
    EXPECT_FALSE(got.has_value()) << host;
    if (got.has_value()) return;
    EXPECT_EQ(got.error(), resolve_errc::bad_name) << host << ": " << got.error().message();
  });
}

const std::vector<std::string> local_names{
    "localhost", "LOCALHOST", "LocalHost.", "x.localhost", "a.b.LOCALHOST."};

TEST(host_name, is_the_loopback_address_when_it_is_localhost) {
  from_every_source(local_names, address_family::any, [](const std::string& host, const addresses& got) {
    EXPECT_TRUE(got.has_value()) << host << ": " << got.error().message();
    if (!got.has_value()) return;
    std::vector<std::string> said;
    for (const endpoint& each : *got) said.push_back(each.to_string());
    std::ranges::sort(said);
    EXPECT_EQ(said, (std::vector<std::string>{"127.0.0.1:80", "[::1]:80"})) << host;
  });
}

TEST(host_name, of_localhost_has_an_address_of_the_wanted_family) {
  const auto expect_only = [](const char* wanted) {
    return [wanted](const std::string& host, const addresses& got) {
      EXPECT_TRUE(got.has_value()) << host << ": " << got.error().message();
      if (!got.has_value()) return;
      EXPECT_EQ(*got, std::vector<endpoint>{at(wanted)}) << host;
    };
  };
  from_every_source(local_names, address_family::v4, expect_only("127.0.0.1:80"));
  from_every_source(local_names, address_family::v6, expect_only("[::1]:80"));
}

TEST(host_name, is_a_name_when_it_only_resembles_a_number_or_localhost) {
  for (const char* name :
       {"0x7g", "1a", "x1", "a.1.test", "0x.test", "localhost.test", "alocalhost", "localhosts"}) {
    EXPECT_TRUE(net::detail::is_well_formed(name)) << name;
    EXPECT_FALSE(net::detail::ends_in_a_number(name)) << name;
    EXPECT_FALSE(net::detail::is_localhost(name)) << name;
  }
}

// ---- the order of two families

TEST(address_order, keeps_the_order_of_each_family) {
  const std::vector<endpoint> six{at("[::1]:1"), at("[::1]:2")};
  const std::vector<endpoint> four{at("127.0.0.1:1"), at("127.0.0.1:2")};
  EXPECT_EQ(net::detail::in_one_order(six, {}), six);
  EXPECT_EQ(net::detail::in_one_order({}, four), four);
  const std::vector<endpoint> all = net::detail::in_one_order(six, four);
  ASSERT_EQ(all.size(), 4U);
  std::vector<endpoint> parts[2];
  for (const endpoint& each : all) parts[each.is_v6() ? 0 : 1].push_back(each);
  EXPECT_EQ(parts[0], six);
  EXPECT_EQ(parts[1], four);
}

// A scope that is not an interface has no route, on any machine.
TEST(address_order, begins_with_the_family_that_has_a_route) {
  const std::vector<endpoint> six{at("[fe80::1%999999]:1")};
  const std::vector<endpoint> four{at("127.0.0.1:1")};
  EXPECT_EQ(net::detail::in_one_order(six, four).front(), four.front());
}

}  // namespace
}  // namespace rota::test::host_name_test
