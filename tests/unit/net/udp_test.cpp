// Datagrams: whole, truncated, in batches, to groups; and errors that are reported later.
#include "unit/net/net_support.hpp"

#include <rota/net/udp_socket.hpp>
#include <rota/when.hpp>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <optional>
#include <vector>

namespace rota::test::udp_test {
namespace {

using net::datagram;
using net::endpoint;
using net::result;
using net::udp_socket;

udp_socket bound() { return demand(udp_socket::bind(endpoint::loopback_v4(0))); }

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &length), 0);
  return value;
}

TEST(udp, datagrams_carry_the_address_of_their_sender) {
  run([]() -> task<> {
    udp_socket one = bound();
    udp_socket two = bound();
    const endpoint to_two = demand(two.local_endpoint());
    std::array<std::byte, 64> buffer;
    endpoint from;
    for (const std::string_view text : {"hello", "", "x"}) {
      const result<std::size_t> sent = co_await one.send_to(bytes_of(text), to_two);
      EXPECT_EQ(sent.value_or(99), text.size());
      const result<std::size_t> seen = co_await two.peek_from(buffer, from);
      EXPECT_EQ(seen.value_or(99), text.size());
      const result<std::size_t> got = co_await two.recv_from(buffer, from);
      EXPECT_EQ(got.value_or(99), text.size());
      EXPECT_EQ(text_of(std::span(buffer).first(*got)), text);
      EXPECT_EQ(from, demand(one.local_endpoint()));
    }
    const result<std::size_t> none = two.try_recv(buffer);
    EXPECT_TRUE(!none.has_value() && none.error() == std::errc::operation_would_block);
  });
}

TEST(udp, binds_to_an_address_given_as_text) {
  run([]() -> task<> {
    auto four = net::udp_socket::bind("127.0.0.1:0");
    EXPECT_TRUE(four.has_value() && four->local_endpoint().value().is_loopback());
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    EXPECT_TRUE(listener.has_value() && listener->local_endpoint().value().port() != 0);
    const std::error_code refused = net::endpoint::parse("localhost:0").error();
    EXPECT_EQ(net::udp_socket::bind("localhost:0").error(), refused) << "no name is looked up";
    EXPECT_EQ(net::tcp_listener::bind("localhost:0").error(), refused);
    EXPECT_FALSE(net::tcp_listener::bind(std::string_view()).has_value());
    co_return;
  });
}

TEST(udp, a_cancelled_receive_consumes_no_datagram) {
  on_one_worker([]() -> task<> {
    udp_socket one = bound();
    udp_socket two = bound();
    const endpoint to_two = demand(two.local_endpoint());
    std::array<std::byte, 64> buffer;
    auto waits = [](udp_socket& at, std::span<std::byte> into) -> task<std::size_t> {
      const result<std::size_t> got = co_await at.recv(into);
      co_return got.value_or(0);
    };
    auto reading = spawn(waits(two, buffer));
    co_await yield();
    reading.cancel();
    const auto end = co_await reading.result();
    EXPECT_TRUE(end.is_cancelled());
    auto again = spawn(waits(two, buffer));
    co_await yield();
    const result<std::size_t> sent = co_await one.send_to(bytes_of("abc"), to_two);
    EXPECT_TRUE(sent.has_value());
    const std::size_t size = co_await again;
    EXPECT_EQ(size, 3U);
    const result<void> ready = co_await timeout(1ms, two.readable());
    EXPECT_TRUE(!ready.has_value() && ready.error() == make_error_code(errc::timed_out));
    const result<void> room = co_await two.writable();
    EXPECT_TRUE(room.has_value());
  });
}

TEST(udp, a_connected_socket_has_one_peer) {
  run([]() -> task<> {
    udp_socket one = bound();
    udp_socket two = bound();
    udp_socket stranger = bound();
    const endpoint to_one = demand(one.local_endpoint());
    EXPECT_EQ(one.peer_endpoint().error(), std::errc::not_connected);
    demand(one.connect(demand(two.local_endpoint())));
    EXPECT_EQ(demand(one.peer_endpoint()), demand(two.local_endpoint()));
    const result<std::size_t> ignored = co_await stranger.send_to(bytes_of("from a stranger"), to_one);
    EXPECT_TRUE(ignored.has_value());
    const result<std::size_t> answer = co_await two.send_to(bytes_of("yes"), to_one);
    EXPECT_TRUE(answer.has_value());
    std::array<std::byte, 64> buffer;
    const result<std::size_t> got = co_await one.recv(buffer);
    EXPECT_EQ(got.value_or(0), 3U) << "what the stranger sent has not come";
    EXPECT_EQ(one.try_send(bytes_of("x")).value_or(0), 1U);
    const result<std::size_t> there = co_await two.recv(buffer);
    EXPECT_EQ(there.value_or(0), 1U);
    demand(one.disconnect());
    EXPECT_EQ(one.peer_endpoint().error(), std::errc::not_connected);
    const result<std::size_t> nowhere = co_await one.send(bytes_of("x"));
    EXPECT_TRUE(!nowhere.has_value() && nowhere.error() == std::errc::destination_address_required);
  });
}

TEST(udp, a_disconnected_socket_keeps_its_local_address) {
  run([]() -> task<> {
    udp_socket sender = bound();
    for (const endpoint& at :
         {endpoint::loopback_v4(0), endpoint::any_v4(0), demand(endpoint::parse("[::1]:0"))}) {
      udp_socket one = demand(udp_socket::bind(at));
      udp_socket peer = demand(udp_socket::bind(at.is_v6() ? at : endpoint::loopback_v4(0)));
      const endpoint before = demand(one.local_endpoint());
      demand(one.connect(demand(peer.local_endpoint())));
      demand(one.disconnect());
      EXPECT_EQ(demand(one.local_endpoint()), before);
      demand(one.disconnect());
      EXPECT_EQ(demand(one.local_endpoint()), before);
      if (at.is_v6()) continue;
      const endpoint there = endpoint::loopback_v4(before.port());
      const result<std::size_t> sent = co_await sender.send_to(bytes_of("x"), there);
      EXPECT_TRUE(sent.has_value());
      std::array<std::byte, 16> buffer;
      const result<std::size_t> got = co_await one.recv(buffer);
      EXPECT_EQ(got.value_or(0), 1U);
    }
  });
}

TEST(udp, an_unreachable_peer_is_reported_once) {
  run([]() -> task<> {
    udp_socket one = bound();
    endpoint nobody;
    {
      const udp_socket gone = bound();
      nobody = demand(gone.local_endpoint());
    }
    demand(one.connect(nobody));
    const result<std::size_t> sent = co_await one.send(bytes_of("x"));
    EXPECT_TRUE(sent.has_value());
    std::array<std::byte, 64> buffer;
    const result<std::size_t> refused = co_await timeout(10s, one.recv(buffer));
    EXPECT_TRUE(!refused.has_value() && refused.error() == std::errc::connection_refused);
    EXPECT_FALSE(one.take_error()) << "once";
    const result<std::size_t> again = co_await one.send(bytes_of("x"));
    EXPECT_TRUE(again.has_value());
  });
}

TEST(udp, a_datagram_larger_than_the_buffer_is_truncated) {
  run([]() -> task<> {
    udp_socket one = bound();
    udp_socket two = bound();
    const endpoint to_two = demand(two.local_endpoint());
    for (int i = 0; i < 2; ++i) {
      const result<std::size_t> sent = co_await one.send_to(bytes_of("0123456789"), to_two);
      EXPECT_TRUE(sent.has_value());
    }
    std::array<std::byte, 4> small;
    const result<std::size_t> cut = co_await two.recv(small);
    EXPECT_EQ(cut.value_or(0), 4U);
    std::array<datagram, 1> one_of{};
    one_of[0].bytes = small;
    const result<std::size_t> count = co_await two.recv_batch(one_of);
    EXPECT_EQ(count.value_or(0), 1U);
    EXPECT_TRUE(one_of[0].is_cut && one_of[0].size == 4U);
  });
}

TEST(udp, batches_carry_many) {
  run([]() -> task<> {
    udp_socket one = bound();
    udp_socket two = bound();
    demand(two.set_receive_buffer(1 << 20));
    const endpoint to_two = demand(two.local_endpoint());
    constexpr std::size_t all = 100;
    std::vector<std::string> texts;
    std::vector<datagram> out(all);
    for (std::size_t i = 0; i < all; ++i) texts.push_back(std::string(i, 'x') + std::to_string(i));
    for (std::size_t i = 0; i < all; ++i) {
      out[i].bytes = std::as_writable_bytes(std::span(texts[i]));
      out[i].peer = to_two;
    }
    std::size_t sent = 0;
    while (sent < all) {
      const result<std::size_t> n = co_await one.send_batch(std::span(out).subspan(sent));
      EXPECT_TRUE(n.has_value() && *n > 0 && *n <= 64);
      sent += n.value_or(all);
    }
    std::vector<std::array<std::byte, 200>> room(all);
    std::vector<datagram> in(all);
    for (std::size_t i = 0; i < all; ++i) in[i].bytes = room[i];
    std::size_t got = 0;
    while (got < all) {
      const result<std::size_t> n = co_await two.recv_batch(std::span(in).subspan(got));
      EXPECT_TRUE(n.has_value() && *n > 0);
      got += n.value_or(all);
    }
    for (std::size_t i = 0; i < all; ++i) {
      EXPECT_EQ(text_of(in[i].bytes.first(in[i].size)), texts[i]);
      EXPECT_TRUE(!in[i].is_cut && in[i].peer == demand(one.local_endpoint()));
    }
    const result<std::size_t> no_room = co_await two.recv_batch(std::span<datagram>());
    EXPECT_EQ(no_room.value_or(9), 0U);
    const result<std::size_t> nothing = co_await one.send_batch(std::span<const datagram>());
    EXPECT_EQ(nothing.value_or(9), 0U);
    demand(one.connect(to_two));
    const result<std::size_t> to_peer = co_await one.send_batch(std::span(out).first(3));
    EXPECT_EQ(to_peer.value_or(0), 3U);
  });
}

TEST(udp, a_multicast_group_receives_what_is_sent_to_it) {
  const unsigned lo = ::if_nametoindex("lo");
  run(
      [](unsigned by) -> task<> {
        udp_socket listener = demand(udp_socket::bind(endpoint::any_v4(0), {.reuse_address = true}));
        const endpoint group = demand(
            endpoint::parse("239.255.77.77:" + std::to_string(demand(listener.local_endpoint()).port())));
        demand(listener.join(group, by));
        udp_socket sender = bound();
        demand(sender.set_multicast_interface(by));
        demand(sender.set_multicast_loop(true));
        demand(sender.set_multicast_ttl(0));
        std::array<std::byte, 16> buffer;
        const result<std::size_t> sent = co_await sender.send_to(bytes_of("all"), group);
        EXPECT_TRUE(sent.has_value()) << sent.error().message();
        const result<std::size_t> got = co_await timeout(10s, listener.recv(buffer));
        EXPECT_EQ(got.value_or(0), 3U);
        demand(listener.leave(group, by));
        const result<void> again = listener.leave(group, by);
        EXPECT_FALSE(again.has_value()) << "it had left";
        const result<void> no_group = listener.join(endpoint::loopback_v4(1), by);
        EXPECT_TRUE(!no_group.has_value() && no_group.error() == std::errc::invalid_argument);
      },
      lo);
}

TEST(udp, options_are_what_they_were_set_to) {
  run([]() -> task<> {
    udp_socket four = demand(udp_socket::bind(
        endpoint::loopback_v4(0), {.reuse_address = true, .reuse_port = true, .broadcast = true}));
    int fd = four.native_handle();
    EXPECT_TRUE(option(fd, SOL_SOCKET, SO_REUSEADDR) == 1 && option(fd, SOL_SOCKET, SO_REUSEPORT) == 1);
    EXPECT_EQ(option(fd, SOL_SOCKET, SO_BROADCAST), 1);
    demand(four.set_broadcast(false));
    EXPECT_EQ(option(fd, SOL_SOCKET, SO_BROADCAST), 0);
    demand(four.set_ttl(9));
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_TTL), 9);
    demand(four.set_traffic_class(41));
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_TOS), 41);
    demand(four.set_multicast_loop(false));
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_MULTICAST_LOOP), 0);
    demand(four.set_multicast_ttl(3));
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_MULTICAST_TTL), 3);
    demand(four.set_receive_buffer(20'000));
    EXPECT_EQ(demand(four.receive_buffer()), 40'000);
    demand(four.set_send_buffer(20'000));
    EXPECT_EQ(demand(four.send_buffer()), 40'000);
    EXPECT_EQ(four.set_ttl(0).error(), std::errc::invalid_argument);
    EXPECT_EQ(four.set_traffic_class(256).error(), std::errc::invalid_argument);
    EXPECT_EQ(four.set_multicast_ttl(256).error(), std::errc::invalid_argument);
    EXPECT_EQ(four.set_receive_buffer(0).error(), std::errc::invalid_argument);

    result<udp_socket> six = udp_socket::bind(endpoint::parse("[::1]:0").value(), {.v6_only = true});
    if (!six.has_value()) co_return;  // a machine without IPv6
    fd = six->native_handle();
    EXPECT_EQ(option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    demand(six->set_ttl(9));
    EXPECT_EQ(option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS), 9);
    demand(six->set_traffic_class(41));
    EXPECT_EQ(option(fd, IPPROTO_IPV6, IPV6_TCLASS), 41);
    udp_socket both = demand(udp_socket::bind(endpoint::parse("[::]:0").value(), {.v6_only = false}));
    demand(both.set_traffic_class(42));
    EXPECT_EQ(option(both.native_handle(), IPPROTO_IPV6, IPV6_TCLASS), 42);
    EXPECT_EQ(option(both.native_handle(), IPPROTO_IP, IP_TOS), 42) << "it may carry IPv4, too";
    demand(six->set_multicast_loop(false));
    EXPECT_EQ(option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP), 0);
    demand(six->set_multicast_ttl(3));
    EXPECT_EQ(option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS), 3);
  });
}

TEST(udp, a_broadcast_must_be_allowed) {
  run([]() -> task<> {
    udp_socket one = bound();
    const endpoint all = demand(endpoint::parse("127.255.255.255:9"));
    const result<std::size_t> refused = co_await one.send_to(bytes_of("x"), all);
    EXPECT_TRUE(!refused.has_value() && refused.error() == std::errc::permission_denied);
    demand(one.set_broadcast(true));
    const result<std::size_t> sent = co_await one.send_to(bytes_of("x"), all);
    EXPECT_TRUE(sent.has_value());
  });
}

TEST(udp, halves_share_a_socket_that_can_be_adopted_and_released) {
  run([]() -> task<> {
    const std::size_t files = open_files();
    {
      udp_socket one = bound();
      const endpoint at = demand(one.local_endpoint());
      const int fd = demand(std::move(one).release());
      udp_socket again = demand(udp_socket::adopt(fd));
      EXPECT_EQ(demand(again.local_endpoint()), at);
      auto [in, out] = std::move(again).split();
      const result<std::size_t> sent = co_await out.send_to(bytes_of("me"), at);
      EXPECT_TRUE(sent.has_value());
      std::array<std::byte, 16> buffer;
      endpoint from;
      const result<std::size_t> got = co_await in.recv_from(buffer, from);
      EXPECT_TRUE(got.value_or(0) == 2U && from == at);
      const int tcp = ::socket(AF_INET, SOCK_STREAM, 0);
      EXPECT_EQ(udp_socket::adopt(tcp).error(), std::errc::wrong_protocol_type);
      ::close(tcp);
    }
    EXPECT_EQ(open_files(), files);
  });
}

}  // namespace
}  // namespace rota::test::udp_test
