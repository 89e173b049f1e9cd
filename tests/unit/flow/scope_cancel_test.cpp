// Scopes: their task is cancelled, its time is over, or it has very many children.
#include "flow_support.hpp"

#include <rota/cancel.hpp>
#include <rota/detail/enter.hpp>
#include <rota/scope.hpp>
#include <rota/time.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scope_cancel_test {
namespace {

using namespace rota;
using namespace rota::test;

class cancelled_scope : public in_every_order {
 protected:
  /// Runs until all tasks wait, without moving the clock; then cancels.
  template <class T>
  void settle_and_cancel(join_handle<T>& h, cancel_reason reason = cancel_reason::user) {
    s.run_until_idle();
    EXPECT_FALSE(h.is_done());
    EXPECT_TRUE(h.cancel(reason));
    s.run_until_idle();
  }
};
ROTA_IN_EVERY_ORDER(cancelled_scope);

TEST_P(cancelled_scope, runs_nothing_if_cancelled_before_it_starts) {
  bool ran = false;
  auto h = s.spawn([&]() -> task<void> {
    co_await with_scope([&](scope&) -> task<void> {
      ran = true;
      co_return;
    });
  });
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_FALSE(ran);
}

TEST_P(cancelled_scope, cancels_the_children_for_the_same_reason) {
  std::vector<std::string> ends;
  std::optional<join_handle<int>> kept;
  auto h = s.spawn([&]() -> task<void> {
    co_await with_scope([&](scope& c) -> task<void> {
      kept = c.spawn(waits);
      co_await forever();
    });
  });
  settle_and_cancel(h, cancel_reason::shutdown);
  EXPECT_EQ(end_of(h), "cancelled shutdown");
  EXPECT_EQ(end_of(*kept), "cancelled shutdown");
}

TEST_P(cancelled_scope, destroys_the_locals_of_the_body_after_the_children_have_ended) {
  std::string log;
  std::string outside = "outside";
  held_event slow;
  auto h = s.spawn([&]() -> task<void> {
    std::string callers(100, 'c');
    const witness w(log, 'w');
    co_await with_scope([&](scope& c) -> task<void> {
      std::string bodys(100, 'b');
      const witness x(log, 'x');
      c.spawn(holds, std::ref(callers));
      c.spawn(holds, std::ref(bodys));
      c.spawn([&]() -> task<void> {
        const user_of user(bodys);
        const witness y(log, 'y');
        co_await slow.wait();
      });
      co_await forever();
    });
  });
  settle_and_cancel(h);
  // One child has not ended. It may still use the locals of the body.
  EXPECT_FALSE(h.is_done());
  EXPECT_TRUE(slow.is_being_cancelled());
  EXPECT_EQ(log, "");
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(log, "yxw");
}

TEST_P(cancelled_scope, waits_for_an_awaited_child_before_it_destroys_the_body) {
  std::string log;
  held_event slow;
  auto h = s.spawn([&]() -> task<void> {
    co_await with_scope([&](scope& c) -> task<void> {
      std::string bodys(100, 'b');
      const witness x(log, 'x');
      c.spawn(holds, std::ref(bodys));
      auto awaited = c.spawn([&]() -> task<void> {
        const user_of user(bodys);
        const witness y(log, 'y');
        co_await slow.wait();
      });
      co_await awaited;
      log.push_back('!');
    });
  });
  settle_and_cancel(h);
  EXPECT_FALSE(h.is_done());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(log, "yx");
}

TEST_P(cancelled_scope, cancels_and_joins_its_children_after_the_body_has_returned) {
  held_event slow;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      c.spawn(waits_for, std::ref(slow));
      c.spawn(waits);
      co_return 1;
    });
  });
  settle_and_cancel(h);
  EXPECT_TRUE(slow.is_being_cancelled());
  EXPECT_FALSE(h.is_done());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(cancelled_scope, stays_cancelled_if_a_shielded_child_succeeds) {
  held_event slow;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      c.spawn([&]() -> task<void> {
        const auto guard = shield(1h);
        co_await slow.wait();
      });
      co_await forever();
      co_return 1;
    });
  });
  settle_and_cancel(h);
  EXPECT_FALSE(h.is_done());
  EXPECT_FALSE(slow.is_being_cancelled());
  slow.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST_P(cancelled_scope, an_exception_that_it_swallows_is_counted) {
  held_event go;
  auto h = s.spawn([&]() -> task<void> {
    co_await with_scope([&](scope& c) -> task<void> {
      c.spawn([&]() -> task<void> {
        const auto guard = shield(1h);
        co_await go.wait();
        throw failure(1);
      });
      co_await forever();
    });
  });
  settle_and_cancel(h);
  go.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.suppressed, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST_P(cancelled_scope, takes_no_more_children) {
  std::vector<std::string> ends;
  auto h = s.spawn([&]() -> task<void> {
    co_await with_scope([&](scope& c) -> task<void> {
      c.spawn([&]() -> task<void> {
        struct last_wish {
          scope* c;
          std::vector<std::string>* ends;
          ~last_wish() {
            auto late = c->spawn(gives, 1);
            ends->push_back(end_of(late));
          }
        } const wish{&c, &ends};
        co_await forever();
      });
      co_await forever();
    });
  });
  settle_and_cancel(h, cancel_reason::timeout);
  EXPECT_EQ(end_of(h), "cancelled timeout");
  EXPECT_EQ(ends, std::vector<std::string>{"cancelled timeout"});
}

TEST_P(cancelled_scope, is_unwound_by_an_outer_deadline_after_the_children_have_ended) {
  std::string log;
  held_event slow;
  std::optional<join_handle<int>> kept;
  auto h = s.spawn([&]() -> task<std::string> {
    auto work = with_scope([&](scope& c) -> task<void> {
      const witness body(log, 'b');
      kept = c.spawn(waits);
      c.spawn([&]() -> task<void> {
        const witness child(log, 'c');
        co_await slow.wait();
      });
      co_await forever();
    });
    const auto end = co_await timeout(5ms, std::move(work));
    co_return end.has_value() ? "in time" : log;
  });
  s.run_until_idle();
  s.advance(5ms);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(h.join(), "cb");
  EXPECT_EQ(end_of(*kept), "cancelled timeout");
}

TEST_P(cancelled_scope, deadline_inside_the_body_does_not_apply_to_the_children) {
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      join_handle<int> child;
      auto spawning = [&]() -> task<void> {
        child = c.spawn([]() -> task<int> {
          EXPECT_EQ(this_task::deadline(), std::chrono::steady_clock::time_point::max());
          co_await sleep_for(10ms);
          co_return 6;
        });
        co_await forever();
      };
      const auto late = co_await timeout(1ms, spawning());
      EXPECT_FALSE(late.has_value());
      co_return co_await child;
    });
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), 6);
}

TEST_P(cancelled_scope, children_inherit_the_deadline_of_the_scope) {
  const base::time_point start = s.time;
  auto h = s.spawn([&]() -> task<bool> {
    auto work = with_scope([&](scope& c) -> task<base::time_point> {
      auto child = c.spawn([]() -> task<base::time_point> { co_return this_task::deadline(); });
      co_return co_await child;
    });
    const auto got = co_await timeout(7ms, std::move(work));
    co_return got.value() == start + 7ms;
  });
  s.run_with_time();
  EXPECT_TRUE(h.join());
}

// --- nested

task<int> nest(int depth, std::string& log, task<int> (*innermost)()) {
  if (depth == 0) co_return co_await innermost();
  co_return co_await with_scope([&](scope& c) -> task<int> {
    if (depth % 100 == 0) c.spawn(holds, std::ref(log));
    c.fork(gives, 1);
    const int below = co_await nest(depth - 1, log, innermost);
    c.cancel();
    co_return below + 1;
  });
}

TEST_P(cancelled_scope, a_thousand_nested_scopes_yield_their_value) {
  std::string log;
  auto h = s.spawn([&]() -> task<int> { co_return co_await nest(1000, log, [] { return gives(5); }); });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value 1005");
  EXPECT_EQ(log, "..........");
}

TEST_P(cancelled_scope, a_thousand_nested_scopes_fail_one_after_the_other) {
  std::string log;
  auto h = s.spawn([&]() -> task<int> { co_return co_await nest(1000, log, [] { return throws(5); }); });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "failure 5");
  EXPECT_EQ(log, "..........");
}

TEST_P(cancelled_scope, a_thousand_nested_scopes_unwind) {
  std::string log;
  auto h = s.spawn([&]() -> task<int> { co_return co_await nest(1000, log, waits); });
  settle_and_cancel(h);
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(log, "..........");
}

TEST_P(cancelled_scope, caught_failure_of_an_inner_scope_does_not_fail_the_outer) {
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& outer) -> task<int> {
      auto sibling = outer.spawn(gives, 10);
      int caught = 0;
      try {
        co_await with_scope([&](scope& inner) -> task<void> {
          inner.spawn(throws, 3);
          co_await forever();
        });
      } catch (const failure& f) {
        caught = f.number;
      }
      const int value = co_await sibling;
      co_return value + caught;
    });
  });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value 13");
}

TEST_P(cancelled_scope, failure_of_the_outer_scope_unwinds_the_inner) {
  std::string log;
  held_event slow;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& outer) -> task<int> {
      const witness o(log, 'o');
      outer.spawn([&]() -> task<void> {
        co_await sleep_for(1ms);
        throw failure(3);
      });
      co_await with_scope([&](scope& inner) -> task<void> {
        const witness i(log, 'i');
        inner.spawn([&]() -> task<void> {
          const witness child(log, 'c');
          co_await slow.wait();
        });
        co_await forever();
      });
      log.push_back('!');
      co_return 1;
    });
  });
  s.run_with_time();
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(log, "");
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "failure 3");
  EXPECT_EQ(log, "cio");
}

TEST_P(cancelled_scope, failure_wins_over_a_later_cancellation) {
  held_event slow;
  std::string log;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      const witness b(log, 'b');
      c.spawn(waits_for, std::ref(slow));
      c.spawn(throws, 1);
      co_await forever();
      co_return 1;
    });
  });
  s.run_until_idle();
  // The scope has failed and waits for a child. Now its task is cancelled as well.
  EXPECT_FALSE(h.is_done());
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log, "");
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(log, "b");
  // The failure had started to unwind, and there is no wait after it.
  EXPECT_EQ(end_of(h), "failure 1");
}

// --- many

TEST(very_many_children, a_hundred_thousand_children_end) {
  manual_scheduler s;
  long sum = 0;
  auto h = s.spawn([&]() -> task<std::size_t> {
    co_await with_scope([&](scope& c) -> task<void> {
      for (int i = 0; i < 100'000; ++i) {
        c.fork(
            [](long& into, int n) -> task<void> {
              into += n;
              co_return;
            },
            std::ref(sum),
            i);
      }
      co_return;
    });
    co_return 0U;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), 0U);
  EXPECT_EQ(sum, 4'999'950'000);
}

TEST(very_many_children, failure_of_one_in_a_hundred_thousand_cancels_the_others) {
  manual_scheduler s;
  int alive = 0;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      for (int i = 0; i < 100'000; ++i) {
        c.fork(
            [](tally, int n) -> task<void> {
              if (n == 77'777) throw failure(n);
              co_await forever();
            },
            tally(alive),
            i);
      }
      co_return 0;
    });
  });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "failure 77777");
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(s.cancelled, 99'999);
}

TEST(very_many_children, a_hundred_thousand_children_are_cancelled) {
  manual_scheduler s;
  int alive = 0;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      for (int i = 0; i < 100'000; ++i) {
        c.fork([](tally) -> task<void> { co_await forever(); }, tally(alive));
      }
      co_await forever();
      co_return 0;
    });
  });
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(alive, 0);
}

// --- where children belong

TEST_P(cancelled_scope, spawn_without_a_runtime_throws) {
  int alive = 0;
  auto work = [&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      try {
        c.spawn([](tally) -> task<int> { co_return 1; }, tally(alive));
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::no_runtime);
        EXPECT_EQ(alive, 0);
        co_return 2;
      }
      co_return 3;
    });
  };
  EXPECT_EQ(core::run_on_this_thread(work(), nullptr), 2);
}

TEST_P(cancelled_scope, closed_scheduler_cancels_a_spawned_child) {
  int alive = 0;
  auto h = s.spawn([&]() -> task<int> {
    co_return co_await with_scope([&](scope& c) -> task<int> {
      s.closed = true;
      auto refused = c.spawn([](tally) -> task<int> { co_return 1; }, tally(alive));
      EXPECT_TRUE(refused.is_done());
      EXPECT_EQ(alive, 0);
      static_cast<void>(co_await refused.result());
      // The shutdown cancels this task, too.
      co_return 5;
    });
  });
  s.run_until_idle();
  s.closed = false;
  EXPECT_EQ(end_of(h), "cancelled shutdown");
}

}  // namespace
}  // namespace scope_cancel_test
