// Scenario 20: 10,000 connections, 100 of them at work, and then all are reset at once.
#include "support/open_files.hpp"
#include "support/sanitized.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace {

using rota::net::result;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

constexpr int active = 100;

std::chrono::microseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/// A second process, since one has too few descriptors for both ends. Connects `count` times, sends a byte on
/// each of the first ones, and resets all on command. After the fork it makes only system calls.
[[noreturn]] void be_the_clients(const sockaddr_in& at, int count, int told) {
  static std::array<int, 10'000> all;
  const linger now{.l_onoff = 1, .l_linger = 0};
  for (int i = 0; i < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (fd == -1 || ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) ::_exit(1);
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    if (i < active && ::write(fd, "x", 1) != 1) ::_exit(2);
    all[static_cast<std::size_t>(i)] = fd;
  }
  char byte = 0;
  if (::read(told, &byte, 1) != 1) ::_exit(3);
  for (int i = 0; i < count; ++i) ::close(all[static_cast<std::size_t>(i)]);
  ::_exit(0);
}

struct counts {
  std::atomic<int> said{0};
  std::atomic<int> reset{0};
  std::atomic<int> other{0};
};

rota::task<void> connection(tcp_stream stream, counts& so_far) {
  std::array<std::byte, 16> buffer;
  for (;;) {
    const result<std::size_t> got = co_await stream.read(buffer);
    if (got.has_value() && *got != 0) {
      ++so_far.said;
      static_cast<void>(co_await stream.write_all(std::span(buffer).first(*got)));
      continue;
    }
    ++(!got.has_value() && got.error() == std::errc::connection_reset ? so_far.reset : so_far.other);
    co_return;
  }
}

rota::task<std::chrono::microseconds> serve(int listening, int count, int tell, counts& so_far) {
  tcp_listener listener = tcp_listener::adopt(listening).value();
  std::chrono::microseconds before{};
  co_await rota::with_scope([&](rota::scope& connections) -> rota::task<void> {
    for (int i = 0; i < count; ++i) {
      result<tcp_stream> stream = co_await listener.accept();
      connections.fork(connection(std::move(stream.value()), so_far));
    }
    while (so_far.said < std::min(active, count)) co_await rota::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(so_far.reset + so_far.other, 0);
    before = processor_time();
    EXPECT_EQ(::write(tell, "x", 1), 1);
  });
  co_return processor_time() - before;
}

TEST(scenario, no_20_ten_thousand_connections_are_reset_at_once) {
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  const auto may = static_cast<int>(std::min<rlim_t>(descriptors.rlim_cur, 20'000)) - 200;
  const int count = std::min(rota::test::sanitized ? 1'000 : 10'000, may);
  ASSERT_GT(count, active);

  const std::size_t files = rota::test::open_files();
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listening, 4096), 0);
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &length), 0);
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t clients = ::fork();
  ASSERT_NE(clients, -1);
  if (clients == 0) be_the_clients(at, count, told[0]);

  counts so_far;
  const std::chrono::microseconds took = rota::run(serve(listening, count, told[1], so_far));
  EXPECT_EQ(so_far.reset, count);
  EXPECT_EQ(so_far.other, 0);
  EXPECT_EQ(so_far.said, active);
  RecordProperty("microseconds", std::to_string(took.count()));
  // Of this process's processors: what others do meanwhile does not count.
  if (!rota::test::sanitized) {
    EXPECT_LT(took, std::chrono::seconds(1));
  }
  for (const int fd : told) ::close(fd);
  EXPECT_EQ(rota::test::open_files(), files);
  int status = -1;
  EXPECT_EQ(::waitpid(clients, &status, 0), clients);
  EXPECT_EQ(status, 0);
}

}  // namespace
