// The strand among runtimes, pool works and threads, on a testing runtime, and when a runtime ends.
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/strand.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace rota::sync::strand_threads_test {
namespace {

using namespace std::chrono_literals;

/// Plain data: only the strand orders the accesses.
struct counted {
  strand line;
  int count = 0;
  static void add(counted& c) { ++c.count; }
  static task<void> adds(counted& c) {
    const int before = c.count;
    co_await yield();
    c.count = before + 1;
  }
  static task<void> many(counted& c) {
    for (int i = 0; i < 200; ++i) {
      co_await c.line.run(add, std::ref(c));
      co_await c.line.run(adds, std::ref(c));
      c.line.post(add, std::ref(c));
    }
  }
  void blocks() {
    for (int i = 0; i < 200; ++i) line.blocking_run(add, *this);
  }
};

TEST(strand, is_shared_by_runtimes_a_pool_and_a_thread) {
  counted c;
  runtime one;
  runtime two;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto a = one.spawn(counted::many(c));
  auto b = two.spawn(counted::many(c));
  auto d = works.submit([&] { c.blocks(); });
  std::thread e([&] {
    c.blocks();
    for (int i = 0; i < 100; ++i) c.line.post_on(one, counted::add, std::ref(c));
    const auto other = two.handle();
    for (int i = 0; i < 100; ++i) c.line.post_on(other, counted::add, std::ref(c));
  });
  a.join();
  b.join();
  EXPECT_TRUE(d.wait_for(std::chrono::hours(1)));
  e.join();
  c.line.blocking_join();
  EXPECT_EQ(c.count, 2 * 200 * 3 + 2 * 200 + 200);
}

// The pool has one thread. A blocked thread does not count, so the other work runs.
TEST(strand, blocked_pool_job_lets_another_job_run) {
  strand line;
  std::atomic<bool> begun = false;
  std::atomic<bool> go = false;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  std::thread holds([&] {
    line.blocking_run([&] {
      begun = true;
      while (!go) std::this_thread::yield();
    });
  });
  while (!begun) std::this_thread::yield();
  auto blocked = works.submit([&] { line.blocking_run([] {}); });
  auto frees = works.submit([&] { go = true; });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
  holds.join();
}

// Tasks that hold the turn, wait for it, or are posted end with their runtime. The strand stays usable.
TEST(strand, stays_usable_after_a_runtime_shutdown) {
  strand line;
  std::atomic<bool> begun = false;
  {
    runtime one;
    one.spawn(
           [](strand& of, std::atomic<bool>& at) -> task<void> {
             co_await of.run([&at]() -> task<void> {
               at = true;
               co_await sleep_for(1h);
             });
           },
           std::ref(line),
           std::ref(begun))
        .detach();
    while (!begun) std::this_thread::yield();
    one.spawn([](strand& of) -> task<void> { co_await of.run([] {}); }, std::ref(line)).detach();
    line.post_on(one, [] {});
  }
  EXPECT_FALSE(line.is_busy());
  EXPECT_EQ(line.blocking_run([] { return 1; }), 1);
}

TEST(strand, works_on_a_testing_runtime_and_in_a_scope) {
  testing::runtime alone;
  std::string order;
  alone.block_on(
      [](std::string& to) -> task<void> {
        strand line;
        co_await with_scope([&](scope& children) -> task<void> {
          for (const char name : std::string("abc")) {
            line.post_on(children, [&to, name]() -> task<void> {
              co_await sleep_for(1s);
              to += name;
            });
          }
          co_return;
        });
      },
      std::ref(order));
  EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace rota::sync::strand_threads_test
