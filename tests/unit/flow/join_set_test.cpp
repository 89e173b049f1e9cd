#include "flow_support.hpp"

#include <rota/cancel.hpp>
#include <rota/detail/enter.hpp>
#include <rota/join_set.hpp>
#include <rota/time.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace join_set_test {
namespace {

using namespace rota;
using namespace rota::test;

using join_set_in_order = in_every_order;
ROTA_IN_EVERY_ORDER(join_set_in_order);

task<int> later(int milliseconds) {
  co_await sleep_for(std::chrono::milliseconds(milliseconds));
  co_return milliseconds;
}

/// Returns all outcomes, in words.
template <class T>
task<std::string> drain(join_set<T>& set) {
  std::string all;
  for (;;) {
    const std::optional<outcome<T>> next = co_await set.next();
    if (!next) break;
    all += in_words(*next) + ";";
  }
  co_return all;
}

template <class Work>
std::string run_in_task(manual_scheduler& s, Work work) {
  auto around = [&]() -> task<std::string> { co_return co_await work(); };
  auto h = s.spawn(around);
  s.run_with_time();
  return h.is_done() ? h.join() : "not ended";
}

TEST_P(join_set_in_order, gives_outcomes_in_the_order_in_which_the_tasks_end) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          set.spawn(later, 3);
                          set.spawn(later(1));
                          set.spawn([](int n) { return later(n); }, 2);
                          EXPECT_EQ(set.size(), 3U);
                          auto all = co_await drain(set);
                          EXPECT_TRUE(set.empty());
                          co_return all;
                        }),
            "value 1;value 2;value 3;");
}

TEST_P(join_set_in_order, an_empty_set_has_nothing_to_wait_for) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          auto all = co_await drain(set);
                          co_await set.close();
                          co_return all + "end";
                        }),
            "end");
}

TEST_P(join_set_in_order, a_failure_is_an_outcome_like_others) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          set.spawn(later, 2);
                          set.spawn(throws, 7);
                          auto all = co_await drain(set);
                          co_return all;
                        }),
            "failure 7;value 2;");
  EXPECT_EQ(s.unhandled_count, 0);
  EXPECT_EQ(s.suppressed, 0);
}

TEST_P(join_set_in_order, tasks_may_be_added_at_any_time) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          set.spawn(later, 1);
                          std::string all;
                          for (int i = 0; i < 5; ++i) {
                            const auto next = co_await set.next();
                            all += in_words(*next) + ";";
                            set.spawn(later, next->value() + 1);
                          }
                          co_await set.close();
                          co_return all;
                        }),
            "value 1;value 2;value 3;value 4;value 5;");
}

TEST_P(join_set_in_order, next_returns_outcomes_of_void_and_of_move_only_types) {
  EXPECT_EQ(
      run_in_task(s,
                  []() -> task<std::string> {
                    join_set<void> nothing;
                    nothing.spawn([]() -> task<void> { co_return; });
                    const auto first = co_await nothing.next();
                    join_set<std::unique_ptr<int>> owners;
                    owners.spawn([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(6); });
                    auto second = co_await owners.next();
                    auto owner = std::move(*second).value();
                    co_return in_words(*first) + std::to_string(*owner);
                  }),
      "value6");
}

TEST_P(join_set_in_order, cancel_all_cancels_the_tasks_and_keeps_their_outcomes) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          for (int i = 0; i < 40; ++i) set.spawn(waits);
                          co_await sleep_for(1ms);
                          set.cancel_all();
                          set.spawn(later, 1);
                          int cancelled = 0;
                          std::string last;
                          for (;;) {
                            const auto next = co_await set.next();
                            if (!next) break;
                            if (next->is_cancelled()) ++cancelled;
                            last = in_words(*next);
                          }
                          co_return std::to_string(cancelled) + last;
                        }),
            "40value 1");
}

TEST_P(join_set_in_order, close_waits_for_the_ends) {
  std::string log;
  held_event slow;
  auto h = s.spawn([&]() -> task<void> {
    std::string used = "used";
    join_set<void> set;
    set.spawn([&]() -> task<void> {
      const user_of user(used);
      const witness w(log, 't');
      co_await slow.wait();
    });
    set.spawn(holds, std::ref(used));
    co_await sleep_for(1ms);
    co_await set.close();
    EXPECT_TRUE(set.empty());
    log.push_back('c');
  });
  s.run_with_time();
  EXPECT_FALSE(h.is_done());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(log, "tc");
  EXPECT_EQ(end_of(h), "value");
}

TEST_P(join_set_in_order, a_closed_set_may_be_used_again) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          set.spawn(throws, 1);
                          co_await sleep_for(1ms);
                          co_await set.close();
                          set.spawn(later, 1);
                          auto all = co_await drain(set);
                          co_return all;
                        }),
            "value 1;");
  // The exception that was not taken.
  EXPECT_EQ(s.suppressed, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(join_set_in_order, destructor_cancels_the_tasks_and_does_not_wait) {
  std::string log;
  held_event slow;
  auto h = s.spawn([&]() -> task<void> {
    join_set<int> set;
    for (int i = 0; i < 20; ++i) {
      set.spawn([&]() -> task<int> {
        const witness w(log, 't');
        co_await forever();
        co_return 1;
      });
    }
    set.spawn([&]() -> task<int> {
      const witness w(log, 's');
      co_await slow.wait();
      co_return 1;
    });
    set.spawn(throws, 1);
    co_await sleep_for(1ms);
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value");
  EXPECT_EQ(log, std::string(20, 't'));
  EXPECT_EQ(s.live, 1);  // the slow task
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(log, std::string(20, 't') + "s");
  EXPECT_EQ(s.suppressed, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(join_set_in_order, exception_of_a_task_after_its_set_is_destroyed_is_counted) {
  auto h = s.spawn([&]() -> task<void> {
    join_set<int> set;
    set.spawn([]() -> task<int> {
      const auto guard = shield(1h);
      co_await sleep_for(2ms);
      throw failure(1);
    });
    co_await sleep_for(1ms);
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value");
  EXPECT_EQ(s.suppressed, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(join_set_in_order, a_cancelled_next_loses_nothing) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          set.spawn(later, 3);
                          const auto late = co_await timeout(1ms, set.next());
                          EXPECT_FALSE(late.has_value());
                          EXPECT_EQ(set.size(), 1U);
                          auto all = co_await drain(set);
                          co_return all;
                        }),
            "value 3;");
}

TEST_P(join_set_in_order, a_cancelled_close_still_waits) {
  held_event slow;
  std::string log;
  auto h = s.spawn([&]() -> task<void> {
    const witness w(log, 'w');
    join_set<void> set;
    set.spawn([&]() -> task<void> {
      const witness t(log, 't');
      co_await slow.wait();
    });
    co_await sleep_for(1ms);
    co_await set.close();
  });
  s.run_with_time();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log, "");
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(log, "tw");
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(join_set_in_order, set_can_be_used_after_a_close_that_timed_out) {
  held_event slow;
  auto h = s.spawn([&]() -> task<std::string> {
    join_set<int> set;
    set.spawn([&]() -> task<int> {
      co_await slow.wait();
      co_return 1;
    });
    co_await sleep_for(1ms);
    const auto late = co_await timeout(1ms, set.close());
    EXPECT_FALSE(late.has_value());
    set.spawn(later, 2);
    auto all = co_await drain(set);
    co_return all;
  });
  s.run_with_time();
  EXPECT_FALSE(h.is_done());
  slow.let_go();
  s.run_with_time();
  EXPECT_EQ(h.join(), "cancelled user;value 2;");
}

TEST_P(join_set_in_order, second_next_throws_while_the_first_waits) {
  std::string first;
  join_set<int> set;
  auto one = s.spawn([&]() -> task<void> {
    set.spawn(later, 5);
    const auto next = co_await set.next();
    first = in_words(*next);
  });
  auto two = s.spawn([&]() -> task<int> {
    co_await sleep_for(1ms);
    try {
      static_cast<void>(co_await set.next());
    } catch (const error& e) {
      co_return e.code() == errc::already_joined ? 1 : 2;
    }
    co_return 3;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(two), "value 1");
  EXPECT_EQ(first, "value 5");
  EXPECT_EQ(end_of(one), "value");
}

TEST_P(join_set_in_order, moves_with_its_tasks) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> first;
                          first.spawn(later, 1);
                          join_set<int> second(std::move(first));
                          join_set<int> third;
                          third.spawn(waits);
                          third = std::move(second);
                          auto all = co_await drain(third);
                          co_return all;
                        }),
            "value 1;");
}

TEST_P(join_set_in_order, tasks_inherit_the_deadline) {
  EXPECT_EQ(run_in_task(s,
                        []() -> task<std::string> {
                          join_set<int> set;
                          auto spawning = [&]() -> task<void> {
                            set.spawn(waits);
                            co_await forever();
                          };
                          const auto late = co_await timeout(2ms, spawning());
                          EXPECT_FALSE(late.has_value());
                          auto all = co_await drain(set);
                          co_return all;
                        }),
            "cancelled timeout;");
}

TEST_P(join_set_in_order, spawn_outside_of_a_task_throws) {
  int alive = 0;
  join_set<void> set;
  auto refused = [&] { set.spawn([](tally) -> task<void> { co_return; }, tally(alive)); };
  EXPECT_THROW(refused(), error);
  auto work = [&]() -> task<void> {
    EXPECT_THROW(refused(), error);
    co_return;
  };
  core::run_on_this_thread(work(), nullptr);
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(set.empty());
}

TEST_P(join_set_in_order, closed_scheduler_gives_cancelled_outcomes) {
  EXPECT_EQ(run_in_task(s,
                        [&]() -> task<std::string> {
                          // The shutdown does not reach a shielded task, so this task sees the outcomes.
                          const auto guard = shield(std::chrono::hours(1));
                          join_set<int> set;
                          s.closed = true;
                          set.spawn(gives, 1);
                          s.closed = false;
                          auto all = co_await drain(set);
                          co_return all;
                        }),
            "cancelled shutdown;");
}

}  // namespace
}  // namespace join_set_test
