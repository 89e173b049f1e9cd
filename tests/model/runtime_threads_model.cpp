// P13: the runtime's threads. Closures wait for an idle thread, a new one, or one that could not be started.
// Tasks that block lend their roles. The watchdog sleeps while nothing happens, and reports long polls.
#include "model/whole.hpp"

#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace rota {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::guest;
using model::handover;
using model::one_worker;
using model::quiet;
using model::signal;
using model::two_workers;
using model::whole;
using model::whole_exhaustive;
using model::with_few_threads;
using testing::check;
using testing::execution;

task<int> three_closures(std::chrono::milliseconds pause) {
  auto one = spawn_blocking([] { return 1; });
  auto two = spawn_blocking([] { return 2; });
  const int sum = co_await one + co_await two;
  co_await sleep_for(pause);
  auto three = spawn_blocking([] { return 3; });
  co_return sum + co_await three;
}

TEST(runtime_threads_model, idle_threads_take_closures_and_leave) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.blocking = {.min_threads = 1, .max_threads = 3, .keep_alive = 2ms};
      runtime rt(o);
      check(rt.block_on(three_closures(std::chrono::milliseconds(testing::choose(2) * 10))) == 6,
            "all three ran");
      rt.block_on([]() -> task<> { co_await sleep_for(50ms); });
      const auto threads = rt.stats().blocking_threads;
      check(threads >= 2 && threads <= 4,
            "the worker's, the one that is kept, and at most as many as may be");
    });
  };
  expect_holds(whole("threads_idle"), body);
}

// A caller that has awaited a closure may have its place at once.
TEST(runtime_threads_model, an_awaited_closure_has_freed_its_place_for_the_next) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 1, .queue_limit = 1};
      runtime rt(o);
      auto first = rt.spawn_blocking([] { return 1; });
      auto second = rt.spawn_blocking([] { return 2; });
      check(first.join() == 1, "the first one ran");
      check(rt.spawn_blocking([] { return 3; }).join() == 3, "the third one was not refused");
      check(second.join() == 2, "the second one ran");
    });
  };
  expect_holds(whole("threads_awaited"), body);
}

// The only allowed thread is about to leave when a closure comes.
TEST(runtime_threads_model, closures_wait_for_one_of_few_threads) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.blocking = {.min_threads = testing::choose(2), .max_threads = 1, .keep_alive = 1ms};
      runtime rt(o);
      check(rt.block_on(three_closures(1ms)) == 6, "all three ran");
      rt.spawn_blocking([] {}).detach();
      rt.spawn_blocking([] {}).detach();
    });
  };
  testing::options o = whole("threads_few");
  o.early_timeouts = 2;
  expect_holds(o, body);
}

// A closure without a thread, because its start failed, runs on a thread that comes later.
TEST(runtime_threads_model, closures_wait_for_a_thread_that_cannot_be_had) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      with_few_threads([] {
        runtime_options o = one_worker();
        o.blocking = {.min_threads = 1, .max_threads = 4, .keep_alive = 1ms};
        runtime rt(o);
        check(rt.block_on(three_closures(5ms)) == 6, "all three ran");
        rt.spawn_blocking([] {}).detach();
      });
    });
  };
  testing::options o = whole("threads_missing");
  o.thread_failures = 2;
  expect_holds(o, body);
}

// The same from outside, when all workers and the watchdog sleep.
TEST(runtime_threads_model, closures_that_wait_for_a_thread_wake_the_watchdog) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      with_few_threads([] {
        runtime_options o = one_worker();
        runtime rt(o);
        signal never;
        never.wait(testing::now() + 1s);
        check(rt.spawn_blocking([] { return 1; }).join() == 1, "it ran");
      });
    });
  };
  testing::options o = whole("threads_outside");
  o.thread_failures = 1;
  expect_holds(o, body);
}

// All workers are blocked by tasks, in each possible way. The threads that take their roles find the rest.
TEST(runtime_threads_model, tasks_that_block_lend_their_roles) {
  const auto body = [](execution& e) {
    auto& go = e.make<signal>();
    e.thread("root", [&go] {
      runtime rt(two_workers());
      const auto all = [&go]() -> task<int> {
        auto joins = spawn([&go]() -> task<int> {
          auto child = spawn([&go]() -> task<int> {
            const guest here;
            co_await sleep_for(1ms);
            co_return block_in_place([&go] {
              go.wait();
              auto nested = spawn([]() -> task<int> { co_return 0; });
              auto another = spawn([]() -> task<int> { co_return 0; });
              return 1 + nested.join() + another.join(help);
            });
          });
          co_return child.join();
        });
        auto helps = spawn([&go]() -> task<int> {
          auto child = spawn([&go]() -> task<int> {
            co_await yield();
            go.raise();
            co_return 2;
          });
          co_return child.join(help);
        });
        const int first = co_await joins;
        co_return first + co_await helps;
      };
      check(rt.block_on(all) == 3, "everybody came to an end");
    });
  };
  expect_holds(whole("threads_block"), body);
}

// The root of block_on has no role to lend, and no thread helps it.
TEST(runtime_threads_model, the_root_of_block_on_may_block_in_a_join) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      const int sum = rt.block_on([]() -> task<int> {
        auto one = spawn([]() -> task<int> { co_return 1; });
        auto two = spawn([]() -> task<int> {
          co_await yield();
          co_return 2;
        });
        co_return one.join() + two.join(help);
      });
      check(sum == 3, "both came");
    });
  };
  expect_holds(whole("threads_root"), body);
}

TEST(runtime_threads_model, roles_that_find_no_thread_are_offered) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      with_few_threads([] {
        runtime_options o = two_workers();
        o.blocking = {.min_threads = 0, .max_threads = 2, .keep_alive = 1ms};
        runtime rt(o);
        const auto blocks = []() -> task<int> {
          auto closure = spawn_blocking([] { return 1; });
          co_return block_in_place([] { return 1; }) + co_await closure;
        };
        auto one = rt.spawn(blocks);
        check(rt.block_on(blocks) + one.join() == 4, "everybody came to an end");
      });
    });
  };
  testing::options o = whole("threads_roles");
  o.thread_failures = 3;
  expect_holds(o, body);
}

/// Its thread takes the role of a worker that has blocked meanwhile, after the closure has returned.
task<int> blocks_beside_a_closure() {
  auto closure = spawn_blocking([] {});
  auto child = spawn([]() -> task<int> {
    co_await yield();
    co_return 1;
  });
  const int got = child.join();
  co_await closure;
  co_return got;
}

// The pool has only the thread of a closure, or no thread can be started at first. Only a thread that takes
// the role later can run the child.
TEST(runtime_threads_model, a_role_that_finds_no_thread_is_played_by_the_next_free_one) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      with_few_threads([] {
        runtime_options o = one_worker();
        // A kept thread never leaves, and so never polls the queues again by itself.
        o.blocking = {.min_threads = testing::choose(2), .max_threads = 1, .keep_alive = 1ms};
        runtime rt(o);
        auto worker_blocks = rt.spawn(blocks_beside_a_closure());
        const auto got = worker_blocks.wait_for(1h);
        check(got.has_value() && got->value() == 1, "the child ran");
      });
    });
  };
  testing::options o = whole("threads_offer");
  o.thread_failures = 2;
  expect_holds(o, body);
}

/// A task that blocks until its child ends, beside a closure that signals that all of them have begun.
void spawn_one_that_blocks(runtime& rt, signal& go) {
  rt.spawn([&go]() -> task<> {
      auto closure = spawn_blocking([&go] { go.raise(); });
      auto child = spawn([]() -> task<> { co_await sleep_for(1h); });
      static_cast<void>(child.wait_for(2h));
      static_cast<void>(co_await closure.result());
    }).detach();
}

// The only other thread is called for the closure that the task awaits. It must run that, then the role.
TEST(runtime_threads_model, an_offered_role_leaves_a_thread_for_the_closure_that_is_joined) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.blocking = {.min_threads = testing::choose(2), .max_threads = 1, .keep_alive = 1ms};
      runtime rt(o);
      const auto joins = []() -> task<int> { co_return spawn_blocking([] { return 1; }).join(); };
      auto first = rt.spawn(joins());
      auto second = rt.spawn(joins());
      for (join_handle<int>* const each : {&first, &second}) {
        const auto got = each->wait_for(1h);
        check(got.has_value() && got->value() == 1, "the closure ran");
      }
    });
  };
  expect_holds(whole("threads_offer_join"), body);
}

// While a role is offered, or is being taken. The blocked task returns when it learns of the end.
TEST(runtime_threads_model, a_shutdown_while_a_role_is_offered) {
  const quiet here;
  const auto body = [](execution& e) {
    auto& go = e.make<signal>();
    e.thread("root", [&go] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 1, .keep_alive = 1ms};
      runtime rt(o);
      spawn_one_that_blocks(rt, go);
      go.wait();
      static_cast<void>(rt.shutdown(testing::choose(2) == 0 ? 0s : 1s));
    });
  };
  expect_holds(whole("threads_offer_end"), body);
}

// The thread that has taken the role blocks, too, and offers it again. The first one returns then, and must
// not take it back in the middle of its task. It plays the role afterwards, since no other thread is free.
TEST(runtime_threads_model, a_role_may_be_offered_again_by_the_thread_that_has_taken_it) {
  const quiet here;
  const auto body = [](execution& e) {
    auto& first = e.make<signal>();
    auto& second = e.make<signal>();
    e.thread("root", [&] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 1, .keep_alive = 1ms};
      runtime rt(o);
      const auto later = [&]() -> task<int> {
        auto child = spawn([&]() -> task<int> {
          second.raise();
          co_return 1;
        });
        first.raise();
        block_in_place([&] { second.wait(); });
        co_return co_await child;
      };
      auto blocks = rt.spawn([&]() -> task<int> {
        auto closure = spawn_blocking([] {});
        auto other = spawn(later);
        block_in_place([&] { first.wait(); });
        co_await closure;
        co_return co_await other;
      });
      const auto got = blocks.wait_for(1h);
      check(got.has_value() && got->value() == 1, "all of them ended");
    });
  };
  expect_holds(whole("threads_offer_again"), body);
}

/// Sums up what has run, and counts what found no place.
struct account {
  int ran = 0;
  int refused = 0;
};
task<account> more_closures_than_places() {
  std::array<join_handle<int>, 3> all;
  for (auto& each : all) each = spawn_blocking([] { return 1; });
  account sum;
  for (auto& each : all) {
    const outcome<int> end = co_await each.result();
    if (end.has_value()) ++sum.ran;
    if (end.reason() == cancel_reason::queue_full) ++sum.refused;
  }
  co_return sum;
}

// One thread, one place to wait in. A task is refused at once, with a reason; what was accepted is run.
TEST(runtime_threads_model, closures_that_find_the_queue_full_are_refused_with_a_reason) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 1, .keep_alive = 1ms, .queue_limit = 1};
      if (testing::choose(2) != 0) o.blocking.on_full = pool::rejection::block;  // which a task must not
      runtime rt(o);
      const account sum = rt.block_on(more_closures_than_places());
      check(sum.ran >= 2 && sum.ran + sum.refused == 3, "there is a thread for one, and a place for another");
      const account again = rt.spawn(more_closures_than_places()).join();
      check(again.ran >= 2 && again.ran + again.refused == 3, "the others have left their places");
    });
  };
  testing::options o = whole("threads_places");
  o.early_timeouts = 1;
  expect_holds(o, body);
}

// Plain threads wait for a place, while blocking tasks take threads from the closures. Each gets its turn.
TEST(runtime_threads_model, plain_threads_wait_for_a_place) {
  const auto body = [](execution& e) {
    auto& first = e.make<handover>();
    auto& second = e.make<handover>();
    e.thread("root", [&] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 2, .keep_alive = 1ms, .queue_limit = 1, .on_full = pool::rejection::block};
      runtime rt(o);
      first.leave(rt.handle());
      second.leave(rt.handle());
      check(rt.spawn([]() -> task<int> { co_return block_in_place([] { return 1; }); }).join() == 1,
            "it came back");
      signal done;
      std::array<join_handle<void>, 3> mine;
      for (auto& each : mine) each = rt.spawn_blocking([&done] { done.raise(); });
      for (auto& each : mine) each.join();
      check(done.is_raised(), "they ran");
    });
    for (handover* const each : {&first, &second}) {
      e.thread("foreign", [each] {
        const runtime_handle from = each->take();
        auto one = from.spawn_blocking([] { return 1; });
        auto two = from.spawn_blocking([] { return 2; });
        for (join_handle<int>* const h : {&one, &two}) {
          const auto end = h->wait_for(1h);
          check(end.has_value(), "it comes to an end");
          check(end->has_value() || end->reason() == cancel_reason::shutdown, "nobody is refused");
        }
      });
    }
  };
  expect_holds(whole("threads_waiting"), body);
}

// A blocking task takes the only thread from the closures, or tries to. When the thread is back, or another
// start failed, a place is free again. The first closure lasts until a thread has found that.
TEST(runtime_threads_model, a_waiter_is_woken_when_queue_space_becomes_free) {
  const quiet here;
  const auto body = [](execution& e) {
    auto& between = e.make<handover>();
    auto& through = e.make<signal>();
    auto& go = e.make<signal>();
    e.thread("root", [&] {
      runtime_options o = one_worker();
      o.blocking = {.max_threads = 1, .queue_limit = 1, .on_full = pool::rejection::block};
      runtime rt(o);
      between.leave(rt.handle());
      auto blocks = rt.spawn([&go]() -> task<int> {
        co_return block_in_place([&go] {
          go.wait();
          return 1;
        });
      });
      signal never;
      if (testing::choose(2) != 0) never.wait(testing::now() + 1ms);
      go.raise();
      check(blocks.join() == 1, "it came back");
      through.wait();
    });
    e.thread("foreign", [&] {
      const runtime_handle from = between.take();
      from.spawn_blocking([&through] { through.wait(); }).detach();
      from.spawn_blocking([] {}).detach();
      through.raise();
    });
  };
  expect_holds(whole("threads_place_back"), body);
}

// The thread that brings the closure runs it itself: a plain one, a worker's, or one of the pool.
TEST(runtime_threads_model, callers_run_closures_when_the_queue_is_full) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.blocking = {
          .max_threads = 1, .keep_alive = 1ms, .queue_limit = 1, .on_full = pool::rejection::caller_runs};
      runtime rt(o);
      auto task_of_worker = rt.spawn(more_closures_than_places());
      auto closure = rt.spawn_blocking([] { return 1; });
      check(rt.block_on(more_closures_than_places()).ran == 3, "nobody is refused");
      check(task_of_worker.join().ran == 3 && closure.join() == 1, "nor is anybody else");
    });
  };
  expect_holds(whole("threads_callers"), body);
}

// The watchdog goes to sleep after some quiet polls; a thread that wakes up wakes it.
TEST(runtime_threads_model, the_watchdog_sleeps_and_is_woken) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      for (int i = 0; i < 2; ++i) {
        rt.block_on([]() -> task<> { co_await sleep_for(1s); });
        rt.spawn([]() -> task<> { co_await yield(); }).join();
      }
    });
  };
  testing::options o = whole("threads_watchdog");
  o.early_timeouts = 2;
  expect_holds(o, body);
}

// The watchdog is about to sleep. Meanwhile a worker wakes up, a thread start fails, or the end comes.
TEST(runtime_threads_model, the_watchdog_misses_no_event_while_it_falls_asleep) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      with_few_threads([] {
        runtime_options o = one_worker();
        o.seed = 1;
        runtime rt(o);
        signal never;
        never.wait(testing::now() + std::chrono::milliseconds(7 + testing::choose(3)));
        const unsigned what = testing::choose(3);
        if (what == 0) rt.spawn([]() -> task<> { co_return; }).join();
        if (what == 1) rt.spawn_blocking([] {}).join();
      });
    });
  };
  testing::options o = whole_exhaustive("threads_lie_down");
  o.thread_failures = 2;
  expect_holds(o, body);
}

// A task keeps its worker: the one in the worker's slot moves to the other; the first is reported once.
TEST(runtime_threads_model, a_long_poll_is_reported_and_its_worker_is_stolen_from) {
  const quiet here;
  const auto body = [](execution& e) {
    auto& go = e.make<signal>();
    e.thread("root", [&go] {
      runtime_options o = two_workers();
      o.watchdog = 3ms;
      runtime rt(o);
      const auto stays = [&go]() -> task<> {
        if (testing::choose(2) != 0) this_task::set_name("greedy");
        if (testing::choose(2) != 0) co_await sleep_for(1ms);
        auto child = spawn([&go]() -> task<> {
          go.raise();
          co_return;
        });
        go.wait();  // not in a blocking section: the worker stays where it is
        model::signal never;
        never.wait(testing::now() + 50ms);
        co_await child;
      };
      rt.block_on([&]() -> task<> {
        auto greedy = spawn(stays);
        co_await greedy;
      });
      (void)rt.shutdown(0s);
      check(rt.stats().total_stalls <= 1, "one poll is reported once");
    });
  };
  expect_holds(whole("threads_stall"), body);
}

void block_for(std::chrono::milliseconds span) {
  model::signal never;
  never.wait(testing::now() + span);
}

/// Waits as `how` says, for so long that the watchdog falls asleep, and then keeps its thread.
task<> waits_and_stays(runtime& rt, unsigned how, sync::event& go) {
  if (how == 1) block_in_place([] { block_for(1s); });
  if (how == 2) co_await go.wait();
  check(rt.stats().total_stalls == 0, "to wait is no fault");
  block_for(50ms);
}

// No worker wakes up for it: its own thread wakes the watchdog. While it waits there is nothing to report.
TEST(runtime_threads_model, a_root_that_stays_in_a_poll_is_reported) {
  const quiet here;
  const auto body = [](execution& e) {
    auto& go = e.make<sync::event>();
    e.thread("root", [&go] {
      runtime_options o = one_worker();
      o.watchdog = 3ms;
      runtime rt(o);
      const unsigned how = testing::choose(3);
      if (how == 0) block_for(1s);
      rt.block_on(waits_and_stays(rt, how, go));
      (void)rt.shutdown(0s);
      check(rt.stats().total_stalls == 1, "one poll was long");
    });
    e.thread("another", [&go] {
      block_for(1s);
      go.set();
    });
  };
  expect_holds(whole("threads_root_stalls"), body);
}

// The watchdog is about to fall asleep when the root begins or goes on.
TEST(runtime_threads_model, the_watchdog_sees_a_root_that_begins_while_it_falls_asleep) {
  const quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime_options o = one_worker();
      o.watchdog = 3ms;
      o.seed = 1;
      runtime rt(o);
      const bool waits_inside = testing::choose(2) != 0;
      const auto pause = std::chrono::milliseconds(7 + testing::choose(3));
      if (!waits_inside) block_for(pause);
      rt.block_on([&]() -> task<> {
        if (waits_inside) block_in_place([pause] { block_for(pause); });
        block_for(50ms);
        co_return;
      });
      (void)rt.shutdown(0s);
      check(rt.stats().total_stalls == 1, "one poll was long");
    });
  };
  expect_holds(whole_exhaustive("threads_lie_down_root"), body);
}

}  // namespace
}  // namespace rota
