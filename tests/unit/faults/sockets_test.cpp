// Sockets: system calls that fail, are interrupted, do less than asked, or find nothing to do after all.
#include "support/sanitized.hpp"
#include "unit/faults/failing_driver.hpp"
#include "unit/faults/failing_sockets.hpp"
#include "unit/runtime/runtime_support.hpp"

#include "driver/io_driver.hpp"
#include "task/header.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rota::sockets_test {
namespace {

using namespace std::chrono_literals;
namespace call = test::call;
using net::endpoint;
using net::result;
using net::tcp_listener;
using net::tcp_stream;
using test::calls;
using test::with_workers;

template <class T>
T demand(result<T> got) {
  if (!got.has_value()) throw std::system_error(got.error());
  return std::move(*got);
}

struct pair {
  tcp_stream ours;
  tcp_stream theirs;
};

task<pair> connected() {
  tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
  auto client = co_await tcp_stream::connect(demand(listener.local_endpoint()));
  auto server = co_await listener.accept();
  pair made{demand(std::move(client)), demand(std::move(server))};
  co_return made;
}

task<> send_all(tcp_stream& to, std::span<const std::byte> what) {
  const auto sent = co_await to.write_all(what);
  EXPECT_TRUE(sent.has_value() && *sent == what.size());
  EXPECT_TRUE(to.shutdown(net::shutdown_how::write).has_value());
}

task<std::vector<std::byte>> read_all(tcp_stream& from) {
  std::vector<std::byte> got;
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const auto n = co_await from.read(buffer);
    if (demand(n) == 0) break;
    got.insert(got.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*n));
  }
  co_return got;
}

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i * 31 + i / 251);
  return made;
}

class failing_sockets : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!calls::can_fail) GTEST_SKIP() << "a sanitizer makes these calls itself";
    calls::reset();
  }
  void TearDown() override { calls::reset(); }

  static task<> transfer(std::size_t size) {
    pair both = co_await connected();
    const std::vector<std::byte> sent = pattern(size);
    join_handle<void> sending = spawn(send_all(both.ours, sent));
    const std::vector<std::byte> got = co_await read_all(both.theirs);
    co_await sending;
    EXPECT_TRUE(got == sent);
  }

  /// Checks what accept() returns when the system call fails `times` times.
  static task<> accept_after(int error, std::uint64_t times, bool is_told) {
    tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
    calls::fail(call::accept, error, 0, times);
    auto client = co_await tcp_stream::connect(demand(listener.local_endpoint()));
    EXPECT_TRUE(client.has_value());
    auto first = co_await listener.accept();
    EXPECT_EQ(first.has_value(), !is_told);
    if (is_told) {
      EXPECT_EQ(first.error().value(), error);
      first = co_await listener.accept();
    }
    EXPECT_TRUE(first.has_value()) << "the listener stays what it was";
    EXPECT_EQ(calls::failed(call::accept), times);
  }
};

TEST_F(failing_sockets, short_reads_and_writes_of_every_length_are_continued) {
  for (const std::size_t most : {1U, 2U, 3U, 7U, 64U}) {
    calls::shorten(most);
    run(transfer(5'000), with_workers(2));
  }
}

TEST_F(failing_sockets, interrupted_calls_are_made_again) {
  calls::fail(call::accept, EINTR, 0, 5);
  calls::fail(call::receive, EINTR, 1, 50);
  calls::fail(call::send, EINTR, 0, 50);
  calls::fail(call::poll, EINTR, 3, 50);
  run(transfer(100'000), with_workers(2));
  EXPECT_EQ(calls::failed(call::accept), 5U);
  EXPECT_EQ(calls::failed(call::receive), 50U);
  EXPECT_EQ(calls::failed(call::send), 50U);
}

TEST_F(failing_sockets, a_connection_that_broke_before_it_was_accepted_is_left_out) {
  for (const int error : {ECONNABORTED, EPROTO, ENETDOWN, EHOSTUNREACH}) {
    calls::reset();
    run(accept_after(error, 3, false));
  }
}

/// accept() returns the first failure of each second; on later ones it waits 10 ms, 20 ms, .. a second.
TEST_F(failing_sockets, accept_reports_a_lack_of_descriptors_and_recovers) {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    calls::reset();
    run(accept_after(error, 4, true));
  }
}

TEST_F(failing_sockets, accept_backs_off_from_10_ms_to_a_second) {
  rota::testing::virtual_clock clock;
  runtime rt(with_workers(1), clock);
  const auto began = clock.now();
  rt.block_on(accept_after(EMFILE, 10, true));
  // 10, 20, 40, .. 640 and three times 1000 ms.
  EXPECT_EQ(clock.now() - began, 10ms * 127 + 3 * 1000ms);
}

TEST_F(failing_sockets, an_error_of_the_listener_is_told) { run(accept_after(EINVAL, 1, true)); }

TEST_F(failing_sockets, error_of_one_operation_does_not_affect_the_next) {
  for (const int error : {ECONNRESET, ETIMEDOUT, EHOSTUNREACH, ENOBUFS}) {
    calls::reset();
    run(
        [](int expected) -> task<> {
          pair both = co_await connected();
          const std::vector<std::byte> some = pattern(10);
          calls::fail(call::send, expected);
          const auto failed = co_await both.ours.write_all(some);
          EXPECT_TRUE(!failed.has_value() && failed.error().value() == expected);
          const auto sent = co_await both.ours.write_all(some);
          EXPECT_TRUE(sent.has_value());

          std::array<std::byte, 64> buffer;
          calls::fail(call::receive, expected);
          const auto lost = co_await both.theirs.read(buffer);
          EXPECT_TRUE(!lost.has_value() && lost.error().value() == expected);
          const auto got = co_await both.theirs.read(buffer);
          EXPECT_TRUE(got.has_value() && *got == some.size());
        },
        error);
  }
}

/// An event is only a hint. Each one costs one try, and then the task sleeps again.
TEST_F(failing_sockets, spurious_events_cost_one_receive_call_each) {
  constexpr int events = 1'000;
  runtime rt(with_workers(1));
  rt.block_on([&rt]() -> task<> {
    pair both = co_await connected();
    const std::uint64_t key = test::last_key();  // the key of `theirs`, which was adopted last
    calls::reset();
    const core::header& me = *core::current_task();
    driver::io_driver& driver = *me.owner->ops->io(*me.owner);
    const auto read_one = [](tcp_stream& from) -> task<std::size_t> {
      std::array<std::byte, 64> buffer;
      const auto got = co_await from.read(buffer);
      co_return demand(got);
    };
    join_handle<std::size_t> reader = spawn(read_one(both.theirs));
    for (int i = 1; i <= events; ++i) {
      test::wait_until([i] { return calls::made(call::receive) == static_cast<std::uint64_t>(i); });
      // The reader sleeps again. Only then is the next event a separate one.
      test::wait_until([&rt] { return rt.dump().find("waiting for socket read") != std::string::npos; });
      const driver::event nothing{key, EPOLLIN};
      driver.dispatch(&nothing, 1);
    }
    test::wait_until([] { return calls::made(call::receive) == events + 1; });
    EXPECT_FALSE(reader.is_done());
    const std::vector<std::byte> some = pattern(10);
    static_cast<void>(co_await both.ours.write_all(some));
    const std::size_t size = co_await reader;
    EXPECT_EQ(size, some.size());
    EXPECT_EQ(calls::made(call::receive), events + 2);
  });
}

task<> echoes(tcp_stream& at) {
  std::array<std::byte, 64> buffer;
  for (;;) {
    const auto got = co_await at.read(buffer);
    if (demand(got) == 0) co_return;
    static_cast<void>(co_await at.write_all(std::span(buffer).first(*got)));
  }
}

task<> asks(tcp_stream& by, int times) {
  const std::vector<std::byte> question = pattern(10);
  std::array<std::byte, 64> buffer;
  for (int i = 0; i < times; ++i) {
    static_cast<void>(co_await by.write_all(question));
    const auto got = co_await by.read(buffer);
    EXPECT_EQ(demand(got), question.size());
  }
}

/// A read shorter than its buffer has emptied the socket: the next read waits without a system call.
TEST_F(failing_sockets, a_question_and_its_answer_cost_one_receive_each) {
  constexpr int times = 1'000;
  runtime rt(with_workers(1));
  rt.spawn([]() -> task<> {
      pair both = co_await connected();
      join_handle<void> echoing = spawn(echoes(both.theirs));
      co_await asks(both.ours, 10);
      calls::reset();
      co_await asks(both.ours, times);
      EXPECT_GE(calls::made(call::receive), 2U * times);
      EXPECT_LE(calls::made(call::receive), 2U * times + times / 10);
      EXPECT_TRUE(both.ours.shutdown_write().has_value());
      co_await echoing;
    }).join();
}

/// A peek or a readiness check consumes an event and leaves the bytes.
TEST_F(failing_sockets, bytes_are_still_read_after_a_peek_or_a_readiness_check) {
  run([]() -> task<> {
    pair both = co_await connected();
    const std::vector<std::byte> some = pattern(10);
    std::array<std::byte, 64> buffer;
    for (int i = 0; i < 10; ++i) {
      join_handle<void> sending = spawn(
          [](tcp_stream& to, const std::vector<std::byte>& what) -> task<> {
            co_await yield();
            static_cast<void>(co_await to.write_all(what));
          },
          std::ref(both.ours),
          std::cref(some));
      if (i % 2 == 0) {
        const auto seen = co_await both.theirs.peek(buffer);
        EXPECT_EQ(seen.value_or(0), some.size());
      } else {
        const auto ready = co_await both.theirs.readable();
        EXPECT_TRUE(ready.has_value());
      }
      const auto got = co_await both.theirs.read(buffer);
      EXPECT_EQ(got.value_or(0), some.size());
      co_await sending;
    }
  });
}

/// The end arrives together with the last bytes.
TEST_F(failing_sockets, an_end_that_came_with_the_last_bytes_is_not_waited_for) {
  run([]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      pair both = co_await connected();
      const std::vector<std::byte> some = pattern(10);
      std::array<std::byte, 64> buffer;
      static_cast<void>(co_await both.ours.write_all(some));
      if (i % 2 == 0) co_await yield();
      static_cast<void>(both.ours.shutdown_write());
      if (i % 3 == 0) co_await yield();
      const auto got = co_await both.theirs.read(buffer);
      EXPECT_EQ(got.value_or(0), some.size());
      const auto end = co_await both.theirs.read(buffer);
      EXPECT_EQ(end.value_or(9), 0U);
      const auto again = co_await both.theirs.read(buffer);
      EXPECT_EQ(again.value_or(9), 0U);
    }
  });
}

// ---- real failures ----------------------------------------------------------------------------

/// A SIGPIPE would end this program.
TEST(broken_connections, are_errors_and_no_signal) {
  run([]() -> task<> {
    pair both = co_await connected();
    EXPECT_TRUE(both.theirs.reset_on_close().has_value());
    {
      const tcp_stream closed = std::move(both.theirs);
    }
    std::array<std::byte, 64> buffer{};
    const auto read = co_await both.ours.read(buffer);
    EXPECT_TRUE(!read.has_value() && read.error() == std::errc::connection_reset);
    const auto written = co_await both.ours.write(buffer);
    EXPECT_TRUE(!written.has_value() && written.error() == std::errc::broken_pipe);
  });
}

class few_descriptors : public ::testing::Test {
 protected:
  few_descriptors() { ::getrlimit(RLIMIT_NOFILE, &before_); }
  ~few_descriptors() override { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void SetUp() override {
    if (test::with_address_sanitizer)
      GTEST_SKIP() << "UBSan, which is with it, looks at an object's type through a pipe";
  }
  void allow(rlim_t most) const {
    const rlimit now{most, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  [[nodiscard]] rlim_t soft() const { return before_.rlim_cur; }

 private:
  rlimit before_{};
};

/// A real EMFILE is returned once. With descriptors again, the pending connection is accepted.
TEST_F(few_descriptors, accept_recovers_when_descriptors_are_free_again) {
  run([this]() -> task<> {
    tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
    auto client = co_await tcp_stream::connect(demand(listener.local_endpoint()));
    EXPECT_TRUE(client.has_value());
    allow(0);
    auto none = co_await listener.accept();
    EXPECT_TRUE(!none.has_value() && none.error() == std::errc::too_many_files_open);
    const auto refused = tcp_listener::bind(endpoint::loopback_v4(0));
    EXPECT_TRUE(!refused.has_value() && refused.error() == std::errc::too_many_files_open);
    allow(soft());
    auto server = co_await listener.accept();
    EXPECT_TRUE(server.has_value());
  });
}

TEST_F(few_descriptors, failed_runtime_constructor_leaks_no_file_and_no_thread) {
  const std::size_t files = test::open_files();
  const std::size_t threads = test::threads_of_process();
  allow(0);
  EXPECT_THROW(runtime{with_workers(2)}, std::system_error);
  allow(soft());
  EXPECT_EQ(test::open_files(), files);
  test::wait_until([threads] { return test::threads_of_process() <= threads; });
}

}  // namespace
}  // namespace rota::sockets_test
