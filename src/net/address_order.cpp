#include "net/address_order.hpp"

#include "base/sys/files.hpp"
#include "base/sys/sockets.hpp"

#include <netinet/in.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <tuple>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

/// An IPv6 address, or an IPv4 address mapped to IPv6.
using wide_bytes = std::array<std::uint8_t, 16>;

struct policy {
  wide_bytes prefix;
  unsigned bits;
  int precedence;
  int label;
};

/// RFC 6724, section 2.1: the longest prefix first.
constexpr policy policies[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, 50, 0},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96, 35, 4},
    {{}, 96, 1, 3},
    {{0x20, 0x01}, 32, 5, 5},
    {{0x20, 0x02}, 16, 30, 2},
    {{0x3F, 0xFE}, 16, 1, 12},
    {{0xFE, 0xC0}, 10, 1, 11},
    {{0xFC}, 7, 3, 13},
    {{}, 0, 40, 1},
};

bool begins_with(const wide_bytes& address, const policy& p) noexcept {
  const unsigned whole = p.bits / 8;
  if (!std::equal(p.prefix.begin(), p.prefix.begin() + whole, address.begin())) return false;
  const unsigned rest = p.bits % 8;
  return rest == 0 || ((address[whole] ^ p.prefix[whole]) >> (8U - rest)) == 0;
}

const policy& policy_of(const wide_bytes& address) noexcept {
  return *std::ranges::find_if(policies, [&](const policy& each) { return begins_with(address, each); });
}

/// Returns the scope of an address: RFC 6724, sections 3.1 and 3.2.
int scope_of(const wide_bytes& address) noexcept {
  constexpr int link_local = 2;
  constexpr int site_local = 5;
  constexpr int global = 14;
  if (begins_with(address, policies[1])) {
    const bool is_near = address[12] == 127 || (address[12] == 169 && address[13] == 254);
    return is_near ? link_local : global;
  }
  if (address[0] == 0xFF) return address[1] & 0x0F;
  if (begins_with(address, policies[0])) return link_local;
  if (address[0] != 0xFE) return global;
  if ((address[1] & 0xC0) == 0x80) return link_local;
  return (address[1] & 0xC0) == 0xC0 ? site_local : global;
}

wide_bytes wide_of(const sockaddr_storage& address) noexcept {
  wide_bytes made{};
  if (address.ss_family == AF_INET6) {
    std::memcpy(made.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, made.size());
    return made;
  }
  made[10] = made[11] = 0xFF;
  std::memcpy(made.data() + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  return made;
}

/// Returns the source address from which this host would send to `to`, or nothing if it has no route.
std::optional<wide_bytes> source_for(const sockaddr_storage& to, std::size_t size) noexcept {
  const sys::result<int> fd = sys::datagram_socket(to.ss_family);
  if (!fd.has_value()) return std::nullopt;
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  sys::result<void> step =
      sys::connect(*fd, reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(size));
  if (step.has_value()) step = sys::local_address(*fd, &from, &length);
  sys::close(*fd);
  if (!step.has_value()) return std::nullopt;
  return wide_of(from);
}

/// The results of the rules of in_one_order(), in their order. The address with the smaller rank is tried
/// first.
using rank = std::array<int, 5>;

rank rank_of(const endpoint& of) noexcept {
  sockaddr_storage native{};
  const std::size_t size = of.to_native(&native);
  const wide_bytes to = wide_of(native);
  const policy& mine = policy_of(to);
  const std::optional<wide_bytes> from = source_for(native, size);
  const bool same_scope = from.has_value() && scope_of(*from) == scope_of(to);
  const bool same_label = from.has_value() && policy_of(*from).label == mine.label;
  return {from.has_value() ? 0 : 1, same_scope ? 0 : 1, same_label ? 0 : 1, -mine.precedence, scope_of(to)};
}

struct ranked {
  endpoint address;
  rank key;
  std::size_t position;  // before the sort: equal addresses keep their order
};

std::vector<ranked> all_ranked(const std::vector<endpoint>& of) {
  std::vector<ranked> made;
  for (const endpoint& each : of) made.push_back({each, rank_of(each), 0});
  return made;
}

}  // namespace

std::vector<endpoint> in_one_order(const std::vector<endpoint>& six, const std::vector<endpoint>& four) {
  if (six.empty() || four.empty()) return six.empty() ? four : six;
  // Sorted anew, not merged: c-ares has sorted each list at another moment, when the routes may have been
  // different. If two are equal, IPv6 is first.
  std::vector<ranked> all = all_ranked(six);
  for (const ranked& each : all_ranked(four)) all.push_back(each);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].position = i;
  std::ranges::sort(all, [](const ranked& a, const ranked& b) {
    return std::tie(a.key, a.position) < std::tie(b.key, b.position);
  });
  std::vector<endpoint> made;
  for (const ranked& each : all) made.push_back(each.address);
  return made;
}

}  // namespace rota::net::detail
