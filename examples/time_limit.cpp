// A limit that moves: a connection is given up after 30 seconds without a byte. Each byte restarts the 30
// seconds.
#include <rota/io/concepts.hpp>
#include <rota/io/duplex.hpp>
#include <rota/testing/runtime.hpp>
#include <rota/time.hpp>
#include <rota/time_limit.hpp>
#include <rota/when.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>

using namespace std::chrono_literals;

namespace {

/// Counts the received bytes until the end of the stream.
template <rota::io::stream S>
rota::task<> serve(S& connection, const rota::time_limit& idle, std::size_t& received) {
  std::array<std::byte, 64> buffer;
  for (;;) {
    const rota::io::result<std::size_t> got = co_await connection.read(buffer);
    if (!got.has_value() || *got == 0) co_return;
    received += *got;
    if (!idle.reset(30s)) co_return;  // the limit has expired meanwhile
  }
}

/// Sends a byte every 20 seconds for two minutes, then nothing more.
template <rota::io::stream S>
rota::task<> talk(S connection) {
  const std::array<std::byte, 1> byte{};
  for (int i = 0; i < 6; ++i) {
    const rota::io::result<std::size_t> sent = co_await connection.write(std::span(byte));
    if (!sent.has_value()) co_return;
    co_await rota::sleep_for(20s);
  }
  co_await rota::sleep_for(1h);
}

rota::task<bool> limits() {
  auto [ours, theirs] = rota::io::duplex(64);
  const rota::time_limit idle(30s);
  std::size_t received = 0;
  const auto until_idle = [&]() -> rota::task<bool> {
    const auto end = co_await rota::timeout(idle, serve(ours, idle, received));
    co_return !end.has_value();
  };
  const auto first = co_await rota::when_any(until_idle(), talk(std::move(theirs)));
  std::printf("%zu bytes, and then silence\n", received);
  co_return first.index() == 0 && first.get<0>() && received == 6;
}

}  // namespace

// Virtual time: the example does not take minutes.
int main() {
  rota::testing::runtime rt;
  const auto began = rt.now();
  const bool good = rt.block_on(limits()) && rt.now() - began == 100s + 30s;
  return good ? 0 : 1;
}
