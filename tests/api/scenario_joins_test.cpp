// Joins that cannot end, and which end wins when a task ends in several ways at once.
//
//  scenario 9   join on self                           task_that_joins_itself_gets_would_deadlock_at_once
//  scenario 10  A joins B, B joins A                   dump_lists_two_tasks_that_join_each_other,
//                                                      watchdog_reports_each_join_cycle_once
//  scenario 23  cancelled while running, then a value  value_wins_over_a_cancellation_that_was_not_observed
//  scenario 24  cancelled before the first run         task_cancelled_before_its_first_run_never_runs
//  scenario 25  cancel, completion and drop at once    a_million_tasks_end_in_exactly_one_way
//  scenario 39  two tasks await one handle             second_awaiter_of_a_join_handle_is_refused
//  row 1        cancel a task that no event will wake  task_that_no_event_will_wake_can_be_cancelled
//  row 23       cancelled from another thread          frames_are_destroyed_on_a_thread_of_their_runtime
//  row 24       a waker of the leaf before             the_waker_of_an_earlier_leaf_does_not_end_a_later_one
//  row 25       cancelled under a shield               cancellation_under_a_shield_is_not_lost
//  row 27       wait_for gives up while the task ends  wait_for_that_races_the_end_of_the_task_loses_no_value
#include "api/scenario_support.hpp"

#include <rota/cancel.hpp>
#include <rota/stop_token.hpp>

#include <unistd.h>

#include <array>
#include <barrier>
#include <memory>
#include <vector>

namespace rota::test {
namespace {

TEST(scenario_joins, task_that_joins_itself_gets_would_deadlock_at_once) {
  runtime rt(with_workers(1));
  struct body {
    static task<int> joins(event& go, join_handle<int>& self, bool blocking) {
      co_await go();
      try {
        if (blocking) co_return self.join();
        const int never = co_await self;
        co_return never;
      } catch (const error& e) {
        EXPECT_EQ(code_of(e), errc::would_deadlock);
      }
      co_return 5;
    }
  };
  for (const bool blocking : {false, true}) {
    event go;
    join_handle<int> self;
    self = rt.spawn(body::joins(go, self, blocking));
    go.fire();
    EXPECT_EQ(self.join(), 5) << "it went on, and the handle is still good";
  }
}

// --- two tasks that join each other

/// Waits for `go`, then for `other`. `stop` cancels it from outside: its handle is in the other task's hands.
task<> joins(event& go, join_handle<void>& other, std::stop_token stop, witness /*mine*/) {
  const stop_link stopped_by = link(std::move(stop));
  co_await go();
  join_handle<void> mine = std::move(other);
  co_await mine;
}

struct couple {
  event go_a;
  event go_b;
  std::stop_source stop_a;
  std::stop_source stop_b;
  std::atomic<int> ended = 0;
  join_handle<void> a;
  join_handle<void> b;
  std::uint64_t id_a = 0;
  std::uint64_t id_b = 0;

  /// Returns when each waits for the other.
  void embrace(runtime& rt) {
    a = rt.spawn(joins(go_a, b, stop_a.get_token(), witness(ended)));
    b = rt.spawn(joins(go_b, a, stop_b.get_token(), witness(ended)));
    id_a = a.id().value;
    id_b = b.id().value;
    wait_until([this] { return go_a.is_awaited() && go_b.is_awaited(); });
    go_a.fire();
    wait_for_state(rt, "task " + std::to_string(id_a) + ": waiting for join");
    go_b.fire();
    wait_for_state(rt, "task " + std::to_string(id_b) + ": waiting for join");
  }
  [[nodiscard]] std::string words() const {
    const std::string first = "task " + std::to_string(std::min(id_a, id_b));
    const std::string second = "task " + std::to_string(std::max(id_a, id_b));
    return first + " waits for " + second + ", which waits for " + first;
  }
};

TEST(scenario_joins, dump_lists_two_tasks_that_join_each_other) {
  couple two;
  runtime rt(with_workers(2));
  EXPECT_EQ(rt.dump().find("circle"), std::string::npos);
  two.embrace(rt);
  EXPECT_EQ(rt.stats().alive_tasks, 2U);
  EXPECT_EQ(two.ended, 0);
  wait_for_state(rt, "circle of joins: " + two.words() + "\n");
  two.stop_a.request_stop();
  wait_until([&rt] { return rt.stats().alive_tasks == 0; });
  EXPECT_EQ(rt.dump().find("circle"), std::string::npos);
}

TEST(scenario_joins, cancelling_either_of_two_tasks_in_a_join_cycle_ends_both) {
  for (const bool first : {true, false}) {
    couple two;
    runtime rt(with_workers(2));
    two.embrace(rt);
    (first ? two.stop_a : two.stop_b).request_stop();
    wait_until([&rt] { return rt.stats().alive_tasks == 0; });
    EXPECT_EQ(two.ended, 2);
    EXPECT_EQ(rt.stats().total_cancelled, 2U);
  }
}

TEST(scenario_joins, shutdown_cancels_two_tasks_that_join_each_other) {
  couple two;
  {
    runtime rt(with_workers(2));
    two.embrace(rt);
    const shutdown_report report = rt.shutdown(0s);
    EXPECT_EQ(report.cancelled, 2U);
    EXPECT_TRUE(report.survivors.empty());
  }
  EXPECT_EQ(two.ended, 2);
}

#if !defined(NDEBUG)
/// Reads standard error line by line.
class standard_error {
 public:
  standard_error() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    ::dup2(ends_[1], STDERR_FILENO);
    ::close(ends_[1]);
  }
  standard_error(const standard_error&) = delete;
  standard_error& operator=(const standard_error&) = delete;
  ~standard_error() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(ends_[0]);
  }
  /// Blocks until there is one.
  std::string next_line() {
    std::string line;
    for (char c = 0; ::read(ends_[0], &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

 private:
  int before_;
  std::array<int, 2> ends_{};
};

TEST(scenario_joins, watchdog_reports_each_join_cycle_once) {
  runtime_options o = with_workers(2);
  o.watchdog = 1h;
  std::string first_line;
  std::string second_line;
  std::string first_words;
  std::string second_words;
  {
    standard_error said;
    couple two;
    couple other;
    runtime rt(o);
    two.embrace(rt);
    first_words = two.words();
    first_line = said.next_line();
    // A second circle is the next one to be reported: the first one was reported once.
    other.embrace(rt);
    second_words = other.words();
    second_line = said.next_line();
  }
  EXPECT_EQ(first_line, "rota: " + first_words + ": only a cancellation can end this");
  EXPECT_EQ(second_line, "rota: " + second_words + ": only a cancellation can end this");
}
#endif

// --- several ends at once

TEST(scenario_joins, value_wins_over_a_cancellation_that_was_not_observed) {
  runtime rt(with_workers(1));
  std::binary_semaphore running(0);
  std::binary_semaphore cancelled(0);
  struct body {
    static task<int> goes_on(std::binary_semaphore& runs, std::binary_semaphore& go) {
      EXPECT_FALSE(this_task::cancel_requested());
      runs.release();
      go.acquire();
      EXPECT_TRUE(this_task::cancel_requested());
      co_return 7;
    }
  };
  auto h = rt.spawn(body::goes_on(running, cancelled));
  running.acquire();
  EXPECT_TRUE(h.cancel());
  cancelled.release();
  EXPECT_EQ(h.join(), 7);
  EXPECT_EQ(rt.stats().total_cancelled, 0U);
  EXPECT_EQ(rt.stats().total_completed, 1U);
}

task<> holds_the_worker(std::binary_semaphore& runs, std::binary_semaphore& go) {
  runs.release();
  go.acquire();
  co_return;
}

TEST(scenario_joins, task_cancelled_before_its_first_run_never_runs) {
  runtime rt(with_workers(1));
  std::atomic<int> ended = 0;
  std::atomic<int> ran = 0;
  std::binary_semaphore running(0);
  std::binary_semaphore go(0);
  struct body {
    static task<> runs(std::atomic<int>& count, witness /*mine*/) {
      ++count;
      co_return;
    }
  };
  auto holder = rt.spawn(holds_the_worker(running, go));
  running.acquire();
  auto h = rt.spawn(body::runs(ran, witness(ended)));
  EXPECT_TRUE(h.cancel());
  EXPECT_EQ(ended, 0) << "its worker destroys it, not the canceller";
  go.release();
  EXPECT_THROW(h.join(), cancelled_error);
  holder.join();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(ended, 1);
}

struct contested {
  event e;
  std::stop_source stop;
};

task<> ends_somehow(contested& c, std::atomic<int>& values, witness /*mine*/) {
  const stop_link stopped_by = link(c.stop.get_token());
  co_await c.e();
  ++values;
}

// T1 fires the events of the tasks, T2 cancels the tasks, T3 drops the handles or takes the outcomes.
TEST(scenario_joins, a_million_tasks_end_in_exactly_one_way) {
  constexpr int batch = 500;
  constexpr int rounds = sanitized ? 200 : 2000;
  std::atomic<int> values = 0;
  std::atomic<int> ended = 0;
  int taken = 0;
  runtime rt(with_workers(2));
  for (int r = 0; r < rounds; ++r) {
    std::vector<contested> all(batch);
    std::vector<join_handle<void>> handles;
    handles.reserve(batch);
    for (contested& c : all) handles.push_back(rt.spawn(ends_somehow(c, values, witness(ended))));
    std::barrier together(3);
    std::thread firing([&] {
      together.arrive_and_wait();
      for (contested& c : all) c.e.fire();
    });
    std::thread cancelling([&] {
      together.arrive_and_wait();
      for (contested& c : all) c.stop.request_stop();
    });
    together.arrive_and_wait();
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if ((i + static_cast<std::size_t>(r)) % 2 == 0) {
        handles[i].detach();
        continue;
      }
      const auto end = handles[i].wait_for(1h);
      taken += end.has_value() && (end->has_value() || end->is_cancelled()) ? 1 : 0;
    }
    firing.join();
    cancelling.join();
    wait_until([&rt] { return rt.stats().alive_tasks == 0; });
    ASSERT_EQ(ended, (r + 1) * batch);
  }
  const runtime_stats s = rt.stats();
  EXPECT_EQ(taken, rounds * batch / 2);
  EXPECT_EQ(s.total_spawned, static_cast<std::uint64_t>(rounds) * batch);
  EXPECT_EQ(s.total_completed, static_cast<std::uint64_t>(values.load()));
  EXPECT_EQ(s.total_completed + s.total_cancelled, s.total_spawned);
  std::printf("%llu values, %llu cancelled\n",
              static_cast<unsigned long long>(s.total_completed),
              static_cast<unsigned long long>(s.total_cancelled));
}

TEST(scenario_joins, wait_for_that_races_the_end_of_the_task_loses_no_value) {
  constexpr int rounds = sanitized ? 1'000 : 5'000;
  runtime rt(with_workers(1));
  struct body {
    static task<int> after(event& e, int n) {
      co_await e();
      co_return n;
    }
  };
  int waited_in_vain = 0;
  for (int i = 0; i < rounds; ++i) {
    event e;
    auto h = rt.spawn(body::after(e, i));
    std::thread firing([&e] { e.fire(); });
    const auto early = h.wait_for(std::chrono::nanoseconds(i % 50'000));
    waited_in_vain += early.has_value() ? 0 : 1;
    const int got = early.has_value() ? early->value() : h.join();
    firing.join();
    ASSERT_EQ(got, i);
  }
  std::printf("%d of %d waits gave up first\n", waited_in_vain, rounds);
}

TEST(scenario_joins, second_awaiter_of_a_join_handle_is_refused) {
  runtime rt(with_workers(2));
  event e;
  std::atomic<int> ended = 0;
  auto h = rt.spawn(wait_for(e, witness(ended)));
  struct body {
    static task<> awaits(join_handle<void>& other) { co_await other; }
  };
  auto first = rt.spawn(body::awaits(h));
  wait_for_state(rt, "task " + std::to_string(first.id().value) + ": waiting for join");
  const std::string id = std::to_string(h.id().value);
  auto second = rt.spawn(body::awaits(h));
  try {
    second.join();
    FAIL() << "one joiner";
  } catch (const error& refused) {
    EXPECT_EQ(code_of(refused), errc::already_joined);
    EXPECT_NE(std::string(refused.what()).find("task " + id), std::string::npos) << refused.what();
  }
  e.fire();
  EXPECT_NO_THROW(first.join()) << "the first was not robbed of its wake";
  EXPECT_EQ(ended, 1);
}

// --- cancellation

TEST(scenario_joins, task_that_no_event_will_wake_can_be_cancelled) {
  runtime rt(with_workers(1));
  event never;
  std::atomic<int> ended = 0;
  auto h = rt.spawn(wait_for(never, witness(ended)));
  wait_until([&never] { return never.is_awaited(); });
  EXPECT_TRUE(h.cancel());
  try {
    h.join();
    FAIL() << "it was cancelled";
  } catch (const cancelled_error& e) {
    EXPECT_EQ(e.reason(), cancel_reason::user);
  }
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(never.is_awaited()) << "it has left the event's list";
}

class says_where {
 public:
  explicit says_where(std::thread::id& ended_on) noexcept : ended_on_(&ended_on) {}
  says_where(const says_where&) = delete;
  says_where& operator=(const says_where&) = delete;
  ~says_where() { *ended_on_ = std::this_thread::get_id(); }

 private:
  std::thread::id* ended_on_;
};

TEST(scenario_joins, frames_are_destroyed_on_a_thread_of_their_runtime) {
  runtime rt(with_workers(1));
  event never;
  std::thread::id of_worker;
  std::thread::id ended_on;
  struct body {
    static task<> waits(event& e, std::thread::id& began_on, std::thread::id& end) {
      const says_where local(end);
      began_on = std::this_thread::get_id();
      co_await e();
    }
  };
  auto h = rt.spawn(body::waits(never, of_worker, ended_on));
  wait_until([&never] { return never.is_awaited(); });
  std::thread canceller([&h] { EXPECT_TRUE(h.cancel()); });
  canceller.join();
  EXPECT_THROW(h.join(), cancelled_error);
  EXPECT_EQ(ended_on, of_worker);
  EXPECT_NE(ended_on, std::this_thread::get_id());
}

TEST(scenario_joins, the_waker_of_an_earlier_leaf_does_not_end_a_later_one) {
  runtime rt(with_workers(1));
  event first;
  event second;
  struct body {
    static task<int> waits(event& a, event& b, std::atomic<int>& passed) {
      co_await a();
      ++passed;
      co_await b();
      ++passed;
      co_return passed;
    }
  };
  std::atomic<int> passed = 0;
  auto h = rt.spawn(body::waits(first, second, passed));
  wait_until([&first] { return first.is_awaited(); });
  waker late = first.steal_waker();
  first.fire();
  wait_until([&second] { return second.is_awaited(); });
  late.wake();
  EXPECT_EQ(rt.spawn(number(1)).join(), 1) << "queued behind it: the worker has looked at the woken task";
  EXPECT_EQ(passed, 1);
  EXPECT_TRUE(second.is_awaited());
  second.fire();
  EXPECT_EQ(h.join(), 2);
}

TEST(scenario_joins, cancellation_under_a_shield_is_not_lost) {
  runtime rt(with_workers(1));
  event under_shield;
  event never;
  std::atomic<int> ended = 0;
  struct body {
    static task<> waits(event& a, event& b, std::atomic<bool>& finished, witness /*mine*/) {
      {
        const auto guard = shield(1h);
        co_await a();
        finished = true;
      }
      co_await b();
    }
  };
  std::atomic<bool> finished = false;
  auto h = rt.spawn(body::waits(under_shield, never, finished, witness(ended)));
  wait_until([&under_shield] { return under_shield.is_awaited(); });
  EXPECT_TRUE(h.cancel());
  EXPECT_EQ(rt.spawn(number(1)).join(), 1) << "queued behind the fruitless look that it causes";
  under_shield.fire();
  EXPECT_THROW(h.join(), cancelled_error);
  EXPECT_TRUE(finished);
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace rota::test
