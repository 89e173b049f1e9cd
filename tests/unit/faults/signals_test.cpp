// A thousand signals a second, with a handler without SA_RESTART, on each thread that waits.
#include "support/sanitized.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace rota::signals_test {
namespace {

using namespace std::chrono_literals;
using test::with_workers;

/// One counter for each storm. It outlives the storm: a signal may still be pending.
std::array<std::atomic<unsigned>, 64> hits;
std::atomic<unsigned> storms_made{0};
thread_local std::atomic<unsigned>* hits_of_thread = nullptr;

void count(int /*number*/) {
  if (hits_of_thread != nullptr) ++*hits_of_thread;
}

/// While it lives, its thread receives signals, which runtime threads block otherwise.
class storm {
 public:
  storm() : hits_(&hits[storms_made++]) {
    hits_of_thread = hits_;
    sigevent to{};
    to.sigev_notify = SIGEV_THREAD_ID;
    to.sigev_signo = SIGALRM;
    to._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, &to, &timer_), 0);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    const itimerspec each_millisecond{{0, 1'000'000}, {0, 1'000'000}};
    EXPECT_EQ(::timer_settime(timer_, 0, &each_millisecond, nullptr), 0);
  }
  storm(const storm&) = delete;
  storm& operator=(const storm&) = delete;
  ~storm() { ::timer_delete(timer_); }

  /// Returns after a hundred more signals to its thread.
  void rage() const {
    const unsigned before = *hits_;
    test::wait_until([this, before] { return *hits_ - before >= 100; });
  }

 private:
  std::atomic<unsigned>* hits_;
  timer_t timer_{};
};

class signal_storm : public ::testing::Test {
 protected:
  void SetUp() override {
    // ThreadSanitizer delays a signal while its thread waits on one of rota's futexes.
    if (test::sanitized && !test::with_address_sanitizer) GTEST_SKIP() << "ThreadSanitizer delays signals";
    struct sigaction action{};
    action.sa_handler = count;  // without SA_RESTART
    ASSERT_EQ(::sigaction(SIGALRM, &action, nullptr), 0);
  }
  void TearDown() override { ::signal(SIGALRM, SIG_IGN); }
};

/// Starts a storm on the worker that runs this task, for as long as the runtime lives.
task<> open_this_thread(std::vector<std::unique_ptr<storm>>& storms) {
  storms.push_back(std::make_unique<storm>());
  co_return;
}

task<std::size_t> echo_once(net::tcp_listener& listener) {
  auto stream = co_await listener.accept();
  EXPECT_TRUE(stream.has_value());
  std::array<std::byte, 4096> buffer;
  std::size_t total = 0;
  for (;;) {
    const auto got = co_await stream->read(buffer);
    EXPECT_TRUE(got.has_value());
    if (!got.has_value() || *got == 0) break;
    const auto put = co_await stream->write_all(std::span(buffer).first(*got));
    EXPECT_TRUE(put.has_value());
    total += *got;
  }
  co_return total;
}

task<> send_slowly(net::tcp_stream::write_half& to, int pieces, std::size_t size) {
  const std::vector<std::byte> piece(size, std::byte{42});
  for (int i = 0; i < pieces; ++i) {
    const auto put = co_await to.write_all(piece);
    EXPECT_TRUE(put.has_value());
    co_await sleep_for(1ms);
  }
  EXPECT_TRUE(to.shutdown().has_value());
}

task<std::size_t> talk(int pieces, std::size_t size) {
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
  const auto where = listener->local_endpoint();
  join_handle<std::size_t> server = spawn(echo_once(*listener));
  auto client = co_await net::tcp_stream::connect(*where);
  EXPECT_TRUE(client.has_value());
  auto [reader, writer] = std::move(*client).split();
  join_handle<void> sending = spawn(send_slowly(writer, pieces, size));
  std::array<std::byte, 4096> buffer;
  std::size_t back = 0;
  for (;;) {
    const auto got = co_await reader.read(buffer);
    EXPECT_TRUE(got.has_value());
    if (!got.has_value() || *got == 0) break;
    back += *got;
  }
  co_await sending;
  const std::size_t there = co_await server;
  EXPECT_EQ(there, back);
  co_return back;
}

TEST_F(signal_storm, does_not_disturb_sockets_and_timers_in_block_on_or_on_a_worker) {
  std::vector<std::unique_ptr<storm>> storms;
  runtime rt(with_workers(1));
  test::join_on_worker(rt.spawn(open_this_thread(storms)));
  const storm mine;
  EXPECT_EQ(rt.block_on(talk(100, 10'000)), 1'000'000U);
  EXPECT_EQ(test::join_on_worker(rt.spawn(talk(100, 10'000))), 1'000'000U);
  storms.front()->rage();
}

TEST_F(signal_storm, does_not_wake_threads_that_wait_without_a_limit) {
  std::vector<std::unique_ptr<storm>> storms;
  runtime rt(with_workers(1));
  test::join_on_worker(rt.spawn(open_this_thread(storms)));
  const storm mine;
  join_handle<void> sleeper = rt.spawn([]() -> task<> { co_await sleep_for(std::chrono::hours::max()); });
  std::thread foreign([&sleeper] {
    const storm here;
    const auto end = sleeper.wait_for(std::chrono::hours::max());  // sleeps on a futex until the end
    EXPECT_TRUE(end.has_value() && end->is_cancelled());
  });
  storms.front()->rage();
  const std::uint64_t polled = rt.stats().total_polled;
  storms.front()->rage();
  EXPECT_EQ(rt.stats().total_polled, polled) << "no task was looked at";
  static_cast<void>(rt.shutdown(0s));
  foreign.join();
}

/// A sleep that a signal ended would return early.
TEST_F(signal_storm, ends_no_sleep_early) {
  std::vector<std::unique_ptr<storm>> storms;
  runtime rt(with_workers(1));
  test::join_on_worker(rt.spawn(open_this_thread(storms)));
  const auto sleeps = []() -> task<int> {
    int early = 0;
    for (int i = 1; i <= 50; ++i) {
      const auto until = std::chrono::steady_clock::now() + i * 100us;
      co_await sleep_for(i * 100us);
      early += std::chrono::steady_clock::now() < until ? 1 : 0;
    }
    co_return early;
  };
  EXPECT_EQ(test::join_on_worker(rt.spawn(sleeps())), 0);
  const storm mine;
  EXPECT_EQ(rt.block_on(sleeps()), 0);
}

TEST_F(signal_storm, does_not_disturb_threads_that_block_or_a_shutdown) {
  std::mutex one_at_a_time;
  std::atomic<int> gone{0};
  const storm mine;
  {
    runtime rt(with_workers(2));
    std::vector<join_handle<int>> all;
    for (int i = 0; i < 8; ++i) {
      all.push_back(rt.spawn_blocking([&one_at_a_time] {
        const storm here;
        const std::lock_guard lock(one_at_a_time);
        here.rage();
        return 1;
      }));
    }
    int sum = 0;
    for (auto& each : all) sum += each.join();
    EXPECT_EQ(sum, 8);
    rt.spawn(test::sleep_forever(test::witness(gone))).detach();
    mine.rage();
  }
  EXPECT_EQ(gone, 1);
}

}  // namespace
}  // namespace rota::signals_test
