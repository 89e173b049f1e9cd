// The classes of addresses: first and last address of each range, and their neighbours.
#include <string>

#include <gtest/gtest.h>

#include <rota/net/endpoint.hpp>

namespace rota::net {
namespace {

struct class_row {
  const char* address;
  const char* classes;  // u: unspecified, o: loopback, p: private, l: link-local, m: multicast
};

constexpr class_row v4_rows[] = {
    {"0.0.0.0", "u"},         {"0.0.0.1", ""},     {"9.255.255.255", ""},   {"10.0.0.0", "p"},
    {"10.255.255.255", "p"},  {"11.0.0.0", ""},    {"126.255.255.255", ""}, {"127.0.0.0", "o"},
    {"127.255.255.255", "o"}, {"128.0.0.0", ""},   {"169.253.255.255", ""}, {"169.254.0.0", "l"},
    {"169.254.255.255", "l"}, {"169.255.0.0", ""}, {"172.15.255.255", ""},  {"172.16.0.0", "p"},
    {"172.31.255.255", "p"},  {"172.32.0.0", ""},  {"192.167.255.255", ""}, {"192.168.0.0", "p"},
    {"192.168.255.255", "p"}, {"192.169.0.0", ""}, {"223.255.255.255", ""}, {"224.0.0.0", "m"},
    {"239.255.255.255", "m"}, {"240.0.0.0", ""},   {"255.255.255.255", ""},
};
constexpr class_row v6_rows[] = {
    {"::", "u"},
    {"::1", "o"},
    {"::2", ""},
    {"::7f00:1", ""},
    {"::fffe:127.0.0.1", ""},
    {"fbff::1", ""},
    {"fc00::", "p"},
    {"fdff::1", "p"},
    {"fe00::1", ""},
    {"fe7f::1", ""},
    {"fe80::", "l"},
    {"febf::1", "l"},
    {"fec0::1", ""},
    {"feff::1", ""},
    {"ff00::", "m"},
    {"ffff::1", "m"},
};

std::string classes_of(const std::string& host) {
  const auto at = endpoint::parse(host + ":1");
  if (!at.has_value()) return "not an address";
  std::string made;
  if (at->is_unspecified()) made += 'u';
  if (at->is_loopback()) made += 'o';
  if (at->is_private()) made += 'p';
  if (at->is_link_local()) made += 'l';
  if (at->is_multicast()) made += 'm';
  return made;
}

TEST(EndpointClasses, hold_for_v4_and_for_v4_mapped_addresses) {
  for (const class_row& row : v4_rows) {
    EXPECT_EQ(classes_of(row.address), row.classes) << row.address;
    EXPECT_EQ(classes_of("[::ffff:" + std::string(row.address) + "]"), row.classes)
        << "mapped " << row.address;
  }
}

TEST(EndpointClasses, hold_for_v6_addresses) {
  for (const class_row& row : v6_rows) {
    EXPECT_EQ(classes_of("[" + std::string(row.address) + "]"), row.classes) << row.address;
  }
}

TEST(EndpointClasses, parse_refuses_a_nul_wherever_it_stands) {
  using namespace std::string_literals;
  ASSERT_TRUE(endpoint::parse("[fe80::1%lo]:80").has_value());
  for (const std::string& text : {"127.0.0.1\0:80"s,
                                  "127.0.0.1\0.ok.test:80"s,
                                  "[::1\0x]:80"s,
                                  "[fe80::1%lo\0x]:80"s,
                                  "[fe80::1%1\0]:80"s,
                                  "127.0.0.1:80\0"s,
                                  "\000127.0.0.1:80"s}) {
    const auto got = endpoint::parse(text);
    EXPECT_FALSE(got.has_value()) << got->to_string();
    if (!got.has_value()) {
      EXPECT_EQ(got.error(), std::errc::invalid_argument);
    }
  }
}

TEST(EndpointClasses, v6_factories_equal_what_parse_makes) {
  EXPECT_EQ(endpoint::loopback_v6(80), endpoint::parse("[::1]:80"));
  EXPECT_EQ(endpoint::any_v6(0), endpoint::parse("[::]:0"));
}

}  // namespace
}  // namespace rota::net
