// P16, and the whole: the real runtime with two workers, its watchdog and its pool, four to eight tasks,
// timers, blocking work and a foreign thread. Every accepted task ends once and frees its memory, or is
// refused.
#include "model/whole.hpp"

#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace rota {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::guest;
using model::handover;
using model::one_worker;
using model::two_workers;
using model::whole;
using model::with_few_threads;
using testing::check;
using testing::execution;

task<int> number(int n) {
  const guest here;
  co_await yield();
  co_return n;
}

task<int> nap(int milliseconds) {
  const guest here;
  co_await sleep_for(std::chrono::milliseconds(milliseconds));
  co_return milliseconds;
}

task<int> all_kinds() {
  auto first = spawn(number(1));
  auto second = spawn(nap(2));
  auto closure = spawn_blocking([] { return 4; });
  auto abandoned = spawn(nap(1'000'000));
  abandoned.cancel();
  const auto late = co_await timeout(1ms, nap(1'000));
  check(!late.has_value(), "the timeout comes first");
  const auto [three, five] = co_await when_all(number(3), number(5));
  const int sum = co_await first + co_await second + co_await closure;
  co_return sum + three + five;
}

TEST(runtime_model, tasks_of_all_kinds_end_with_their_values) {
  const auto body = [](execution& e) {
    e.thread("root", [] {
      runtime rt(two_workers());
      check(rt.block_on(all_kinds()) == 15, "every value came");
      const shutdown_report last = rt.shutdown(0s);
      check(last.survivors.empty(), "nobody is left");
      const runtime_stats sum = rt.stats();
      check(sum.alive_tasks == 0 && sum.total_spawned == sum.total_completed + sum.total_cancelled,
            "the books are even");
    });
  };
  expect_holds(whole("runtime_kinds"), body);
}

task<> for_ever() {
  const guest here;
  co_await sleep_for(std::chrono::hours(1'000'000));
}

task<> spawns_and_waits() {
  const guest here;
  auto child = spawn(for_ever());
  co_await child;
}

// A shutdown beside tasks that sleep, join and have not begun, a closure, and a thread that goes on spawning.
TEST(runtime_model, a_shutdown_ends_all_tasks_while_a_thread_keeps_spawning) {
  const auto body = [](execution& e) {
    auto& between = e.make<handover>();
    e.thread("root", [&between] {
      runtime rt(two_workers());
      between.leave(rt.handle());
      rt.spawn(spawns_and_waits()).detach();
      rt.spawn(for_ever()).detach();
      rt.spawn_blocking([] {}).detach();
    });
    e.thread("foreign", [&between] {
      const runtime_handle from = between.take();
      for (int i = 0; i < 2; ++i) {
        auto one = from.spawn(for_ever());
        const auto end = one.wait_for(std::chrono::hours(1));
        check(end.has_value() && end->is_cancelled(), "it ends as cancelled, begun or not");
      }
    });
  };
  expect_holds(whole("runtime_shutdown"), body);
}

// The same with that one spawn alone: it is counted before the books are closed, or refused.
TEST(runtime_model, a_task_spawned_from_outside_during_a_shutdown_is_cancelled) {
  const auto body = [](execution& e) {
    auto& between = e.make<handover>();
    auto& spawns = e.make<model::signal>();
    e.thread("root", [&] {
      runtime rt(one_worker());
      between.leave(rt.handle());
      spawns.wait();
    });
    e.thread("foreign", [&] {
      const runtime_handle from = between.take();
      spawns.raise();
      auto one = from.spawn(for_ever());
      const auto end = one.wait_for(std::chrono::hours(1));
      check(end.has_value() && end->is_cancelled(), "it ends as cancelled, begun or not");
    });
  };
  expect_holds(whole("runtime_late_spawn"), body);
}

// The end of a runtime that cannot start all of its threads.
TEST(runtime_model, a_runtime_that_cannot_start_all_threads_leaks_nothing) {
  const model::quiet here;
  const auto body = [](execution& e) {
    e.thread("root", [] {
      with_few_threads([] {
        runtime rt(two_workers());
        check(rt.block_on(number(1)) == 1, "it works if it is there");
      });
    });
  };
  testing::options o = whole("runtime_threads");
  o.thread_failures = 2;
  expect_holds(o, body);
}

}  // namespace
}  // namespace rota
