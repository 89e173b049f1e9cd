#include "flow_support.hpp"

#include <rota/cancel.hpp>
#include <rota/scope.hpp>
#include <rota/time.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scope_test {
namespace {

using namespace rota;
using namespace rota::test;

using scope_in_order = in_every_order;
ROTA_IN_EVERY_ORDER(scope_in_order);

/// Runs `body` in a scope of its own task, and returns how that ended. No task may be left.
template <class Body>
std::string run_scope(manual_scheduler& s, Body body) {
  auto around = [&]() -> task<int> { co_return co_await with_scope(body); };
  auto h = s.spawn(around);
  s.run_with_time();
  return end_of(h);
}

TEST_P(scope_in_order, yields_what_the_body_yields) {
  EXPECT_EQ(run_scope(s, [](scope&) -> task<int> { co_return 7; }), "value 7");
  EXPECT_EQ(run_scope(s, [](scope&) -> task<int> { return gives(8); }), "value 8");
}

TEST_P(scope_in_order, body_can_return_void_or_a_reference) {
  int target = 0;
  auto h = s.spawn([&]() -> task<int*> {
    co_await with_scope([&](scope& c) -> task<void> {
      c.fork(gives, 1);
      co_return;
    });
    int& got = co_await with_scope([&](scope&) -> task<int&> { co_return target; });
    co_return &got;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), &target);
}

TEST_P(scope_in_order, waits_for_children_whose_handles_were_dropped) {
  held_event go;
  bool ended = false;
  auto child = [&]() -> task<void> {
    co_await go.wait();
    ended = true;
  };
  auto h = s.spawn([&]() -> task<bool> {
    co_await with_scope([&](scope& c) -> task<void> {
      c.spawn(child);
      co_return;
    });
    co_return ended;
  });
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  go.set();
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST_P(scope_in_order, handles_give_the_values_of_children) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        auto left = c.spawn(gives, 3);
                        auto right = c.spawn(gives(4));
                        const int a = co_await left;
                        const int b = co_await right;
                        co_return a* b;
                      }),
            "value 12");
}

TEST_P(scope_in_order, counts_its_children) {
  held_event go;
  std::vector<std::size_t> sizes;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        sizes.push_back(c.size());
                        auto one = c.spawn(waits_for, std::ref(go));
                        auto two = c.spawn(gives, 1);
                        sizes.push_back(c.size());
                        const int value = co_await two;
                        co_await yield();
                        sizes.push_back(c.size());
                        go.set();
                        co_await one;
                        sizes.push_back(c.size());
                        co_return value;
                      }),
            "value 1");
  EXPECT_EQ(sizes.front(), 0U);
  EXPECT_EQ(sizes.at(1), 2U);
  EXPECT_EQ(sizes.at(2), 1U);
  EXPECT_EQ(sizes.back(), 0U);
}

TEST_P(scope_in_order, exception_of_a_child_is_rethrown_and_cancels_siblings_and_body) {
  std::string log;
  held_event go;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        const witness body(log, 'b');
                        c.spawn([&]() -> task<void> {
                          const witness sibling(log, 's');
                          co_await forever();
                        });
                        c.spawn([&]() -> task<void> {
                          co_await go.wait();
                          throw failure(5);
                        });
                        co_await sleep_for(1ms);
                        go.set();
                        co_await forever();
                        co_return 1;
                      }),
            "failure 5");
  // The sibling may use the body's locals, so it is destroyed first.
  EXPECT_EQ(log, "sb");
  EXPECT_EQ(s.unhandled_count, 0);
  EXPECT_EQ(s.suppressed, 0);
}

TEST_P(scope_in_order, failure_of_a_child_after_the_body_has_returned_is_rethrown) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        c.spawn(waits);
                        c.spawn(throws, 2);
                        co_return 1;
                      }),
            "failure 2");
}

TEST_P(scope_in_order, an_exception_of_the_body_ends_the_children_and_is_rethrown) {
  std::string log;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        c.spawn([&]() -> task<void> {
                          const witness child(log, 'c');
                          co_await forever();
                        });
                        co_await sleep_for(1ms);
                        throw failure(9);
                      }),
            "failure 9");
  EXPECT_EQ(log, "c");
}

TEST_P(scope_in_order, exception_while_the_body_is_created_is_rethrown) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        c.spawn(waits);
                        throw failure(1);
                      }),
            "failure 1");
  auto not_a_coroutine = [](scope& c) -> task<int> {
    c.spawn(waits);
    if (c.size() == 1) throw failure(2);
    return gives(1);
  };
  EXPECT_EQ(run_scope(s, not_a_coroutine), "failure 2");
}

TEST_P(scope_in_order, the_first_failure_is_thrown_and_later_exceptions_are_counted) {
  auto late = [](int number) -> task<void> {
    const auto guard = shield(1h);
    co_await sleep_for(2ms);
    throw failure(number);
  };
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        c.spawn(late, 2);
                        c.spawn(late, 3);
                        co_await sleep_for(1ms);
                        c.spawn(throws, 1);
                        co_return 0;
                      }),
            "failure 1");
  EXPECT_EQ(s.suppressed, 2);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(scope_in_order, an_exception_taken_out_of_a_handle_is_no_failure) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        auto other = c.spawn(gives, 5);
                        auto thrower = c.spawn(throws, 1);
                        int caught = 0;
                        try {
                          co_await thrower;
                        } catch (const failure& f) {
                          caught = f.number;
                        }
                        const int value = co_await other;
                        co_return value + caught;
                      }),
            "value 6");
}

TEST_P(scope_in_order, exception_taken_long_after_the_child_has_ended_is_no_failure) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        auto thrower = c.spawn(throws, 1);
                        co_await sleep_for(1ms);
                        EXPECT_TRUE(thrower.is_done());
                        EXPECT_EQ(c.size(), 0U);
                        const outcome<int> end = co_await thrower.result();
                        co_return end.has_exception() ? 3 : 4;
                      }),
            "value 3");
}

TEST_P(scope_in_order, exception_in_a_handle_dropped_after_the_end_is_a_failure) {
  std::string log;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        const witness body(log, 'b');
                        auto thrower = c.spawn(throws, 1);
                        co_await sleep_for(1ms);
                        EXPECT_TRUE(thrower.is_done());
                        thrower.detach();
                        co_await forever();
                        log.push_back('!');
                        co_return 1;
                      }),
            "failure 1");
  EXPECT_EQ(log, "b");
}

TEST_P(scope_in_order, exception_in_a_handle_destroyed_with_the_body_is_a_failure) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        auto thrower = c.spawn(throws, 1);
                        co_await sleep_for(1ms);
                        co_return 1;
                      }),
            "failure 1");
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(scope_in_order, a_handle_that_leaves_the_scope_takes_its_exception_along) {
  std::optional<join_handle<int>> kept;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        kept = c.spawn(throws, 1);
                        co_await sleep_for(1ms);
                        co_return 1;
                      }),
            "value 1");
  EXPECT_EQ(end_of(*kept), "failure 1");
  EXPECT_EQ(s.unhandled_count, 0);
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        kept = c.spawn(throws, 2);
                        co_return 2;
                      }),
            "value 2");
  kept.reset();
  // The exception can no longer be taken, and its scope has ended.
  EXPECT_EQ(s.unhandled_count, 1);
}

TEST_P(scope_in_order, a_child_that_was_cancelled_on_its_own_is_a_failure) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        c.spawn(waits);
                        auto cancelled = c.spawn(waits);
                        co_await sleep_for(1ms);
                        cancelled.cancel(cancel_reason::timeout);
                        cancelled.detach();
                        co_await forever();
                        co_return 1;
                      }),
            "cancelled_error timeout");
}

TEST_P(scope_in_order, child_cancelled_on_its_own_is_no_failure_if_its_result_is_taken) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        auto cancelled = c.spawn(waits);
                        co_await sleep_for(1ms);
                        cancelled.cancel();
                        const outcome<int> end = co_await cancelled.result();
                        co_return end.is_cancelled() ? 2 : 3;
                      }),
            "value 2");
}

TEST_P(scope_in_order, cancel_stops_the_children_and_not_the_body) {
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        c.spawn(waits);
                        auto kept = c.spawn(waits);
                        co_await sleep_for(1ms);
                        c.cancel();
                        co_await sleep_for(1ms);
                        EXPECT_EQ(c.size(), 0U);
                        co_return 4;
                      }),
            "value 4");
}

TEST_P(scope_in_order, cancelled_scope_starts_no_more_children) {
  int alive = 0;
  bool ran = false;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        c.cancel();
                        auto refused = c.spawn(
                            [&](tally) -> task<int> {
                              ran = true;
                              co_return 1;
                            },
                            tally(alive));
                        EXPECT_TRUE(refused.is_done());
                        EXPECT_EQ(alive, 0);
                        const outcome<int> end = co_await refused.result();
                        EXPECT_EQ(end.reason(), cancel_reason::user);
                        co_return 4;
                      }),
            "value 4");
  EXPECT_FALSE(ran);
}

TEST_P(scope_in_order, exception_of_a_child_is_rethrown_even_after_cancel) {
  held_event may_go;
  may_go.let_go();
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        c.spawn([&]() -> task<void> {
                          co_await sleep_for(1ms);
                          co_await checkpoint();
                        });
                        c.spawn([&]() -> task<void> {
                          c.cancel();
                          throw failure(3);
                          co_return;
                        });
                        co_await sleep_for(2ms);
                        co_return 4;
                      }),
            "failure 3");
}

TEST_P(scope_in_order, children_may_spawn_into_the_scope) {
  int leaves = 0;
  struct grower {
    static task<void> grow(scope& c, int depth, int& leaves) {
      if (depth == 0) {
        ++leaves;
        co_return;
      }
      c.spawn(grow, std::ref(c), depth - 1, std::ref(leaves));
      co_await yield();
      c.fork(grow, std::ref(c), depth - 1, std::ref(leaves));
    }
  };
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        c.fork(grower::grow, std::ref(c), 10, std::ref(leaves));
                        co_return 1;
                      }),
            "value 1");
  EXPECT_EQ(leaves, 1024);
}

TEST_P(scope_in_order, a_shield_in_the_body_holds_a_failure_off) {
  std::string log;
  EXPECT_EQ(run_scope(s,
                      [&](scope& c) -> task<int> {
                        c.spawn(throws, 1);
                        {
                          const auto guard = shield(std::chrono::hours(1));
                          co_await sleep_for(1ms);
                          log.push_back('1');
                          co_await sleep_for(1ms);
                          log.push_back('2');
                        }
                        co_await yield();
                        log.push_back('3');
                        co_return 1;
                      }),
            "failure 1");
  EXPECT_EQ(log, "12");
}

TEST_P(scope_in_order, failure_replaces_the_value_of_a_body_that_waits_no_more) {
  // The child fails while the body is about to return: the failure is thrown, and the value is dropped.
  EXPECT_EQ(run_scope(s,
                      [](scope& c) -> task<int> {
                        c.spawn(throws, 1);
                        co_await yield();
                        co_await yield();
                        co_return 1;
                      }),
            "failure 1");
}

}  // namespace
}  // namespace scope_test
