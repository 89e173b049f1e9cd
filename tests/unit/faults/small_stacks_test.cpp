// Threads with 64 KiB of stack: frames are on the heap, and the library does not recurse.
#include "support/sanitized.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rota::small_stacks_test {
namespace {

using namespace std::chrono_literals;
using test::with_workers;

/// Sets the default stack size, which the runtime's threads use, too.
class small_stacks : public ::testing::Test {
 protected:
  /// 64 KiB, or the minimum of the system.
  const std::size_t small =
      std::max<std::size_t>(64 * 1024, static_cast<std::size_t>(::sysconf(_SC_THREAD_STACK_MIN)));

  void SetUp() override {
    if (test::sanitized) GTEST_SKIP() << "a sanitizer's frames are several times as large";
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_getattr_default_np(&attributes), 0);
    ASSERT_EQ(::pthread_attr_getstacksize(&attributes, &before_), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&attributes, small), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&attributes), 0);
    ::pthread_attr_destroy(&attributes);
  }
  void TearDown() override {
    if (before_ == 0) return;
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_getattr_default_np(&attributes), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&attributes, before_), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&attributes), 0);
    ::pthread_attr_destroy(&attributes);
  }

  /// Runs `body` on a worker, and as the root of block_on on a small thread.
  template <class Body>
  static void everywhere(Body body) {
    runtime rt(with_workers(2));
    test::join_on_worker(rt.spawn(body()));
    std::thread([&] { rt.block_on(body()); }).join();
  }

 private:
  std::size_t before_ = 0;
};

task<int> down(int depth) {
  if (depth == 0) co_return 0;
  const int below = co_await down(depth - 1);
  co_return below + 1;
}

task<int> throws(int depth) {
  if (depth == 0) throw std::runtime_error("from below");
  const int below = co_await throws(depth - 1);
  co_return below;
}

TEST_F(small_stacks, carry_ten_thousand_frames) {
  everywhere([]() -> task<> {
    const int depth = co_await down(10'000);
    EXPECT_EQ(depth, 10'000);
    auto thrown = spawn(throws(10'000));
    const auto end = co_await thrown.result();
    EXPECT_NE(end.exception(), nullptr);
  });
}

TEST_F(small_stacks, carry_the_unwinding_of_ten_thousand_frames) {
  everywhere([]() -> task<> {
    struct endless {
      static task<int> below(int depth) {
        if (depth == 0) co_await sleep_for(std::chrono::hours::max());
        const int got = depth == 0 ? 0 : co_await below(depth - 1);
        co_return got;
      }
    };
    const auto late = co_await timeout(10ms, endless::below(10'000));
    EXPECT_FALSE(late.has_value());
  });
}

TEST_F(small_stacks, carry_scopes_sets_timers_and_closures) {
  everywhere([]() -> task<> {
    std::atomic<int> sum = 0;
    co_await with_scope([&](scope& s) -> task<> {
      for (int i = 0; i < 1'000; ++i) {
        s.fork(
            [](std::atomic<int>& to) -> task<> {
              co_await sleep_for(1us);
              ++to;
            },
            std::ref(sum));
      }
      co_return;
    });
    EXPECT_EQ(sum, 1'000);
    join_set<int> set;
    for (int i = 0; i < 100; ++i) set.spawn(down(10));
    int ended = 0;
    while (!set.empty()) {
      const auto next = co_await set.next();
      ended += next.has_value() ? 1 : 0;
    }
    EXPECT_EQ(ended, 100);
    join_handle<int> closure = spawn_blocking([] { return block_in_place([] { return 7; }); });
    const int seven = co_await closure;
    EXPECT_EQ(seven, 7);
  });
}

TEST_F(small_stacks, carry_sockets_and_reports) {
  runtime rt(with_workers(2));
  test::join_on_worker(rt.spawn(
      [](runtime& here) -> task<> {
        auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
        auto client = co_await net::tcp_stream::connect(*listener->local_endpoint());
        auto server = co_await listener->accept();
        std::array<std::byte, 4096> buffer{};
        const auto put = co_await client->write_all(buffer);
        EXPECT_TRUE(put.has_value());
        const auto got = co_await server->read(buffer);
        EXPECT_TRUE(got.has_value());
        EXPECT_FALSE(here.dump().empty());
      },
      std::ref(rt)));
}

}  // namespace
}  // namespace rota::small_stacks_test
