// Executors on a runtime: consumers are tasks, and handlers may be coroutines.
#include <rota/cancel.hpp>
#include <rota/error.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/task_local.hpp>
#include <rota/testing/runtime.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::runtime_executor_test {
namespace {

using namespace std::chrono_literals;

/// Lies in the frame of a handler, and counts its destruction.
class mark {
 public:
  explicit mark(std::atomic<int>& gone) noexcept : gone_(&gone) {}
  mark(const mark&) = delete;
  mark& operator=(const mark&) = delete;
  ~mark() { ++*gone_; }

 private:
  std::atomic<int>* gone_;
};

/// Waits until it is cancelled.
struct sleeper {
  std::atomic<int> begun{0};
  std::atomic<int> gone{0};
  task<void> operator()(int /*message*/) {
    const mark here(gone);
    ++begun;
    begun.notify_all();
    co_await sleep_for(std::chrono::hours::max());
  }
  void wait_for(int count) {
    for (int seen = begun.load(); seen < count; seen = begun.load()) begun.wait(seen);
  }
};

void send_in_order(const address<int>& to, int from, int count) {
  for (int i = 0; i < count; ++i) EXPECT_EQ(to.send(from * 1000 + i), send_status::sent);
}

void expect_in_order(const std::vector<int>& seen, int senders) {
  std::vector<int> next(static_cast<std::size_t>(senders), 0);
  for (const int value : seen) {
    int& expected = next.at(static_cast<std::size_t>(value / 1000));
    EXPECT_EQ(value % 1000, expected);
    ++expected;
  }
}

TEST(executors_on_a_runtime, serve_what_threads_and_tasks_send) {
  runtime tasks({.workers = 2});
  std::deque<std::vector<int>> seen(50);
  executor on_tasks(tasks, 2);
  std::vector<mailbox<int>> boxes;
  for (auto& each : seen) {
    boxes.push_back(on_tasks.make_mailbox<int>([&each](int value) { each.push_back(value); }));
  }
  std::vector<join_handle<void>> senders;
  for (int s = 0; s < 2; ++s) {
    senders.push_back(tasks.spawn([&boxes, s]() -> task<> {
      for (const auto& box : boxes) {
        send_in_order(box.address(), s, 100);
        co_await yield();
      }
    }));
  }
  std::vector<std::jthread> threads;
  for (int s = 2; s < 4; ++s) {
    threads.emplace_back([&boxes, s] {
      for (const auto& box : boxes) send_in_order(box.address(), s, 100);
    });
  }
  for (auto& each : senders) each.join();
  threads.clear();
  on_tasks.drain();
  for (const auto& each : seen) {
    EXPECT_EQ(each.size(), 400U);
    expect_in_order(each, 4);
  }
  EXPECT_EQ(on_tasks.stats().served, 50U * 400U);
}

TEST(executors_on_a_runtime, handlers_that_are_coroutines_run_one_at_a_time) {
  runtime tasks({.workers = 2});
  struct account {
    std::vector<int> seen;
    int inside = 0;
  };
  std::deque<account> accounts(20);
  executor on_tasks(tasks, 1);
  std::vector<mailbox<int>> boxes;
  for (auto& each : accounts) {
    boxes.push_back(on_tasks.make_mailbox<int>([&each](int value) -> task<void> {
      EXPECT_EQ(++each.inside, 1);
      if (value % 3 == 0) co_await yield();
      if (value % 50 == 1) co_await sleep_for(1us);
      each.seen.push_back(value);
      --each.inside;
    }));
  }
  {
    std::vector<std::jthread> threads;
    for (int s = 0; s < 3; ++s) {
      threads.emplace_back([&boxes, s] {
        for (const auto& box : boxes) send_in_order(box.address(), s, 100);
      });
    }
  }
  on_tasks.drain();
  for (const auto& each : accounts) {
    EXPECT_EQ(each.seen.size(), 300U);
    expect_in_order(each.seen, 3);
  }
  EXPECT_EQ(on_tasks.stats().depth, 0U);
  EXPECT_EQ(on_tasks.stats().served, 20U * 300U);
}

TEST(executors_on_a_runtime, a_suspended_handler_does_not_block_other_mailboxes) {
  runtime tasks({.workers = 1});
  sleeper asleep;
  std::atomic<int> served{0};
  executor on_tasks(tasks, 1);
  std::vector<mailbox<int>> waiting;
  for (int i = 0; i < 100; ++i) {
    waiting.push_back(on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); }));
    EXPECT_EQ(waiting.back().send(i), send_status::sent);
  }
  asleep.wait_for(100);
  auto box = on_tasks.make_mailbox<int>([&served](int) { ++served; });
  EXPECT_EQ(box.send(1), send_status::sent);
  box.drain();
  EXPECT_EQ(served, 1);
}

TEST(executors_on_a_runtime, destroying_a_mailbox_destroys_its_suspended_handler) {
  runtime tasks({.workers = 1});
  sleeper asleep;
  executor on_tasks(tasks, 1);
  {
    auto box = on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); });
    EXPECT_EQ(box.send(1), send_status::sent);
    EXPECT_EQ(box.send(2), send_status::sent);
    asleep.wait_for(1);
  }
  EXPECT_EQ(asleep.gone, 1) << "its frame is gone when the destructor has returned";
  EXPECT_EQ(asleep.begun, 1) << "the second message was not begun";
}

TEST(executors_on_a_runtime, a_task_destroys_a_mailbox_whose_handler_waits) {
  runtime tasks({.workers = 1});
  sleeper asleep;
  executor on_tasks(tasks, 1);
  const auto work = [&]() -> task<> {
    auto box = on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); });
    EXPECT_EQ(box.send(1), send_status::sent);
    while (asleep.begun == 0) co_await yield();
    box = mailbox<int>();
    EXPECT_EQ(asleep.gone, 1);
  };
  tasks.spawn(work).join();
}

TEST(executors_on_a_runtime, destroying_an_executor_destroys_its_suspended_handlers) {
  runtime tasks({.workers = 2});
  sleeper asleep;
  std::vector<address<int>> late;
  {
    executor on_tasks(tasks, 2);
    std::vector<mailbox<int>> boxes;
    for (int i = 0; i < 10; ++i) {
      boxes.push_back(on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); }));
      late.push_back(boxes.back().address());
      EXPECT_EQ(late.back().send(1), send_status::sent);
    }
    asleep.wait_for(10);
    // The executor is destroyed before the mailboxes.
    std::vector<mailbox<int>> later = std::move(boxes);
    static_cast<void>(later);
  }
  EXPECT_EQ(asleep.gone, 10);
  for (const auto& each : late) EXPECT_EQ(each.send(2), send_status::closed);
}

TEST(executors_on_a_runtime, an_executor_lives_in_a_task) {
  for (const unsigned workers : {1U, 2U}) {
    runtime tasks({.workers = workers});
    sleeper asleep;
    const auto work = [&]() -> task<int> {
      int sum = 0;
      executor here(tasks, 2);
      auto adds = here.make_mailbox<int>([&sum](int value) -> task<void> {
        co_await yield();
        sum += value;
      });
      auto waits = here.make_mailbox<int>([&asleep](int value) { return asleep(value); });
      EXPECT_EQ(waits.send(1), send_status::sent);
      for (int i = 0; i < 100; ++i) EXPECT_EQ(adds.send(1), send_status::sent);
      co_await adds.async_drain();
      while (asleep.begun == 0) co_await yield();
      co_return sum;
    };
    EXPECT_EQ(tasks.spawn(work).join(), 100);
    EXPECT_EQ(asleep.gone.exchange(0), 1);
    asleep.begun = 0;
    EXPECT_EQ(tasks.block_on(work), 100);
  }
}

TEST(executors_on_a_runtime, a_handler_destroys_its_own_mailbox) {
  runtime tasks({.workers = 1});
  std::atomic<int> after{0};
  executor on_tasks(tasks, 1);
  std::optional<mailbox<int>> box;
  address<int> to;
  box.emplace(on_tasks.make_mailbox<int>([&](int) -> task<void> {
    co_await yield();
    box.reset();
    co_await yield();
    ++after;
  }));
  to = box->address();
  // The second message may come too late.
  EXPECT_EQ(to.send(1), send_status::sent);
  static_cast<void>(to.send(2));
  while (on_tasks.stats().mailboxes != 0) std::this_thread::yield();
  EXPECT_EQ(after, 1) << "the handler that runs goes on to its end, and no further one begins";
  EXPECT_EQ(to.send(3), send_status::closed);
}

TEST(executors_on_a_runtime, a_coroutine_handler_that_throws_follows_the_error_policy) {
  runtime tasks({.workers = 2});
  executor on_tasks(tasks);
  const auto throws = [](int value) -> task<void> {
    if (value % 2 == 0) co_await yield();
    if (value >= 2) throw std::runtime_error(std::to_string(value));
  };
  auto stops = on_tasks.make_mailbox<int>(throws);
  auto skips = on_tasks.make_mailbox<int>(throws, {.error_policy = on_error::skip});
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(stops.send(i));
    EXPECT_EQ(skips.send(i), send_status::sent);
  }
  stops.join();
  EXPECT_THROW(std::rethrow_exception(stops.error()), std::runtime_error);
  EXPECT_EQ(stops.stats().served, 3U);
  EXPECT_EQ(stops.stats().failed, 1U);
  skips.drain();
  EXPECT_EQ(skips.stats().served, 6U);
  EXPECT_EQ(skips.stats().failed, 4U);
}

TEST(executors_on_a_runtime, a_bounded_mailbox_holds_back_tasks) {
  runtime tasks({.workers = 2});
  std::vector<int> seen;
  executor on_tasks(tasks, 1);
  auto box = on_tasks.make_mailbox<int>(
      [&seen](int value) -> task<void> {
        co_await yield();
        seen.push_back(value);
      },
      {.capacity = 2, .on_full = overflow::wait});
  std::vector<join_handle<void>> senders;
  for (int s = 0; s < 4; ++s) {
    senders.push_back(tasks.spawn([to = box.address(), s]() -> task<> {
      for (int i = 0; i < 100; ++i) {
        const send_status end = co_await to.async_send(s * 1000 + i);
        EXPECT_EQ(end, send_status::sent);
      }
    }));
  }
  for (auto& each : senders) each.join();
  box.drain();
  EXPECT_EQ(seen.size(), 400U);
  expect_in_order(seen, 4);
}

TEST(executors_on_a_runtime, pause_stops_function_and_coroutine_handlers) {
  runtime tasks({.workers = 2});
  std::atomic<int> served{0};
  executor on_tasks(tasks, 2);
  auto functions = on_tasks.make_mailbox<int>([&served](int) { ++served; });
  auto coroutines = on_tasks.make_mailbox<int>([&served](int) -> task<void> {
    ++served;
    co_return;
  });
  functions.pause();
  coroutines.pause();
  EXPECT_EQ(functions.send(1), send_status::sent);
  EXPECT_EQ(coroutines.send(1), send_status::sent);
  auto others = on_tasks.make_mailbox<int>([](int) {});
  EXPECT_EQ(others.send(1), send_status::sent);
  others.drain();
  EXPECT_EQ(served, 0);
  functions.resume();
  coroutines.resume();
  on_tasks.drain();
  EXPECT_EQ(served, 2);
  on_tasks.pause();
  EXPECT_EQ(functions.send(1), send_status::sent);
  EXPECT_EQ(coroutines.send(1), send_status::sent);
  on_tasks.resume();
  on_tasks.drain();
  EXPECT_EQ(served, 4);
}

TEST(executors_on_a_runtime, a_shutdown_ends_all_mailboxes) {
  sleeper asleep;
  std::optional<runtime> tasks;
  tasks.emplace(runtime_options{.workers = 2});
  executor on_tasks(*tasks, 2);
  const auto message = std::make_shared<int>(7);
  auto idle = on_tasks.make_mailbox<std::shared_ptr<int>>([](std::shared_ptr<int>&&) {});
  auto full = on_tasks.make_mailbox<std::shared_ptr<int>>([](std::shared_ptr<int>&&) {});
  auto waits = on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); });
  full.pause();
  EXPECT_EQ(full.send(message), send_status::sent);
  EXPECT_EQ(waits.send(1), send_status::sent);
  EXPECT_EQ(waits.send(2), send_status::sent);
  asleep.wait_for(1);
  const shutdown_report report = tasks->shutdown(0s);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_EQ(asleep.gone, 1);
  EXPECT_EQ(idle.send(message), send_status::closed);
  EXPECT_EQ(full.send(message), send_status::closed);
  EXPECT_EQ(waits.send(3), send_status::closed);
  idle.join();
  full.join();
  waits.join();
  EXPECT_EQ(message.use_count(), 1) << "what waited is destroyed";
  tasks.reset();
  auto late = on_tasks.make_mailbox<int>([](int) {});
  EXPECT_EQ(late.send(1), send_status::closed);
  late.join();
}

TEST(executors_on_a_runtime, an_executor_made_after_the_shutdown_is_closed) {
  runtime tasks({.workers = 1});
  static_cast<void>(tasks.shutdown(0s));
  executor on_tasks(tasks, 2);
  auto box = on_tasks.make_mailbox<int>([](int) -> task<void> { co_return; });
  EXPECT_EQ(box.send(1), send_status::closed);
  box.join();
}

TEST(executors_on_a_runtime, refuse_unsupported_handlers_and_consumer_counts) {
  executor threads(1);
  try {
    auto box = threads.make_mailbox<int>([](int) -> task<void> { co_return; });
    FAIL() << "threads have no runtime";
  } catch (const std::invalid_argument& refused) {
    EXPECT_NE(std::string(refused.what()).find("the handler is a coroutine"), std::string::npos)
        << refused.what();
  }
  runtime tasks({.workers = 1});
  EXPECT_THROW(executor(tasks, 257), std::invalid_argument);
}

template <class F>
void expect_would_deadlock(F&& call) {
  try {
    call();
    ADD_FAILURE() << "it would wait for itself";
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::would_deadlock);
  }
}

TEST(executors_on_a_runtime, a_task_may_not_block_in_join_or_drain) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  auto box = on_tasks.make_mailbox<int>([](int) {});
  const auto work = [&]() -> task<> {
    EXPECT_EQ(box.send(1), send_status::sent);
    expect_would_deadlock([&] { box.join(); });
    expect_would_deadlock([&] { box.drain(); });
    expect_would_deadlock([&] { on_tasks.drain(); });
    co_await box.async_drain();
    co_await on_tasks.async_drain();
    box.close();
    co_await box.async_join();
  };
  tasks.spawn(work).join();
}

TEST(executors_on_a_runtime, a_handler_may_not_drain_its_executor) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  auto box = on_tasks.make_mailbox<int>([&on_tasks](int) -> task<void> { co_await on_tasks.async_drain(); });
  EXPECT_EQ(box.send(1), send_status::sent);
  box.join();
  EXPECT_THROW(std::rethrow_exception(box.error()), error);
}

TEST(executors_on_a_runtime, a_drain_waits_for_what_handlers_send) {
  runtime tasks({.workers = 2});
  std::vector<int> seen;
  executor on_tasks(tasks, 2);
  auto last = on_tasks.make_mailbox<int>([&seen](int value) { seen.push_back(value); });
  auto middle = on_tasks.make_mailbox<int>([to = last.address()](int value) -> task<void> {
    co_await sleep_for(10us);
    static_cast<void>(to.send(value));
  });
  auto first = on_tasks.make_mailbox<int>([to = middle.address()](int value) -> task<void> {
    co_await yield();
    static_cast<void>(to.send(value));
  });
  const auto work = [&]() -> task<std::size_t> {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(first.send(i), send_status::sent);
    co_await on_tasks.async_drain();
    co_return seen.size();
  };
  EXPECT_EQ(tasks.spawn(work).join(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(seen.at(static_cast<std::size_t>(i)), i);
}

TEST(executors_on_a_runtime, inherit_no_deadline) {
  runtime tasks({.workers = 1});
  std::optional<executor> made;
  std::atomic<bool> has_none{false};
  const auto make = [&]() -> task<> {
    made.emplace(tasks, 1);
    co_return;
  };
  const auto work = [&]() -> task<> {
    auto limited = timeout(1ms, make());
    static_cast<void>(co_await limited);
    co_await sleep_for(5ms);
  };
  tasks.spawn(work).join();
  auto box = made->make_mailbox<int>([&has_none](int) -> task<void> {
    co_await yield();
    has_none = this_task::deadline() == std::chrono::steady_clock::time_point::max();
  });
  EXPECT_EQ(box.send(1), send_status::sent);
  box.drain();
  EXPECT_TRUE(has_none);
}

TEST(executors_on_a_runtime, repeat_their_order_for_the_same_test_seed) {
  const auto order = [](std::uint64_t seed) {
    testing::runtime tasks(seed);
    std::vector<int> seen;
    executor on_tasks(tasks, 2);
    auto first = on_tasks.make_mailbox<int>([&seen](int value) -> task<void> {
      co_await sleep_for(std::chrono::hours(value));
      seen.push_back(value);
    });
    auto second = on_tasks.make_mailbox<int>([&seen](int value) { seen.push_back(value); });
    const auto work = [&]() -> task<> {
      for (int i = 0; i < 5; ++i) {
        static_cast<void>(first.send(i));
        static_cast<void>(second.send(10 + i));
        co_await yield();
      }
      co_await on_tasks.async_drain();
    };
    tasks.block_on(work);
    return seen;
  };
  EXPECT_EQ(order(1).size(), 10U);
  EXPECT_EQ(order(3), order(3));
}

TEST(executors_on_a_runtime, can_be_destroyed_on_a_testing_runtime_while_a_handler_waits) {
  testing::runtime tasks;
  sleeper asleep;
  {
    executor on_tasks(tasks, 1);
    auto box = on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); });
    auto other = on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); });
    EXPECT_EQ(box.send(1), send_status::sent);
    EXPECT_EQ(other.send(1), send_status::sent);
    static_cast<void>(tasks.run_until_stalled());
    EXPECT_EQ(asleep.begun, 2);
    box = mailbox<int>();
    EXPECT_EQ(asleep.gone, 1);
    auto adds = on_tasks.make_mailbox<int>([](int) -> task<void> { co_await yield(); });
    EXPECT_EQ(adds.send(1), send_status::sent);
    adds.drain();
    EXPECT_EQ(adds.stats().served, 1U);
    adds.close();
    adds.join();
  }
  EXPECT_EQ(asleep.gone, 2);
}

TEST(executors_on_a_runtime, report_a_wait_that_cannot_end_on_a_testing_runtime) {
  const auto body = [] {
    testing::runtime tasks;
    sleeper asleep;
    executor on_tasks(tasks, 1);
    tasks.block_on([&]() -> task<> {
      auto box = on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); });
      EXPECT_EQ(box.send(1), send_status::sent);
      while (asleep.begun == 0) co_await yield();
    });
  };
  EXPECT_DEATH(body(), "a wait for mailboxes on a testing::runtime");
}

TEST(executors_on_a_runtime, can_be_created_and_destroyed_many_times) {
  runtime tasks({.workers = 2});
  sleeper asleep;
  for (int round = 0; round < 200; ++round) {
    executor on_tasks(tasks, 2);
    std::vector<mailbox<int>> boxes;
    for (int i = 0; i < 5; ++i) {
      boxes.push_back(on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); }));
      boxes.push_back(on_tasks.make_mailbox<int>([](int) -> task<void> { co_await yield(); }));
      boxes.push_back(on_tasks.make_mailbox<int>([](int) {}));
    }
    for (auto& each : boxes) EXPECT_EQ(each.send(1), send_status::sent);
    if (round % 2 == 0) boxes.clear();
  }
  EXPECT_EQ(asleep.gone.load(), asleep.begun.load());
}

TEST(executors_on_a_runtime, a_drain_runs_a_testing_runtime_and_advances_its_time) {
  testing::runtime tasks;
  executor on_tasks(tasks, 1);
  int seen = 0;
  auto box = on_tasks.make_mailbox<int>([&seen](int value) -> task<void> {
    co_await sleep_for(1h);
    seen = value;
  });
  EXPECT_EQ(box.send(5), send_status::sent);
  box.drain();
  EXPECT_EQ(seen, 5) << "time goes to the next timer";
}

TEST(executors_on_a_runtime, may_be_drained_where_blocking_is_allowed) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  auto box = on_tasks.make_mailbox<int>([](int) {});
  const auto drains = [&box] {
    EXPECT_EQ(box.send(1), send_status::sent);
    box.drain();
  };
  tasks.spawn_blocking(drains).join();
  const auto in_place = [&]() -> task<> {
    block_in_place(drains);
    co_return;
  };
  tasks.spawn(in_place).join();
  tasks.block_on([&]() -> task<> {
    drains();
    co_return;
  });
  // A task of another runtime blocks only its own worker.
  runtime others({.workers = 1});
  others
      .spawn([&]() -> task<> {
        drains();
        co_return;
      })
      .join();
  EXPECT_EQ(box.stats().served, 4U);
}

TEST(executors_on_a_runtime, a_handler_may_not_wait_for_its_own_mailbox) {
  runtime tasks({.workers = 1});
  executor on_tasks(tasks, 1);
  std::optional<mailbox<int>> box;
  box.emplace(on_tasks.make_mailbox<int>([&box](int) -> task<void> { co_await box->async_drain(); }));
  EXPECT_EQ(box->send(1), send_status::sent);
  box->join();
  EXPECT_THROW(std::rethrow_exception(box->error()), error);
}

const task_local<int> whose{0};

TEST(executors_on_a_runtime, inherit_no_locals) {
  runtime tasks({.workers = 1});
  std::optional<executor> made;
  const auto make = [&]() -> task<> {
    const auto mine = whose.set(7);
    made.emplace(tasks, 1);
    co_return;
  };
  tasks.spawn(make).join();
  int seen = -1;
  auto box = made->make_mailbox<int>([&seen](int) { seen = whose.get(); });
  EXPECT_EQ(box.send(1), send_status::sent);
  box.drain();
  EXPECT_EQ(seen, 0);
}

TEST(executors_on_a_runtime, count_a_message_that_is_being_handled_as_served) {
  runtime tasks({.workers = 1});
  sleeper asleep;
  executor on_tasks(tasks, 1);
  for (const std::size_t capacity : {unbounded, std::size_t{100}}) {
    asleep.begun = 0;
    auto box =
        on_tasks.make_mailbox<int>([&asleep](int value) { return asleep(value); }, {.capacity = capacity});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(box.send(i), send_status::sent);
    asleep.wait_for(1);
    // The statistics are updated before the handler's task begins.
    EXPECT_EQ(box.stats().served, 1U);
    EXPECT_EQ(box.stats().depth, 9U);
  }
}

TEST(executors_on_a_runtime, a_wait_returns_at_once_after_the_runtime_is_destroyed) {
  for (int round = 0; round < 20; ++round) {
    std::optional<runtime> first;
    first.emplace(runtime_options{.workers = 1});
    executor on_tasks(*first, 1);
    auto box = on_tasks.make_mailbox<int>([](int) {});
    first.reset();
    runtime second({.workers = 1});
    const auto joins = [&]() -> task<> {
      box.join();
      box.drain();
      on_tasks.drain();
      co_return;
    };
    second.spawn(joins).join();
  }
}

}  // namespace
}  // namespace rota::gate::runtime_executor_test
