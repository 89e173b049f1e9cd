// Signals that tasks wait for.
//
//  scenario 36  one event for each, the disposition afterwards
//          signals.each_signal_is_delivered_exactly_once,
//          signals.previous_handler_is_restored_when_the_subscriptions_end
//  scenario 36  the thread that takes them sleeps in block_on
//          signals.sleeping_block_on_thread_receives_each_signal
//  scenario 36  a thousand signals a second
//          signals.signals_every_millisecond_arrive_and_do_not_disturb_sleeps
//  scenario 36  a signal on a worker
//          signals.worker_may_signal_the_process_and_itself
//  scenario 36  a signal that every thread blocks
//          signals.signal_blocked_in_every_thread_reaches_all_subscriptions
//  scenario 35  a fork drops what it has inherited
//          signals.forked_child_that_drops_its_subscription_leaves_the_parents_alone
#include "api/scenario_support.hpp"

#include <rota/rota.hpp>
#include <rota/unix_signal.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <ctime>
#include <optional>
#include <utility>

namespace rota::test {
namespace {

task<std::expected<unix_signal, std::error_code>> subscribes(int number) {
  co_return unix_signal::open({number});
}

unix_signal subscription(runtime& rt, int number) {
  auto made = rt.spawn(subscribes(number)).join();
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

task<int> takes(unix_signal& from) { co_return co_await from.next(); }

void send(int number) { EXPECT_EQ(::kill(::getpid(), number), 0); }

/// While it lives, this thread blocks a signal; the runtime's threads always do.
class blocking {
 public:
  explicit blocking(int number) {
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
  }
  blocking(const blocking&) = delete;
  blocking& operator=(const blocking&) = delete;
  ~blocking() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

TEST(signals, each_signal_is_delivered_exactly_once) {
  runtime rt(with_workers(2));
  unix_signal interrupts = subscription(rt, SIGINT);
  for (int i = 0; i < 100; ++i) {
    auto waits = rt.spawn(takes(interrupts));
    if (i % 2 == 0) send(SIGINT);
    if (i % 2 == 1) wait_until([&] { return rt.stats().alive_tasks == 1; });
    if (i % 2 == 1) send(SIGINT);
    EXPECT_EQ(waits.join(), SIGINT);
  }
  // And no more than that.
  const auto more = rt.spawn(
                          [](unix_signal& from) -> task<bool> {
                            const auto late = co_await timeout(0s, from.next());
                            co_return late.has_value();
                          },
                          std::ref(interrupts))
                        .join();
  EXPECT_FALSE(more);
}

/// block_on() is the only thread that takes signals, and sleeps. TSan delays a handler until a libc call.
TEST(signals, sleeping_block_on_thread_receives_each_signal) {
  runtime rt(with_workers(1));
  unix_signal mine = subscription(rt, SIGTERM);
  const auto hears_each = [](unix_signal& from) -> task<int> {
    int heard = 0;
    for (; heard < 200; ++heard) {
      if (heard % 2 == 0) co_await sleep_for(1ms);
      send(SIGTERM);
      const int number = co_await from.next();
      EXPECT_EQ(number, SIGTERM);
    }
    co_return heard;
  };
  const int heard = rt.block_on([&]() -> task<int> {
    auto hears = spawn(hears_each(mine));
    co_return co_await hears;
  });
  EXPECT_EQ(heard, 200);
}

TEST(signals, previous_handler_is_restored_when_the_subscriptions_end) {
  struct sigaction before{};
  struct sigaction meanwhile{};
  struct sigaction after{};
  ASSERT_EQ(::sigaction(SIGINT, nullptr, &before), 0);
  {
    runtime rt(with_workers(1));
    const unix_signal one = subscription(rt, SIGINT);
    const unix_signal two = subscription(rt, SIGINT);
    ASSERT_EQ(::sigaction(SIGINT, nullptr, &meanwhile), 0);
  }
  ASSERT_EQ(::sigaction(SIGINT, nullptr, &after), 0);
  EXPECT_NE(meanwhile.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(signals, signals_every_millisecond_arrive_and_do_not_disturb_sleeps) {
  runtime rt(with_workers(2));
  unix_signal alarms = subscription(rt, SIGALRM);
  sigevent to{};
  to.sigev_notify = SIGEV_SIGNAL;
  to.sigev_signo = SIGALRM;
  timer_t timer{};
  ASSERT_EQ(::timer_create(CLOCK_MONOTONIC, &to, &timer), 0);
  const itimerspec each_millisecond{{0, 1'000'000}, {0, 1'000'000}};
  ASSERT_EQ(::timer_settime(timer, 0, &each_millisecond, nullptr), 0);
  auto heard = rt.spawn(
      [](unix_signal& from) -> task<int> {
        int count = 0;
        for (; count < 100; ++count) {
          const int number = co_await from.next();
          EXPECT_EQ(number, SIGALRM);
        }
        co_return count;
      },
      std::ref(alarms));
  const int slept = rt.block_on([]() -> task<int> {
    int count = 0;
    for (; count < 20; ++count) co_await sleep_for(1ms);
    co_return count;
  });
  EXPECT_EQ(slept, 20);
  EXPECT_EQ(heard.join(), 100);
  ::timer_delete(timer);
}

TEST(signals, worker_may_signal_the_process_and_itself) {
  const blocking here(SIGUSR1);
  runtime rt(with_workers(1));
  unix_signal mine = subscription(rt, SIGUSR1);
  const int to_process = rt.spawn(
                               [](unix_signal& from) -> task<int> {
                                 send(SIGUSR1);
                                 co_return co_await from.next();
                               },
                               std::ref(mine))
                             .join();
  EXPECT_EQ(to_process, SIGUSR1);
  // Workers block signals, and raise() signals its own thread: no other thread can take it.
  const int to_itself = rt.spawn(
                              [](unix_signal& from) -> task<int> {
                                EXPECT_EQ(::raise(SIGUSR1), 0);
                                co_return co_await from.next();
                              },
                              std::ref(mine))
                            .join();
  EXPECT_EQ(to_itself, SIGUSR1);
}

TEST(signals, signal_blocked_in_every_thread_reaches_all_subscriptions) {
  const blocking here(SIGUSR2);
  runtime first(with_workers(2));
  runtime second(with_workers(1));
  unix_signal one = subscription(first, SIGUSR2);
  unix_signal two = subscription(first, SIGUSR2);
  unix_signal three = subscription(second, SIGUSR2);
  for (int i = 0; i < 50; ++i) {
    auto waits = first.spawn(takes(one));
    auto too = first.spawn(takes(two));
    if (i % 2 == 0) wait_until([&] { return first.stats().alive_tasks == 2; });
    send(SIGUSR2);
    EXPECT_EQ(waits.join(), SIGUSR2);
    EXPECT_EQ(too.join(), SIGUSR2);
    // No task waited, and the signal was kept.
    EXPECT_EQ(second.spawn(takes(three)).join(), SIGUSR2);
  }
  sigset_t left;
  ::sigpending(&left);
  EXPECT_EQ(::sigismember(&left, SIGUSR2), 0);
}

TEST(signals, pending_signal_is_the_first_of_a_later_subscription) {
  const blocking here(SIGUSR2);
  send(SIGUSR2);
  runtime rt(with_workers(1));
  unix_signal late = subscription(rt, SIGUSR2);
  EXPECT_EQ(rt.spawn(takes(late)).join(), SIGUSR2);
}

TEST(signals, cancelled_wait_consumes_no_blocked_signal) {
  const blocking here(SIGUSR2);
  runtime rt(with_workers(1));
  unix_signal mine = subscription(rt, SIGUSR2);
  for (int i = 0; i < 50; ++i) {
    auto waits = rt.spawn(takes(mine));
    if (i % 2 == 0) send(SIGUSR2);
    waits.cancel();
    const auto end = waits.wait_for(std::chrono::hours(1));
    ASSERT_TRUE(end.has_value());
    if (end->has_value()) {
      EXPECT_EQ(i % 2, 0);
    } else if (i % 2 == 0) {
      EXPECT_EQ(rt.spawn(takes(mine)).join(), SIGUSR2);
    }
  }
}

/// The child has the parent's epoll and eventfd: its end must not take them from the parent.
TEST(signals, forked_child_that_drops_its_subscription_leaves_the_parents_alone) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find the sanitizer's own lock taken";
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &before), 0);
  runtime rt(with_workers(1));
  std::optional<unix_signal> mine(subscription(rt, SIGUSR1));
  std::optional<unix_signal> other(subscription(rt, SIGUSR1));
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    mine.reset();
    other.reset();
    struct sigaction restored{};
    const bool is_back =
        ::sigaction(SIGUSR1, nullptr, &restored) == 0 && restored.sa_handler == before.sa_handler;
    ::_exit(is_back ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < 3; ++i) {
    auto waits = rt.spawn(takes(*mine));
    auto too = rt.spawn(takes(*other));
    wait_until([&] { return rt.stats().alive_tasks == 2; });
    send(SIGUSR1);
    EXPECT_EQ(waits.join(), SIGUSR1);
    EXPECT_EQ(too.join(), SIGUSR1);
  }
}

}  // namespace
}  // namespace rota::test
