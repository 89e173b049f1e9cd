// Shared by the tests of sockets.
#pragma once

#include "unit/runtime/runtime_support.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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

/// Runs `body` as a task on one worker.
template <class F>
void on_one_worker(F body) {
  runtime rt(with_workers(1));
  rt.spawn(body).join();
}

}  // namespace rota::test
