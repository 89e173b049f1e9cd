// The parts of an endpoint, its order, and its use as a key.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include <rota/net/endpoint.hpp>

namespace rota::net {
namespace {

constexpr std::array<std::uint8_t, 4> four{10, 1, 2, 3};
constexpr std::array<std::uint8_t, 16> six{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};

std::vector<std::uint8_t> bytes_of(const endpoint& at) {
  const auto all = at.address();
  return {all.begin(), all.end()};
}

TEST(EndpointParts, are_those_of_the_bytes_that_it_was_made_from) {
  const endpoint a = endpoint::v4(four, 80);
  EXPECT_EQ(a.to_string(), "10.1.2.3:80");
  EXPECT_EQ(bytes_of(a), std::vector<std::uint8_t>(four.begin(), four.end()));
  EXPECT_EQ(a, endpoint::parse("10.1.2.3:80").value());
  const endpoint b = endpoint::v6(six, 443, 7);
  EXPECT_EQ(b.to_string(), "[fe80::9%7]:443");
  EXPECT_EQ(bytes_of(b), std::vector<std::uint8_t>(six.begin(), six.end()));
  EXPECT_EQ(b.scope(), 7U);
  EXPECT_EQ(b, endpoint::parse("[fe80::9%7]:443").value());
  EXPECT_EQ(endpoint::v6(six, 443).scope(), 0U);
}

TEST(EndpointParts, stay_the_same_with_another_port) {
  EXPECT_EQ(endpoint::v6(six, 443, 7).with_port(1), endpoint::v6(six, 1, 7));
  EXPECT_EQ(endpoint::v4(four, 80).with_port(0), endpoint::v4(four, 0));
}

TEST(EndpointParts, of_a_mapped_address_are_those_of_the_v4_address) {
  EXPECT_EQ(endpoint::parse("[::ffff:10.1.2.3]:80").value().unmapped(), endpoint::v4(four, 80));
  EXPECT_EQ(endpoint::v4(four, 80).unmapped(), endpoint::v4(four, 80));
  EXPECT_EQ(endpoint::v6(six, 443, 7).unmapped(), endpoint::v6(six, 443, 7));
}

TEST(EndpointParts, have_an_order) {
  const std::array rising{
      "0.0.0.0:2", "10.1.2.3:80", "10.1.2.3:81", "10.1.2.4:1", "[::]:1", "[fe80::9%1]:9", "[fe80::9%2]:8"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(endpoint::parse(rising[i]).value() <=> endpoint::parse(rising[j]).value(), i <=> j)
          << rising[i] << " and " << rising[j];
    }
  }
}

TEST(EndpointParts, make_an_endpoint_usable_as_a_map_key) {
  std::unordered_set<endpoint> all;
  std::map<endpoint, int> ordered;
  for (std::uint16_t port = 0; port < 1000; ++port) {
    EXPECT_TRUE(all.insert(endpoint::v4(four, port)).second);
    EXPECT_TRUE(all.insert(endpoint::v6(six, port)).second);
    ordered[endpoint::v4(four, port)] = port;
  }
  EXPECT_EQ(all.size(), 2000U);
  EXPECT_TRUE(all.contains(endpoint::parse("10.1.2.3:999").value()));
  EXPECT_FALSE(all.contains(endpoint::v6(six, 5, 1)));
  EXPECT_EQ(ordered.at(endpoint::v4(four, 77)), 77);
}

}  // namespace
}  // namespace rota::net
