// A name server for tests, on a loopback port. The requested name determines its answer.
#pragma once

#include "unit/net/net_support.hpp"

#include <rota/net/udp_socket.hpp>
#include <rota/time.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::test {

/// Names, each with ".test": "v4", "v6", "both", "none" (no such name), "nothing" (no address), "broken"
/// (SERVFAIL), "refused", "silent" (no answer), "garbage", "cut" (a truncated answer), "other" (an answer to
/// another question, then a right one), "alias", "large" (by TCP alone), "only4" and "only6" (no answer for
/// the
/// other family), "late6" (the IPv6 answer comes some time after the IPv4 answer). Addresses: see names_of().
class name_server {
 public:
  name_server() : name_server(bound()) {}

  [[nodiscard]] net::endpoint at() const noexcept { return at_; }
  [[nodiscard]] int questions() const noexcept { return questions_; }
  [[nodiscard]] int by_tcp() const noexcept { return by_tcp_; }

  task<> answer_datagrams() {
    std::array<std::byte, 512> buffer;
    for (;;) {
      net::endpoint from;
      const net::result<std::size_t> size = co_await udp_.recv_from(buffer, from);
      if (!size.has_value()) co_return;
      ++questions_;
      const std::span<const std::byte> asked = std::span(buffer).first(*size);
      for (const bytes& each : answers(asked, false)) {
        if (name_of(asked).text == "late6.test." && is_for_six(asked)) {
          late_ = each;
          continue;
        }
        const net::result<std::size_t> sent = co_await udp_.send_to(each, from);
        EXPECT_EQ(sent.value_or(0), each.size());
      }
      if (late_.empty() || is_for_six(asked)) continue;
      co_await sleep_for(std::chrono::milliseconds(20));
      const bytes late = std::exchange(late_, {});
      const net::result<std::size_t> sent = co_await udp_.send_to(late, from);
      EXPECT_EQ(sent.value_or(0), late.size());
    }
  }

  task<> answer_streams() {
    for (;;) {
      net::result<net::tcp_stream> one = co_await tcp_.accept();
      if (!one.has_value()) co_return;
      std::array<std::byte, 512> buffer;
      // One question, which one read receives as a whole: it is small, and the client writes it at once.
      const net::result<std::size_t> size = co_await one->read(buffer);
      if (size.value_or(0) < 3) continue;
      ++by_tcp_;
      for (const bytes& each : answers(std::span<const std::byte>(buffer).first(*size).subspan(2), true)) {
        bytes framed;
        put(framed, each.size());
        framed.insert(framed.end(), each.begin(), each.end());
        // Sends two parts, so that the client reads the first one before the second exists.
        const std::span<const std::byte> all(framed);
        const net::result<std::size_t> first = co_await one->write_all(all.first(7));
        EXPECT_TRUE(first.has_value());
        co_await yield();
        const net::result<std::size_t> rest = co_await one->write_all(all.subspan(7));
        EXPECT_TRUE(rest.has_value());
      }
    }
  }

 private:
  struct both {
    net::udp_socket udp;
    net::tcp_listener tcp;
  };
  explicit name_server(both of)
      : udp_(std::move(of.udp)), tcp_(std::move(of.tcp)), at_(demand(udp_.local_endpoint())) {}

  /// Binds one port for UDP and TCP; retries if another process has the TCP port.
  static both bound() {
    for (;;) {
      net::udp_socket udp = demand(net::udp_socket::bind(net::endpoint::loopback_v4(0)));
      net::result<net::tcp_listener> tcp = net::tcp_listener::bind(demand(udp.local_endpoint()));
      if (tcp.has_value()) return {std::move(udp), std::move(*tcp)};
      if (tcp.error() != std::errc::address_in_use) demand(std::move(tcp));
    }
  }

  using bytes = std::vector<std::byte>;
  static constexpr std::uint16_t type_a = 1;
  static constexpr std::uint16_t type_cname = 5;
  static constexpr std::uint16_t type_ptr = 12;
  static constexpr std::uint16_t type_aaaa = 28;

  static void put(bytes& to, std::size_t two) {
    to.push_back(static_cast<std::byte>(two >> 8 & 0xFF));
    to.push_back(static_cast<std::byte>(two & 0xFF));
  }
  static std::uint16_t two_at(std::span<const std::byte> from, std::size_t at) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[at]) << 8 |
                                      std::to_integer<unsigned>(from[at + 1]));
  }

  struct record {
    std::uint16_t type;
    bytes data;
    std::size_t of = 0xC00C;  // a pointer to the question's name
  };
  static record address(std::uint16_t type, std::uint8_t last) {
    bytes data(type == type_a ? 4 : 16);
    data.front() = static_cast<std::byte>(type == type_a ? 10 : 0xFD);
    data.back() = static_cast<std::byte>(last);
    return {type, std::move(data)};
  }

  /// `flags`: the flags of the answer, including its code.
  static bytes message(std::span<const std::byte> question,
                       std::uint16_t id,
                       std::size_t flags,
                       const std::vector<record>& all) {
    bytes made;
    put(made, id);
    put(made, flags);
    put(made, 1);
    put(made, all.size());
    put(made, 0);
    put(made, 0);
    made.insert(made.end(), question.begin(), question.end());
    for (const record& each : all) {
      put(made, each.of);
      put(made, each.type);
      put(made, 1);
      put(made, 0);
      put(made, 60);
      put(made, each.data.size());
      made.insert(made.end(), each.data.begin(), each.data.end());
    }
    return made;
  }

  static constexpr std::size_t head = 12;
  struct asked_name {
    std::string text;
    std::size_t end;  // the position of its last byte
  };
  static asked_name name_of(std::span<const std::byte> asked) {
    std::string name;
    std::size_t at = head;
    for (auto length = std::to_integer<std::size_t>(asked[at]); length != 0;
         length = std::to_integer<std::size_t>(asked[at])) {
      name += text_of(asked.subspan(at + 1, length)) + ".";
      at += 1 + length;
    }
    return {std::move(name), at};
  }
  static bool is_for_six(std::span<const std::byte> asked) {
    return two_at(asked, name_of(asked).end + 1) == type_aaaa;
  }

  /// Returns a record with the name "a.b", as labels with the root.
  static record named(std::string_view text) {
    bytes data;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('.', at), text.size());
      data.push_back(static_cast<std::byte>(end - at));
      for (const char c : text.substr(at, end - at)) data.push_back(static_cast<std::byte>(c));
      at = end + 1;
    }
    data.push_back(std::byte{0});
    return {type_ptr, std::move(data)};
  }

  /// Answers for 10.20.30.0 to 10.20.30.9, by the last number, and for one IPv6 address; refuses others.
  template <class Say>
  static std::vector<bytes> names_of(std::string_view reversed, const Say& say) {
    constexpr std::size_t good = 0x8180;
    if (reversed == "8.7.9.6.a.5.b.4.c.3.d.2.e.1.f.0.e.d.c.b.a.9.8.7.6.5.4.3.2.1.d.f.ip6.arpa.")
      return {say(good, {named("six.test")})};
    if (reversed.substr(1) != ".30.20.10.in-addr.arpa.") return {say(good | 5)};
    switch (reversed.front()) {
      case '0': return {say(good, {named("127.0.0.1")})};
      case '1': return {say(good, {named("four.test")})};
      case '2': return {say(good | 3)};
      case '3': return {say(good)};
      case '4': return {say(good | 2)};
      case '5': return {};
      case '6': return {bytes(40, std::byte{0xFF})};
      case '7': return {say(good, {record{type_ptr, {std::byte{60}, std::byte{'a'}}}})};
      case '8': return {say(good, {named("a;reboot.test")})};
      default: return {say(good, {named("first.test"), named("second.test")})};
    }
  }

  static std::vector<bytes> answers(std::span<const std::byte> asked, bool by_stream) {
    const auto [name, at] = name_of(asked);
    const std::uint16_t type = two_at(asked, at + 1);
    const std::span<const std::byte> question = asked.subspan(head, at + 5 - head);
    const std::uint16_t id = two_at(asked, 0);
    constexpr std::size_t good = 0x8180;
    const auto say = [&](std::size_t flags, const std::vector<record>& all = {}) {
      return message(question, id, flags, all);
    };
    if (type == type_ptr) return names_of(name, say);
    const bool four = type == type_a;
    const bool six = type == type_aaaa;
    if (name == "silent.test." || (name == "only4.test." && six) || (name == "only6.test." && four))
      return {};
    if (name == "only4.test." || name == "only6.test." || name == "late6.test.")
      return {say(good, {address(type, 1)})};
    if (name == "none.test.") return {say(good | 3)};
    if (name == "broken.test.") return {say(good | 2)};
    if (name == "refused.test.") return {say(good | 5)};
    if (name == "garbage.test.") return {bytes(40, std::byte{0xFF})};
    if (name == "cut.test.") {
      bytes one = say(good, {address(type, 1)});
      one.resize(one.size() - 3);
      return {one};
    }
    if (name == "other.test.") {
      const auto wrong = static_cast<std::uint16_t>(id + 1);
      return {message(question, wrong, good, {address(type, 66)}), say(good, {address(type, 1)})};
    }
    if (name == "v4.test." && four)
      return {say(good, {address(type, 1), address(type, 2), address(type, 1)})};
    if (name == "v6.test." && six) return {say(good, {address(type, 1)})};
    if (name == "both.test.") return {say(good, {address(type, 1)})};
    if (name == "alias.test." && four) {
      // The second name's offset: 12 bytes of header, the question, and 12 bytes of record before its data.
      bytes other{std::byte{4}, std::byte{'r'}, std::byte{'e'}, std::byte{'a'}, std::byte{'l'}, std::byte{0}};
      record real = address(type, 7);
      real.of = 0xC000 | (head + question.size() + 12);
      return {say(good, {record{type_cname, other}, real})};
    }
    if (name == "large.test." && four) {
      constexpr std::size_t cut = 0x0200;
      if (!by_stream) return {say(good | cut)};
      std::vector<record> all;
      for (std::uint8_t i = 1; i <= 100; ++i) all.push_back(address(type, i));
      return {say(good, all)};
    }
    return {say(good)};
  }

  net::udp_socket udp_;
  net::tcp_listener tcp_;
  net::endpoint at_;
  bytes late_;
  std::atomic<int> questions_ = 0;  // the test reads it concurrently
  std::atomic<int> by_tcp_ = 0;
};

}  // namespace rota::test
