// The system reports each option as it was set; values out of range are refused before a system call.
#include "unit/net/net_support.hpp"

#include <rota/net/tcp_socket.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <cstring>
#include <optional>

namespace rota::test::tcp_options_test {
namespace {

using net::address_family;
using net::endpoint;
using net::keepalive;
using net::result;
using net::tcp_listener;
using net::tcp_socket;
using net::tcp_stream;

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &length), 0);
  return value;
}
linger linger_of(int fd) {
  linger how{};
  socklen_t length = sizeof how;
  EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_LINGER, &how, &length), 0);
  return how;
}
void expect_keepalive(int fd) {
  EXPECT_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 7);
  EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 3);
  EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 2);
}
constexpr keepalive often{.idle = std::chrono::seconds(7), .interval = std::chrono::seconds(3), .count = 2};

TEST(tcp_options, of_a_stream_are_what_they_were_set_to) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    const int fd = near.native_handle();
    for (const bool on : {true, false}) {
      demand(near.set_nodelay(on));
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_NODELAY), on ? 1 : 0);
      demand(near.set_cork(on));
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_CORK), on ? 1 : 0);
      demand(near.set_quickack(on));
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_QUICKACK), on ? 1 : 0);
    }
    demand(near.set(often));
    expect_keepalive(fd);
    demand(near.set(std::nullopt));
    EXPECT_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    demand(near.set_linger(std::chrono::seconds(5)));
    EXPECT_TRUE(linger_of(fd).l_onoff == 1 && linger_of(fd).l_linger == 5);
    demand(near.set_linger(std::nullopt));
    EXPECT_EQ(linger_of(fd).l_onoff, 0);
    demand(near.reset_on_close());
    EXPECT_TRUE(linger_of(fd).l_onoff == 1 && linger_of(fd).l_linger == 0);
    demand(near.set_ttl(9));
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_TTL), 9);
    demand(near.set_traffic_class(46U << 2U));
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_TOS), 46 << 2);
    demand(near.set_user_timeout(1234ms));
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 1234);
    demand(near.set_receive_buffer(20'000));
    demand(near.set_send_buffer(30'000));
    EXPECT_EQ(demand(near.receive_buffer()), 40'000) << "Linux doubles";
    EXPECT_EQ(demand(near.send_buffer()), 60'000);
    EXPECT_FALSE(near.take_error());
  });
}

TEST(tcp_options, out_of_range_are_refused_and_change_nothing) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    const auto refused = [](const result<void>& did) {
      return !did.has_value() && did.error() == std::errc::invalid_argument;
    };
    for (const auto bad :
         {std::chrono::seconds(0), std::chrono::seconds(32768), std::chrono::seconds::max()}) {
      EXPECT_TRUE(refused(near.set(keepalive{.idle = bad})));
      EXPECT_TRUE(refused(near.set(keepalive{.interval = bad})));
    }
    EXPECT_TRUE(refused(near.set(keepalive{.count = 0})));
    EXPECT_TRUE(refused(near.set(keepalive{.count = 128})));
    EXPECT_EQ(option(near.native_handle(), SOL_SOCKET, SO_KEEPALIVE), 0);
    EXPECT_TRUE(refused(near.set_linger(std::chrono::seconds(-1))));
    EXPECT_TRUE(refused(near.set_linger(std::chrono::seconds::max())));
    EXPECT_TRUE(refused(near.set_ttl(0)) && refused(near.set_ttl(256)));
    EXPECT_TRUE(refused(near.set_traffic_class(256)));
    EXPECT_EQ(option(near.native_handle(), IPPROTO_IP, IP_TOS), 0);
    EXPECT_TRUE(refused(near.set_user_timeout(-1ms)) &&
                refused(near.set_user_timeout(std::chrono::milliseconds::max())));
    EXPECT_TRUE(refused(near.set_receive_buffer(0)) && refused(near.set_send_buffer(-5)));
  });
}

TEST(tcp_options, of_the_builder_apply_to_the_listener_and_to_accepted_streams) {
  run([]() -> task<> {
    tcp_socket building = demand(tcp_socket::open(address_family::v4));
    building.reuse_address(true).reuse_port(true).receive_buffer(20'000).send_buffer(30'000).nodelay(true);
    building.set(often)
        .linger(std::chrono::seconds(5))
        .ttl(9)
        .traffic_class(40)
        .user_timeout(1234ms)
        .bind_device("lo");
    building.bind(endpoint::loopback_v4(0));
    EXPECT_FALSE(building.error()) << building.error().message();
    const endpoint at = demand(building.local_endpoint());
    tcp_listener listener = demand(std::move(building).listen());
    EXPECT_EQ(demand(listener.local_endpoint()), at);
    const int fd = listener.native_handle();
    EXPECT_EQ(option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
    EXPECT_EQ(option(fd, SOL_SOCKET, SO_REUSEPORT), 1);
    char device[16] = {};
    socklen_t length = sizeof device;
    EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &length), 0);
    EXPECT_STREQ(device, "lo");
    EXPECT_EQ(option(fd, IPPROTO_IP, IP_TOS), 40);
    const result<tcp_listener> shares =
        tcp_listener::bind(at, {.backlog = 5, .reuse_address = true, .reuse_port = true});
    EXPECT_TRUE(shares.has_value());

    tcp_socket connecting = demand(tcp_socket::open(address_family::v4));
    connecting.nodelay(true).bind(endpoint::loopback_v4(0));
    const endpoint from = demand(connecting.local_endpoint());
    auto client = co_await std::move(connecting).connect(at);
    EXPECT_TRUE(client.has_value());
    EXPECT_EQ(demand(client->local_endpoint()), from);
    auto server = co_await timeout(100ms, listener.accept());  // the other listener may have got it
    if (!server.has_value()) co_return;
    const int accepted = server->native_handle();
    EXPECT_EQ(option(accepted, IPPROTO_TCP, TCP_NODELAY), 1);
    expect_keepalive(accepted);
    EXPECT_EQ(demand(server->receive_buffer()), 40'000);
  });
}

TEST(tcp_options, of_the_builder_report_the_first_failure_at_the_end) {
  run([]() -> task<> {
    EXPECT_EQ(tcp_socket::open(address_family::any).error(), std::errc::invalid_argument);
    tcp_socket building = demand(tcp_socket::open(address_family::v6));
    building.v6_only(true).ttl(0).bind_device("an interface that cannot be").nodelay(true);
    EXPECT_EQ(building.error(), std::errc::invalid_argument);
    EXPECT_EQ(option(building.native_handle(), IPPROTO_IPV6, IPV6_V6ONLY), 1);
    EXPECT_EQ(option(building.native_handle(), IPPROTO_TCP, TCP_NODELAY), 0)
        << "nothing is done after a failure";
    const std::size_t files = open_files();
    const auto refused = co_await std::move(building).connect(demand(endpoint::parse("[::1]:9")));
    EXPECT_TRUE(!refused.has_value() && refused.error() == std::errc::invalid_argument);
    EXPECT_EQ(open_files(), files - 1) << "and the descriptor goes";

    for (const std::string_view name : {std::string_view("lo\0x", 4), std::string_view("\0", 1)}) {
      tcp_socket confined = demand(tcp_socket::open(address_family::v4));
      EXPECT_EQ(confined.bind_device(name).error(), std::errc::invalid_argument) << name.size();
    }

    tcp_socket another = demand(tcp_socket::open(address_family::v4));
    const auto backlog = std::move(another).listen(0);
    EXPECT_TRUE(!backlog.has_value() && backlog.error() == std::errc::invalid_argument);
  });
}

}  // namespace
}  // namespace rota::test::tcp_options_test
