// Shared by the tests of sockets.
#pragma once

#include "unit/runtime/runtime_support.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::test {

inline std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns the value; throws the error, which is not expected.
template <class T>
T demand(net::result<T> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  if constexpr (!std::is_void_v<T>) return std::move(*got);
}

struct tcp_pair {
  net::tcp_stream near;
  net::tcp_stream far;
};

inline task<tcp_pair> connected() {
  net::tcp_listener listener = demand(net::tcp_listener::bind(net::endpoint::loopback_v4(0)));
  auto near = co_await net::tcp_stream::connect(demand(listener.local_endpoint()));
  auto far = co_await listener.accept();
  co_return tcp_pair{demand(std::move(near)), demand(std::move(far))};
}

/// Returns when the peer's socket has all that was written to `by`, or has no room for the rest. The system
/// may deliver it after the call has returned. Gives up after a second.
inline task<> at_rest(const net::tcp_stream& by) {
  for (int round = 0; round < 1000; ++round) {
    int kept = 0;
    int unsent = 0;
    EXPECT_EQ(::ioctl(by.native_handle(), SIOCOUTQ, &kept), 0);  // in this order
    EXPECT_EQ(::ioctl(by.native_handle(), SIOCOUTQNSD, &unsent), 0);
    if (kept == unsent) co_return;
    co_await sleep_for(std::chrono::milliseconds(1));
  }
}

/// Writes until both sockets are full, and stay full.
inline task<> fill_up(net::tcp_stream& to) {
  const std::vector<std::byte> much(100'000);
  while (to.try_write(much).has_value()) {
    while (to.try_write(much).has_value()) {
    }
    co_await at_rest(to);
  }
}

/// Runs `body` as a task on one worker.
template <class F>
void on_one_worker(F body) {
  runtime rt(with_workers(1));
  rt.spawn(body).join();
}

}  // namespace rota::test
