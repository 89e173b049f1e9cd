// Regression: resolve() and connect() timed out if a name server answers for A and never for AAAA.
#include <rota/net/resolve.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/runtime.hpp>

#include <gtest/gtest.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

/// Calls for other families than IPv4 block until it is set. A runtime that ends leaves them behind.
std::atomic<bool>& is_over() {
  static auto* const flag = new std::atomic<bool>(false);
  return *flag;
}

struct loopback {
  addrinfo info{};
  sockaddr_in address{};
};

}  // namespace
}  // namespace rota::test

// Replace the functions of the C library.
extern "C" int getaddrinfo(const char* /*host*/,
                           const char* /*service*/,
                           const addrinfo* hints,
                           addrinfo** into) {
  *into = nullptr;
  if (hints->ai_family != AF_INET) {
    rota::test::is_over().wait(false);
    return EAI_AGAIN;
  }
  auto* const made = new rota::test::loopback;
  made->address.sin_family = AF_INET;
  made->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  made->info.ai_family = AF_INET;
  made->info.ai_addr = reinterpret_cast<sockaddr*>(&made->address);
  made->info.ai_addrlen = sizeof made->address;
  *into = &made->info;
  return 0;
}
extern "C" void freeaddrinfo(addrinfo* what) { delete reinterpret_cast<rota::test::loopback*>(what); }

namespace rota::test {
namespace {

TEST(system_resolver, succeeds_when_only_one_address_family_answers) {
  run([]() -> task<> {
    net::resolve_options how;
    how.by = net::name_source::system;
    auto asking = net::resolve("a.test", 80, how);
    const auto found = co_await std::move(asking);
    EXPECT_TRUE(found.has_value()) << found.error().message();
    if (found.has_value()) {
      EXPECT_EQ(*found, std::vector<net::endpoint>{net::endpoint::loopback_v4(80)});
    }
    auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0)).value();
    const std::uint16_t port = listener.local_endpoint().value().port();
    net::connect_options to;
    to.by = net::name_source::system;
    auto connecting = net::connect("a.test", port, to);
    const auto stream = co_await std::move(connecting);
    EXPECT_TRUE(stream.has_value()) << stream.error().message();
    is_over() = true;
    is_over().notify_all();
  });
}

}  // namespace
}  // namespace rota::test
