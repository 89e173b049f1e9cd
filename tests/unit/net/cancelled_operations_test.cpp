// A cancelled operation has no effect, at any point of the cancellation.
#include "unit/net/net_support.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/unix_signal.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <array>
#include <csignal>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::test::cancelled_operations_test {
namespace {

using net::result;
using net::tcp_listener;
using net::tcp_stream;

/// A task that cancels itself and runs until it must yield: the cancellation ends the last operation of that
/// turn.
struct victim {
  std::optional<join_handle<void>> self;
  int done = 0;
};

task<void> cancel_after_a_fresh_start(victim& v) {
  co_await yield();
  v.self->cancel();
}

class at_once final : public leaf {
 public:
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  void await_resume() const noexcept {}
};

struct connected {
  tcp_stream near;
  tcp_stream far;
};

task<std::optional<connected>> pair_of_streams() {
  result<tcp_listener> listener = tcp_listener::bind(net::endpoint::loopback_v4(0));
  if (!listener.has_value()) co_return std::nullopt;
  const auto where = listener->local_endpoint();
  result<tcp_stream> near = co_await tcp_stream::connect(*where);
  result<tcp_stream> far = co_await listener->accept();
  if (!near.has_value() || !far.has_value()) co_return std::nullopt;
  co_return connected{std::move(*near), std::move(*far)};
}

constexpr int pieces = 300;

task<void> reads_byte_by_byte(tcp_stream& from, victim& v) {
  co_await cancel_after_a_fresh_start(v);
  std::array<std::byte, 1> one;
  for (;;) {
    const result<std::size_t> got = co_await from.read(one);
    EXPECT_EQ(got.value_or(0), 1U);
    EXPECT_EQ(std::to_integer<int>(one[0]), v.done % 256);
    ++v.done;
  }
}

task<int> read_what_is_left(tcp_stream& from, int next) {
  std::array<std::byte, pieces> rest;
  int left = 0;
  for (;;) {
    const result<std::size_t> got = co_await from.read(rest);
    if (!got.has_value() || *got == 0) co_return left;
    for (std::size_t i = 0; i < *got; ++i) EXPECT_EQ(std::to_integer<int>(rest[i]), next++ % 256);
    left += static_cast<int>(*got);
  }
}

task<void> a_cancelled_reader_takes_nothing() {
  std::optional<connected> both = co_await pair_of_streams();
  EXPECT_TRUE(both.has_value());
  if (!both.has_value()) co_return;
  std::vector<std::byte> sent;
  for (int i = 0; i < pieces; ++i) sent.push_back(static_cast<std::byte>(i % 256));
  const result<std::size_t> put = co_await both->near.write_all(sent);
  EXPECT_EQ(put.value_or(0), sent.size());
  EXPECT_TRUE(both->near.shutdown(net::shutdown_how::write).has_value());
  co_await at_rest(both->near);  // all of it can be read

  victim v;
  v.self = spawn(reads_byte_by_byte(both->far, v));
  const outcome<void> how = co_await v.self->result();
  EXPECT_TRUE(how.is_cancelled());
  EXPECT_GT(v.done, 0);
  const int left = co_await read_what_is_left(both->far, v.done);
  EXPECT_EQ(v.done + left, pieces);
}

TEST(cancelled_operations, a_read_at_the_end_of_its_turn_loses_no_byte) {
  runtime rt(with_workers(1));
  rt.spawn(a_cancelled_reader_takes_nothing()).join();
}

task<void> accepts(tcp_listener& listener, std::vector<tcp_stream>& kept, victim& v) {
  co_await cancel_after_a_fresh_start(v);
  for (;;) {
    result<tcp_stream> stream = co_await listener.accept();
    EXPECT_TRUE(stream.has_value());
    if (!stream.has_value()) co_return;
    kept.push_back(std::move(*stream));
    ++v.done;
  }
}

/// Returns how many connections wait for accept(): of a listener this field counts them.
int waiting_at(const tcp_listener& listener) {
  tcp_info now{};
  socklen_t size = sizeof now;
  EXPECT_EQ(::getsockopt(listener.native_handle(), IPPROTO_TCP, TCP_INFO, &now, &size), 0);
  return static_cast<int>(now.tcpi_unacked);
}

task<void> a_cancelled_acceptor_closes_nothing() {
  constexpr int wanted = 200;
  result<tcp_listener> listener = tcp_listener::bind(net::endpoint::loopback_v4(0));
  EXPECT_TRUE(listener.has_value());
  if (!listener.has_value()) co_return;
  const auto where = listener->local_endpoint();
  std::vector<tcp_stream> clients;
  for (int i = 0; i < wanted; ++i) {
    result<tcp_stream> one = co_await tcp_stream::connect(*where);
    EXPECT_TRUE(one.has_value());
    if (!one.has_value()) co_return;
    clients.push_back(std::move(*one));
  }
  // The last step of a handshake may come after connect() has returned.
  while (waiting_at(*listener) < wanted) co_await sleep_for(std::chrono::milliseconds(1));
  std::vector<tcp_stream> kept;
  victim v;
  v.self = spawn(accepts(*listener, kept, v));
  const outcome<void> how = co_await v.self->result();
  EXPECT_TRUE(how.is_cancelled());
  EXPECT_GT(v.done, 0);
  int left = 0;
  while (v.done + left < wanted) {
    const result<tcp_stream> one = co_await timeout(10s, listener->accept());
    EXPECT_TRUE(one.has_value()) << "a connection was accepted and lost";
    if (!one.has_value()) co_return;
    ++left;
  }
}

TEST(cancelled_operations, an_accept_at_the_end_of_its_turn_loses_no_connection) {
  runtime rt(with_workers(1));
  rt.spawn(a_cancelled_acceptor_closes_nothing()).join();
}

task<void> takes_a_signal_last(unix_signal& signals, victim& v) {
  co_await cancel_after_a_fresh_start(v);
  for (int i = 1; i < core::leaf_budget; ++i) co_await at_once();
  v.done = 1;
  const int number = co_await signals.next();
  v.done = 1 + number;
}

task<std::expected<unix_signal, std::error_code>> subscribes() { co_return unix_signal::open({SIGUSR1}); }

task<void> a_cancelled_wait_takes_no_signal(unix_signal& signals) {
  victim v;
  v.self = spawn(takes_a_signal_last(signals, v));
  const outcome<void> how = co_await v.self->result();
  EXPECT_TRUE(how.is_cancelled());
  EXPECT_EQ(v.done, 1);
  const auto number = co_await timeout(10s, signals.next());
  EXPECT_EQ(number.has_value() ? *number : 0, SIGUSR1);
}

TEST(cancelled_operations, a_wait_at_the_end_of_its_turn_loses_no_signal) {
  runtime rt(with_workers(1));
  auto signals = rt.spawn(subscribes()).join();
  ASSERT_TRUE(signals.has_value());
  ::raise(SIGUSR1);  // handled by this thread now, as workers block it
  rt.spawn(a_cancelled_wait_takes_no_signal(*signals)).join();
}

task<void> reads_nothing() {
  std::optional<connected> both = co_await pair_of_streams();
  EXPECT_TRUE(both.has_value());
  if (!both.has_value()) co_return;
  const result<std::size_t> got = co_await timeout(10s, both->far.read(std::span<std::byte>()));
  EXPECT_EQ(got.value_or(99), 0U);
}

TEST(operations, a_read_of_an_empty_span_does_not_wait) {
  runtime rt(with_workers(1));
  rt.spawn(reads_nothing()).join();
}

task<void> watch_three(runtime& on) {
  EXPECT_EQ(on.stats().io.watched, 0U);
  result<tcp_listener> listener = tcp_listener::bind(net::endpoint::parse("127.0.0.1:0"));
  EXPECT_EQ(on.stats().io.watched, 1U);
  result<tcp_stream> client = co_await tcp_stream::connect(*listener->local_endpoint());
  EXPECT_EQ(on.stats().io.watched, 2U);
  const result<tcp_stream> server = co_await listener->accept();
  EXPECT_EQ(on.stats().io.watched, 3U);
}

TEST(sockets, are_counted_while_they_are_watched) {
  runtime on(with_workers(1));
  on.block_on(watch_three(on));
  EXPECT_EQ(on.stats().io.watched, 0U);
}

}  // namespace
}  // namespace rota::test::cancelled_operations_test
