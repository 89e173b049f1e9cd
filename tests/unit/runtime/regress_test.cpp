// Situations in which a runtime once failed.
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>
#include <rota/testing/virtual_clock.hpp>
#include <rota/unix_signal.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

namespace rota::regress_test {
namespace {

using namespace std::chrono_literals;

runtime_options with_workers(unsigned n) {
  runtime_options o;
  o.workers = n;
  return o;
}

// A running closure is no reason to give up tasks that would still end by themselves. (The clean-up may be
// cut short if it has begun when the shutdown overrides shields, or have its time if not: both are allowed.)
TEST(regress, a_shutdown_waits_for_clean_up_while_a_closure_runs) {
  std::binary_semaphore closure_runs(0);
  std::binary_semaphore ready(0);
  std::atomic<bool> ended = false;
  struct body {
    class last {
     public:
      explicit last(std::atomic<bool>& flag) : flag_(flag) {}
      last(const last&) = delete;
      last& operator=(const last&) = delete;
      ~last() { flag_ = true; }

     private:
      std::atomic<bool>& flag_;
    };
    static task<> forever() { co_await sleep_until(std::chrono::steady_clock::time_point::max()); }
    static task<> clean() {
      for (int i = 0; i < 5; ++i) co_await sleep_for(20ms);
    }
    static task<> guarded(std::binary_semaphore& r, std::atomic<bool>& flag) {
      const last local(flag);
      r.release();
      const auto cleanup = [](const outcome<void>&) -> task<> { return clean(); };
      co_await finally(forever(), cleanup, 1h);
    }
  };
  runtime rt(with_workers(1));
  auto closure = rt.spawn_blocking([&] {
    closure_runs.release();
    while (!ended) std::this_thread::yield();
  });
  closure_runs.acquire();
  rt.spawn(body::guarded(ready, ended)).detach();
  ready.acquire();
  const shutdown_report report = rt.shutdown(0s);
  EXPECT_TRUE(ended.load());
  for (const survivor& s : report.survivors)
    EXPECT_EQ(s.where.find("regress_test"), std::string::npos) << s.where;
  ended = true;
  closure.join();
}

TEST(regress, a_shutdown_waits_for_a_task_that_blocks_in_place_while_a_closure_runs) {
  std::binary_semaphore closure_runs(0);
  std::binary_semaphore inside(0);
  std::atomic<bool> release = false;
  std::atomic<bool> left = false;
  struct body {
    static task<> blocked(std::binary_semaphore& in, std::atomic<bool>& out, std::atomic<bool>& free) {
      block_in_place([&] {
        in.release();
        while (!this_task::cancel_requested()) std::this_thread::yield();
        // Longer than several checks of the shutdown.
        std::this_thread::sleep_for(100ms);
      });
      out = true;
      free = true;
      co_return;
    }
  };
  runtime rt(with_workers(1));
  auto closure = rt.spawn_blocking([&] {
    closure_runs.release();
    while (!release) std::this_thread::yield();
  });
  closure_runs.acquire();
  rt.spawn(body::blocked(inside, left, release)).detach();
  inside.acquire();
  rt.shutdown(0s);
  EXPECT_TRUE(left.load());
  closure.join();
}

TEST(regress, shutdown_with_the_longest_grace_drains_a_shielded_task) {
  std::binary_semaphore ready(0);
  runtime rt(with_workers(1));
  struct body {
    static task<int> shielded(std::binary_semaphore& r) {
      const auto guard = shield(1h);
      r.release();
      while (!this_task::cancel_requested()) co_await sleep_for(1ms);
      co_return 5;
    }
  };
  auto held = rt.spawn(body::shielded(ready));
  ready.acquire();
  EXPECT_EQ(rt.shutdown(std::chrono::hours::max()).drained, 1U);
  EXPECT_EQ(held.join(), 5);
}

TEST(regress, a_socket_may_outlive_its_runtime) {
  struct body {
    static task<net::result<net::tcp_listener>> open() {
      co_return net::tcp_listener::bind(net::endpoint::loopback_v4(0));
    }
  };
  net::result<net::tcp_listener> kept = run(body::open());
  ASSERT_TRUE(kept.has_value());
  EXPECT_NE(kept->local_endpoint()->port(), 0);
}

// A task that never suspended is in no list, so the shutdown reaches the child first.
TEST(regress, shutdown_seen_through_a_cancelled_child_is_not_unhandled) {
  std::binary_semaphore runs(0);
  struct body {
    static task<> forever() { co_await sleep_for(1h); }
    static task<> parent(std::binary_semaphore& r) {
      join_handle<void> child = spawn(forever());
      r.release();
      while (!child.is_done()) std::this_thread::yield();
      co_await child;
    }
  };
  runtime rt(with_workers(2));
  rt.spawn(body::parent(runs)).detach();
  runs.acquire();
  const shutdown_report report = rt.shutdown(0s);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_EQ(rt.stats().total_unhandled, 0U);
}

// The same for a child that a task cancels for another reason during the shutdown.
TEST(regress, child_cancelled_by_its_parent_during_shutdown_is_not_unhandled) {
  std::binary_semaphore runs(0);
  std::atomic<bool> go_on = false;
  struct body {
    static task<> forever() { co_await sleep_for(1h); }
    static task<> cancelled_later(std::binary_semaphore& r, std::atomic<bool>& flag) {
      r.release();
      while (!flag) std::this_thread::yield();
      co_await forever();
    }
    static task<> parent(std::binary_semaphore& r, std::atomic<bool>& flag) {
      join_handle<void> sentinel = spawn(forever());
      join_handle<void> child = spawn(cancelled_later(r, flag));
      while (!sentinel.is_done()) std::this_thread::yield();  // the shutdown has begun
      child.cancel(cancel_reason::user);
      flag = true;
      while (!child.is_done()) std::this_thread::yield();
      co_await child;
    }
  };
  runtime rt(with_workers(4));
  rt.spawn(body::parent(runs, go_on)).detach();
  runs.acquire();
  const shutdown_report report = rt.shutdown(0s);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_EQ(rt.stats().total_unhandled, 0U);
}

TEST(regress, a_subscription_to_signals_may_outlive_its_runtime) {
  struct body {
    static task<std::expected<unix_signal, std::error_code>> open() {
      co_return unix_signal::open({SIGUSR2});
    }
  };
  const std::expected<unix_signal, std::error_code> kept = run(body::open());
  EXPECT_TRUE(kept.has_value());
}

// The root of block_on sends: the test's own thread does not block SIGPIPE.
TEST(regress, a_file_sent_to_a_connection_that_has_gone_is_an_error) {
  struct body {
    static task<std::error_code> root(int file) {
      auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
      const auto where = listener->local_endpoint();
      net::result<net::tcp_stream> server = std::unexpected(std::error_code());
      {
        auto client = co_await net::tcp_stream::connect(*where);
        server = co_await listener->accept();
      }
      std::error_code end;
      while (!end) {
        const auto sent = co_await server->send_file(file, 0, 4096);
        if (!sent.has_value()) end = sent.error();
      }
      co_return end;
    }
  };
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const std::string text(4096, 'x');
  ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
  ASSERT_EQ(std::fflush(file), 0);
  runtime rt(with_workers(1));
  const std::error_code end = rt.block_on(body::root(::fileno(file)));
  EXPECT_TRUE(end == std::errc::broken_pipe || end == std::errc::connection_reset) << end.message();
  std::fclose(file);
}

TEST(regress, a_blocking_section_may_spawn_and_is_told_of_a_cancellation) {
  std::binary_semaphore inside(0);
  struct body {
    static task<int> number() { co_return 3; }
    static task<bool> root(std::binary_semaphore& in) {
      const task_id me = this_task::id();
      int got = 0;
      block_in_place([&] {
        got = spawn(number()).join() + spawn_blocking([] { return 4; }).join();
        EXPECT_EQ(this_task::id(), me);
        in.release();
        while (!this_task::cancel_requested()) std::this_thread::yield();
      });
      EXPECT_EQ(got, 7);
      co_return this_task::id() == me;
    }
  };
  runtime rt(with_workers(1));
  auto blocked = rt.spawn(body::root(inside));
  inside.acquire();
  blocked.cancel();
  EXPECT_TRUE(blocked.join());
}

// A poll of the driver may consume the interrupt of an unpark.
TEST(regress, spawn_from_outside_wakes_a_runtime_on_a_virtual_clock) {
  testing::virtual_clock clock;
  runtime rt(with_workers(2), clock);
  struct body {
    static task<int> number(int n) { co_return n; }
  };
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(rt.spawn(body::number(i)).join(), i);
}

task<> waits() { co_await sleep_until(std::chrono::steady_clock::time_point::max()); }

TEST(regress, deadline_applies_to_a_task_spawned_through_the_runtime) {
  testing::virtual_clock clock;
  runtime rt(with_workers(1), clock);
  auto root = rt.spawn([&rt]() -> task<bool> {
    join_handle<void> child;
    auto spawns = [&]() -> task<> {
      child = rt.spawn(waits());
      co_return;
    };
    co_await timeout(1s, spawns());
    const outcome<void> end = co_await child.result();
    co_return end.is_cancelled() && end.reason() == cancel_reason::timeout;
  });
  EXPECT_TRUE(root.join());
}

/// A result that is never fetched, with a slow destructor.
class slow_to_go {
 public:
  explicit slow_to_go(std::atomic<bool>& gone) noexcept : gone_(&gone) {}
  slow_to_go(slow_to_go&& other) noexcept : gone_(std::exchange(other.gone_, nullptr)) {}
  slow_to_go(const slow_to_go&) = delete;
  slow_to_go& operator=(const slow_to_go&) = delete;
  slow_to_go& operator=(slow_to_go&&) = delete;
  ~slow_to_go() {
    if (gone_ == nullptr) return;
    std::this_thread::sleep_for(20ms);
    *gone_ = true;
  }

 private:
  std::atomic<bool>* gone_;
};

// Once, the thread that had lent its role was still ending its task after the runtime was destroyed.
TEST(regress, task_that_blocked_in_place_ends_before_its_runtime_is_destroyed) {
  std::atomic<bool> gone = false;
  std::binary_semaphore blocks(0);
  std::binary_semaphore go_on(0);
  struct body {
    static task<slow_to_go> runs(std::atomic<bool>& gone,
                                 std::binary_semaphore& here,
                                 std::binary_semaphore& go) {
      block_in_place([&] {
        here.release();
        go.acquire();
      });
      slow_to_go value(gone);
      co_return value;
    }
  };
  {
    runtime rt(with_workers(1));
    rt.spawn(body::runs(gone, blocks, go_on)).detach();
    blocks.acquire();
    go_on.release();
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace rota::regress_test
