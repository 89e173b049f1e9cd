// One cause reaches several tasks: no task sees the effects of a cancellation that has not reached it yet.
#include "api/scenario_support.hpp"

#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/finally.hpp>
#include <rota/join_set.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/scope.hpp>
#include <rota/time.hpp>
#include <rota/timeout.hpp>
#include <rota/when.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rota::test {
namespace {

constexpr int rounds = 300;

task<int> two() {
  co_await yield();
  co_return 2;
}
task<int> four() {
  const auto [x, y] = co_await when_all(two(), two());
  co_return x + y;
}

struct sightings {
  std::atomic<bool> begun{false};
  std::atomic<int> cancelled_children{0};
  std::atomic<int> exceptions{0};
};

/// Only the parent is cancelled, never the children alone: so the lines that count must not run.
task<int> awaits_children(sightings& saw) {
  for (;;) {
    const auto [x, y] = co_await when_all_settled(two(), four());
    if (!x.has_value() || !y.has_value()) ++saw.cancelled_children;
    try {
      static_cast<void>(co_await when_all(two(), four()));
    } catch (const cancelled_error&) {
      ++saw.exceptions;
    }
    saw.begun = true;
    co_await yield();
  }
}
task<int> pair_of_them(sightings& saw) {
  const auto [x, y] = co_await when_all(awaits_children(saw), awaits_children(saw));
  co_return x + y;
}

TEST(regress, a_parent_does_not_see_its_children_cancelled_before_itself) {
  runtime rt(with_workers(2));
  sightings saw;
  for (int i = 0; i < rounds; ++i) {
    saw.begun = false;
    auto handle = rt.spawn(pair_of_them(saw));
    wait_until([&saw] { return saw.begun.load(); });
    handle.cancel();
    const auto end = handle.wait_for(std::chrono::minutes(1));
    ASSERT_TRUE(end.has_value());
    EXPECT_TRUE(end->is_cancelled());
  }
  EXPECT_EQ(saw.cancelled_children, 0);
  EXPECT_EQ(saw.exceptions, 0);
}

task<int> shielded(std::atomic<bool>& begun, std::atomic<int>& finished) {
  const auto guard = shield(std::chrono::hours(1));
  begun = true;
  for (int i = 0; i < 20; ++i) {
    const auto [x, y] = co_await when_all(four(), four());
    finished += x + y;
  }
  co_return 0;
}
task<int> fails_after(const std::atomic<bool>& begun) {
  while (!begun) co_await yield();
  throw 7;
}
task<int> shielded_beside_a_failure(std::atomic<bool>& begun, std::atomic<int>& finished) {
  const auto [x, y] = co_await when_all(shielded(begun, finished), fails_after(begun));
  co_return x + y;
}

TEST(regress, a_shield_holds_a_cancellation_off_from_children_of_children) {
  runtime rt(with_workers(2));
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> begun{false};
    std::atomic<int> finished{0};
    auto handle = rt.spawn(shielded_beside_a_failure(begun, finished));
    EXPECT_THROW(static_cast<void>(handle.join()), int);
    ASSERT_EQ(finished, 20 * 8);
  }
}

// --- a shutdown refuses children of tasks that still run

enum class way_to_end : unsigned char { none, well, cancelled };

task<> child_of_a_scope() { co_await yield(); }
task<> spawns_in_a_scope() {
  co_await with_scope([](scope& children) -> task<> {
    children.spawn(child_of_a_scope());
    co_return;
  });
}
task<> spawns_in_an_async_scope() {
  async_scope children;
  children.spawn(child_of_a_scope());
  co_await children.close();
}

task<> waits(std::atomic<bool>& begun) {
  begun = true;
  co_await sleep_for(std::chrono::hours(1));
}
/// Runs `work` as the clean-up of a task that the shutdown has cancelled.
task<> cleans_up(std::atomic<bool>& begun, task<> (*work)(), way_to_end& end) {
  auto cleanup = [&end, work](const outcome<void>& /*body*/) -> task<> {
    try {
      co_await work();
      end = way_to_end::well;
    } catch (const cancelled_error& why) {
      EXPECT_EQ(why.reason(), cancel_reason::shutdown);
      end = way_to_end::cancelled;
    }
  };
  co_await finally(waits(begun), cleanup, std::chrono::minutes(1));
}

way_to_end end_in_a_shutdown(task<> (*work)()) {
  runtime rt(with_workers(2));
  std::atomic<bool> begun{false};
  way_to_end end = way_to_end::none;
  auto handle = rt.spawn(cleans_up(begun, work, end));
  wait_until([&begun] { return begun.load(); });
  static_cast<void>(rt.shutdown(std::chrono::nanoseconds(0)));
  return end;
}

TEST(regress, scope_ends_as_cancelled_when_a_shutdown_refuses_its_child) {
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(end_in_a_shutdown(spawns_in_a_scope), way_to_end::cancelled);
    ASSERT_EQ(end_in_a_shutdown(spawns_in_an_async_scope), way_to_end::cancelled);
  }
}

// --- the arguments of a when_* do not outlive it

struct in_use {
  explicit in_use(std::atomic<int>& counter) : count(counter) { ++count; }
  in_use(const in_use&) = delete;
  in_use& operator=(const in_use&) = delete;
  ~in_use() { --count; }
  std::atomic<int>& count;
};

task<int> uses_for_hours(std::atomic<int>& count) {
  const in_use here(count);
  co_await sleep_for(std::chrono::hours(1));
  co_return 0;
}
task<int> one() { co_return 1; }
task<int> fails() {
  throw 7;
  co_return 0;
}
task<> until_used(const std::atomic<int>& count, int times) {
  while (count < times) co_await yield();
}

task<> decided_at_once() {
  std::atomic<int> count{0};
  auto first = spawn(one());
  auto second = spawn(uses_for_hours(count));
  co_await until_used(count, 1);
  static_cast<void>(co_await when_any(std::move(first), std::move(second)));
  EXPECT_EQ(count, 0);
}
task<> a_sibling_fails() {
  std::atomic<int> count{0};
  auto temporary = spawn(uses_for_hours(count));
  auto named = spawn(uses_for_hours(count));
  co_await until_used(count, 2);
  try {
    static_cast<void>(co_await when_all(fails(), std::move(temporary), named));
    ADD_FAILURE() << "a child has failed";
  } catch (int) {
    EXPECT_EQ(count, 0);
  }
}
task<> one_of_many_fails() {
  std::atomic<int> count{0};
  std::vector<join_handle<int>> handles;
  handles.push_back(spawn(fails()));
  for (int i = 0; i < 5; ++i) handles.push_back(spawn(uses_for_hours(count)));
  co_await until_used(count, 5);
  try {
    static_cast<void>(co_await when_all(std::move(handles)));
    ADD_FAILURE() << "a child has failed";
  } catch (int) {
    EXPECT_EQ(count, 0);
  }
}
task<> awaits_two(std::atomic<int>& count, std::atomic<bool>& begun) {
  auto first = spawn(uses_for_hours(count));
  auto second = spawn(uses_for_hours(count));
  co_await until_used(count, 2);
  begun = true;
  static_cast<void>(co_await when_all(first, second));
}
task<> the_parent_is_cancelled() {
  std::atomic<int> count{0};
  std::atomic<bool> begun{false};
  auto parent = spawn(awaits_two(count, begun));
  while (!begun) co_await yield();
  parent.cancel();
  const auto end = co_await parent.result();
  EXPECT_TRUE(end.is_cancelled());
  EXPECT_EQ(count, 0);
}
task<> jobs_of_a_pool(pool::thread_pool& jobs) {
  std::atomic<int> count{0};
  auto job = jobs.submit(uses_for_hours(count));
  co_await until_used(count, 1);
  try {
    static_cast<void>(co_await when_all(fails(), job));
    ADD_FAILURE() << "a child has failed";
  } catch (int) {
    EXPECT_EQ(count, 0);
  }
}

TEST(regress, when_combinators_end_their_arguments_before_they_return) {
  pool::pool_options two_threads;
  two_threads.max_threads = 2;
  pool::thread_pool jobs(two_threads);
  for (const unsigned workers : {1U, 2U}) {
    runtime rt(with_workers(workers));
    for (int i = 0; i < rounds / 3; ++i) {
      rt.block_on(decided_at_once());
      rt.block_on(a_sibling_fails());
      rt.block_on(one_of_many_fails());
      rt.block_on(the_parent_is_cancelled());
      rt.block_on(jobs_of_a_pool(jobs));
      // On a worker, where children begin in their parent's place.
      rt.spawn(decided_at_once()).join();
      rt.spawn(a_sibling_fails()).join();
      rt.spawn(one_of_many_fails()).join();
      rt.spawn(the_parent_is_cancelled()).join();
    }
  }
}

// --- one deadline of a task and of those it awaits: the timeout reports it, whichever task it reaches first

task<int> hour() {
  co_await sleep_for(std::chrono::hours(1));
  co_return 1;
}
task<int> by_handle() {
  auto work = spawn(hour());
  co_return co_await work;
}
task<int> by_result() {
  auto work = spawn(hour());
  const auto end = co_await work.result();
  co_return end.has_value() ? 1 : 2;
}
task<> sends_for_an_hour(channel::sender<int> to) {
  for (;;) {
    static_cast<void>(co_await to.send(1));
    co_await sleep_for(std::chrono::microseconds(100));
  }
}
task<int> by_channel() {
  auto [to, from] = channel::bounded<int>(4);
  auto producer = spawn(sends_for_an_hour(std::move(to)));
  int items = 0;
  for (;;) {
    const auto item = co_await from.recv();
    if (!item.has_value()) break;
    ++items;
  }
  co_return items;
}
/// The children inherit the deadline that is set in the same co_await.
task<> ends_late_around_children() {
  for (int i = 0; i < rounds / 10; ++i) {
    const auto all = co_await timeout(std::chrono::microseconds(500), when_all(by_handle(), by_result()));
    EXPECT_FALSE(all.has_value());
    const auto settled =
        co_await timeout(std::chrono::microseconds(500), when_all_settled(by_channel(), by_handle()));
    EXPECT_FALSE(settled.has_value());
  }
}

TEST(regress, one_deadline_around_children_is_reported_by_its_timeout) {
  for (const unsigned workers : {1U, 2U}) {
    runtime rt(with_workers(workers));
    rt.block_on(ends_late_around_children());
    rt.spawn(ends_late_around_children()).join();
  }
}

task<bool> ends_late() {
  const auto end = co_await timeout(std::chrono::microseconds(500), by_handle());
  co_return !end.has_value();
}

// Each other way to wait, and each other boundary: cause_matrix_test.cpp.
TEST(regress, one_deadline_is_reported_by_its_timeout) {
  for (const unsigned workers : {1U, 2U, 4U}) {
    runtime rt(with_workers(workers));
    for (int i = 0; i < rounds / 10; ++i) {
      ASSERT_TRUE(rt.block_on(ends_late())) << "in block_on, " << workers;
      ASSERT_TRUE(rt.spawn(ends_late()).join()) << "spawned, " << workers;
    }
  }
}

// --- one shutdown holds for a task and for those that it awaits

struct says_so_at_end {
  std::atomic<bool>& flag;
  ~says_so_at_end() { flag = true; }
};
struct sweep {
  std::atomic<int> waiting{0};
  std::atomic<bool> first_has_ended{false};
  std::atomic<bool> last_runs{false};
  std::atomic<int> seen{0};
};
task<int> waits_long(sweep& x) {
  ++x.waiting;
  co_await sleep_for(std::chrono::hours(1));
  co_return 1;
}
task<int> waits_first(sweep& x) {
  const says_so_at_end last{x.first_has_ended};
  co_return co_await waits_long(x);
}
/// Does not suspend between the end of the first task and its own check of it.
task<> takes_the_end_of(join_handle<int> first, sweep& x) {
  co_await sleep_for(std::chrono::microseconds(1));
  x.last_runs = true;
  while (!x.first_has_ended) {
  }
  static_cast<void>(co_await first.result());
  ++x.seen;
}

// The shutdown comes to the first task long before it comes to the last one, which runs and then awaits it.
TEST(regress, task_does_not_see_the_end_of_a_task_that_shutdown_cancelled_first) {
  constexpr int between = 2000;
  for (int i = 0; i < rounds / 3; ++i) {
    sweep x;
    runtime rt(with_workers(2));
    auto first = rt.spawn(waits_first(x));
    wait_until([&x] { return x.waiting == 1; });
    std::vector<join_handle<int>> others;
    for (int k = 0; k < between; ++k) others.push_back(rt.spawn(waits_long(x)));
    wait_until([&x] { return x.waiting == 1 + between; });
    auto last = rt.spawn(takes_the_end_of(std::move(first), x));
    wait_until([&x] { return x.last_runs.load(); });
    static_cast<void>(rt.shutdown(std::chrono::nanoseconds(0)));
    ASSERT_EQ(x.seen, 0);
  }
}

// --- an outer cause has happened, and is not delivered yet

/// The timer of the deadline that it has inherited cannot fire: the only worker is here.
task<int> works_past_the_deadline_around_it(std::atomic<int>& seen) {
  const auto around = this_task::deadline();
  while (std::chrono::steady_clock::now() <= around) {
  }
  const auto end = co_await timeout(0ns, sleep_for(std::chrono::hours(1)));
  ++seen;
  co_return end.has_value() ? 1 : 2;
}
task<int> awaits_one_that_works(std::atomic<int>& seen) {
  auto work = spawn(works_past_the_deadline_around_it(seen));
  co_return co_await work;
}

TEST(regress, an_inherited_deadline_is_reported_before_a_later_one_inside) {
  runtime rt(with_workers(1));
  std::atomic<int> seen{0};
  const auto limited = [&seen]() -> task<bool> {
    const auto end = co_await timeout(20ms, awaits_one_that_works(seen));
    co_return end.has_value();
  };
  EXPECT_FALSE(rt.spawn(limited).join());
  EXPECT_EQ(seen, 0);
}

// --- a shield of a task further out holds off the deadlines around it, not those that are set inside of it

struct shield_case {
  std::chrono::steady_clock::time_point until;
  bool has_awaited = false;
  bool was_thrown = false;
  bool is_late = false;
};

/// Awaits a closure that had no time left. No timer comes between: the only worker is here.
task<int> awaits_one_without_time(shield_case& x) {
  const auto around = std::max(this_task::deadline(), x.until);
  while (std::chrono::steady_clock::now() <= around) {
  }
  auto work = spawn_blocking([] { return 1; });
  while (!work.is_done()) std::this_thread::yield();
  x.has_awaited = true;
  try {
    co_return co_await work;
  } catch (const cancelled_error&) {
    x.was_thrown = true;
    throw;
  }
}
task<int> through_a_scope(shield_case& x) {
  int value = 0;
  co_await with_scope([&](scope& children) -> task<> {
    auto work = children.spawn(awaits_one_without_time(x));
    value = co_await work;
  });
  co_return value;
}
task<int> through_a_group(shield_case& x) {
  const auto [end, other] = co_await when_all_settled(awaits_one_without_time(x), two());
  co_return end.value();
}
using way_down = task<int> (*)(shield_case&);

/// On a slow machine the deadline may have passed before the task begins.
template <class Around, class... Args>
shield_case until_it_has_awaited(runtime& rt, Around around, Args... args) {
  shield_case x;
  do {
    x = rt.spawn(around(args...)).join();
  } while (!x.has_awaited);
  return x;
}

task<> sets_a_deadline(way_down inside, shield_case& x) {
  const auto end = co_await timeout(20ms, inside(x));
  x.is_late = !end.has_value();
}
task<shield_case> in_a_scope_under_a_shield(way_down inside) {
  const auto guard = shield(std::chrono::hours(1));
  shield_case x;
  co_await with_scope([&](scope& children) -> task<> {
    children.fork(sets_a_deadline(inside, x));
    co_return;
  });
  co_return x;
}
task<shield_case> in_a_group_under_a_shield(way_down inside) {
  const auto guard = shield(std::chrono::hours(1));
  shield_case x;
  co_await when_all(sets_a_deadline(inside, x), two());
  co_return x;
}

TEST(regress, a_shield_does_not_hold_off_a_deadline_that_a_child_sets_itself) {
  runtime rt(with_workers(1));
  for (const auto around : {&in_a_scope_under_a_shield, &in_a_group_under_a_shield}) {
    for (const way_down inside : {&through_a_scope, &through_a_group}) {
      const auto x = until_it_has_awaited(rt, around, inside);
      EXPECT_TRUE(x.is_late);
      EXPECT_FALSE(x.was_thrown);
    }
  }
}

/// The deadline holds for the scope. Its body is under a shield, so it goes on, and so do its children.
task<> shields_the_body(task<int> child) {
  co_await with_scope([&child](scope& children) -> task<> {
    auto work = children.spawn(std::move(child));
    const auto guard = shield(std::chrono::hours(1));
    static_cast<void>(co_await work.result());
  });
}
using child_of_the_scope = task<int> (*)(way_down, shield_case&);

task<shield_case> under_a_shielded_body(child_of_the_scope child, way_down inside) {
  shield_case x;
  // The result of the body wins, also if it is late.
  static_cast<void>(co_await timeout(20ms, shields_the_body(child(inside, x))));
  co_return x;
}

task<int> sets_none(way_down inside, shield_case& x) { return inside(x); }
/// The deadline inside is the limit of the shield. What ends the task is the deadline around the scope.
task<int> shields_briefly(way_down inside, shield_case& x) {
  const auto guard = shield(30ms);
  co_return co_await inside(x);
}

TEST(regress, shield_in_a_scope_body_delays_a_deadline_for_children_of_children) {
  runtime rt(with_workers(1));
  for (const child_of_the_scope child : {&sets_none, &shields_briefly}) {
    for (const way_down inside : {&awaits_one_without_time, &through_a_scope, &through_a_group}) {
      const auto x = until_it_has_awaited(rt, under_a_shielded_body, child, inside);
      EXPECT_TRUE(x.was_thrown);
    }
  }
}

task<int> sets_a_later_one(way_down inside, shield_case& x) {
  x.until = std::chrono::steady_clock::now() + 30ms;
  const auto end = co_await with_deadline(x.until, inside(x));
  x.is_late = !end.has_value();
  co_return 0;
}
task<int> sets_the_same(way_down inside, shield_case& x) {
  const auto end = co_await with_deadline(this_task::deadline(), inside(x));
  x.is_late = !end.has_value();
  co_return 0;
}
task<int> sets_one_around_a_shield(way_down inside, shield_case& x) {
  const auto end = co_await timeout(1ms, shields_briefly(inside, x));
  x.is_late = !end.has_value();
  co_return 0;
}

task<int> lowers(shield_guard guard, way_down inside, shield_case& x) {
  {
    const auto gone = std::move(guard);
  }
  co_return co_await inside(x);
}
task<int> raises_and_lowers(way_down inside, shield_case& x) {
  auto guard = shield(std::chrono::hours(1));
  static_cast<void>(co_await timeout(std::chrono::hours(1), lowers(std::move(guard), inside, x)));
  co_return 0;
}
task<int> sets_one_around_a_shield_that_is_gone(way_down inside, shield_case& x) {
  const auto end = co_await timeout(1ms, raises_and_lowers(inside, x));
  x.is_late = !end.has_value();
  co_return 0;
}

TEST(regress, shield_in_a_scope_body_does_not_delay_a_deadline_that_a_child_sets) {
  runtime rt(with_workers(1));
  for (const child_of_the_scope child : {&sets_a_later_one,
                                         &sets_the_same,
                                         &sets_one_around_a_shield,
                                         &sets_one_around_a_shield_that_is_gone}) {
    for (const way_down inside : {&through_a_scope, &through_a_group}) {
      const auto x = until_it_has_awaited(rt, under_a_shielded_body, child, inside);
      EXPECT_TRUE(x.is_late);
      EXPECT_FALSE(x.was_thrown);
    }
  }
}

// --- one cancellation holds for a child and for another that it awaits

task<int> awaits_another(join_handle<int> other) { co_return co_await other; }
task<int> receives_all(channel::receiver<int> from, std::atomic<int>& ends) {
  int items = 0;
  for (;;) {
    const auto item = co_await from.recv();
    if (!item.has_value()) break;
    ++items;
  }
  ++ends;
  co_return items;
}
task<> cancels_children_that_await_each_other(std::atomic<int>& ends, bool fails_instead) {
  co_await with_scope([&](scope& children) -> task<> {
    auto first = children.spawn(hour());
    auto second = children.spawn(awaits_another(std::move(first)));
    auto [to, from] = channel::bounded<int>(4);
    children.fork(sends_for_an_hour(std::move(to)));
    children.fork(receives_all(std::move(from), ends));
    children.fork(awaits_another(std::move(second)));
    co_await sleep_for(std::chrono::microseconds(200));
    if (fails_instead) throw 7;
    children.cancel();
  });
}

TEST(regress, children_of_a_cancelled_scope_do_not_see_each_others_end) {
  for (const unsigned workers : {1U, 2U}) {
    runtime rt(with_workers(workers));
    std::atomic<int> ends{0};
    for (int i = 0; i < rounds; ++i) {
      EXPECT_NO_THROW(rt.block_on(cancels_children_that_await_each_other(ends, false)));
      EXPECT_NO_THROW(rt.spawn(cancels_children_that_await_each_other(ends, false)).join());
      EXPECT_THROW(rt.block_on(cancels_children_that_await_each_other(ends, true)), int);
    }
    EXPECT_EQ(ends, 0);
  }
}

task<int> sends_for_an_hour_as_a_child(channel::sender<int> to) {
  co_await sends_for_an_hour(std::move(to));
  co_return 0;
}
task<int> fails_soon() {
  co_await sleep_for(std::chrono::microseconds(200));
  throw 7;
}
task<> siblings_of_a_failure(std::atomic<int>& ends) {
  // The cancellation comes to the sender long before it comes to the receiver.
  constexpr int between = 200;
  auto [to, from] = channel::bounded<int>(4);
  std::vector<task<int>> all;
  all.push_back(sends_for_an_hour_as_a_child(std::move(to)));
  for (int i = 0; i < between; ++i) all.push_back(hour());
  all.push_back(receives_all(std::move(from), ends));
  all.push_back(fails_soon());
  static_cast<void>(co_await when_all(std::move(all)));
}
task<> a_set_that_is_cancelled(std::atomic<int>& ends) {
  auto [to, from] = channel::bounded<int>(4);
  join_set<int> works;
  works.spawn(sends_for_an_hour_as_a_child(std::move(to)));
  works.spawn(receives_all(std::move(from), ends));
  co_await sleep_for(std::chrono::microseconds(200));
  co_await works.close();
}

TEST(regress, siblings_that_are_cancelled_together_do_not_see_each_others_end) {
  for (const unsigned workers : {1U, 2U}) {
    runtime rt(with_workers(workers));
    std::atomic<int> ends{0};
    for (int i = 0; i < rounds; ++i) {
      EXPECT_THROW(rt.block_on(siblings_of_a_failure(ends)), int);
      EXPECT_THROW(rt.spawn(siblings_of_a_failure(ends)).join(), int);
      rt.block_on(a_set_that_is_cancelled(ends));
      rt.spawn(a_set_that_is_cancelled(ends)).join();
    }
    EXPECT_EQ(ends, 0);
  }
}

// --- a job that was stopped says why

task<> awaits_named(pool::work<int>& job, std::atomic<bool>& begun) {
  begun = true;
  static_cast<void>(co_await job);
}

TEST(regress, a_job_of_a_pool_says_for_what_cause_it_was_stopped) {
  pool::thread_pool jobs;
  std::atomic<int> count{0};
  for (const bool starts : {true, false}) {
    runtime rt;
    const auto until_begun = [&] {
      if (starts) wait_until([&count] { return count == 1; });
    };
    std::atomic<bool> begun{false};
    auto late = jobs.submit(uses_for_hours(count));
    until_begun();
    rt.block_on([](pool::work<int>& job) -> task<> {
      const auto end = co_await timeout(std::chrono::milliseconds(1), job);
      EXPECT_FALSE(end.has_value());
    }(late));
    EXPECT_EQ(late.fetch().reason(), cancel_reason::timeout);

    auto shut_down = jobs.submit(uses_for_hours(count));
    until_begun();
    auto waits_for_it = rt.spawn(awaits_named(shut_down, begun));
    wait_until([&begun] { return begun.load(); });
    static_cast<void>(rt.shutdown(std::chrono::seconds(10)));
    EXPECT_EQ(shut_down.fetch().reason(), cancel_reason::shutdown);
  }
}

// ---- a clean-up awaits what the cause of the cancellation has cancelled, too ----

task<> for_an_hour() { co_await sleep_for(std::chrono::hours(1)); }

/// The writer is a child of the scope, and the clean-up awaits its end.
task<> cleans_up_after_its_writer(std::atomic<bool>& has_begun) {
  const auto body = [&has_begun](scope& s) -> task<> {
    auto writer = s.spawn(for_an_hour());
    const auto reads = [&has_begun]() -> task<> {
      has_begun = true;
      co_await for_an_hour();
    };
    const auto joins = [&writer]() -> task<> { co_await writer; };
    co_await finally(reads, joins, std::chrono::seconds(10));
  };
  co_await with_scope(body);
}
task<> cancels_its_scope(std::atomic<bool>& has_begun) {
  const auto body = [&has_begun](scope& s) -> task<> {
    s.spawn(cleans_up_after_its_writer(has_begun)).detach();
    while (!has_begun) co_await yield();
    s.cancel();
  };
  co_await with_scope(body);
}
task<> is_late(std::atomic<bool>& has_begun) {
  const auto end = co_await timeout(std::chrono::milliseconds(5), cleans_up_after_its_writer(has_begun));
  EXPECT_FALSE(end.has_value());
}
task<int> wins(std::atomic<bool>& has_begun) {
  while (!has_begun) co_await yield();
  co_return 1;
}
task<int> loses(std::atomic<bool>& has_begun) {
  co_await cleans_up_after_its_writer(has_begun);
  co_return 2;
}
task<> has_a_winner(std::atomic<bool>& has_begun) {
  const auto won = co_await when_any(wins(has_begun), loses(has_begun));
  EXPECT_EQ(won.index(), 0U);
}

TEST(regress, cleanup_may_await_a_task_that_the_same_cause_cancelled) {
  using way = task<> (*)(std::atomic<bool>&);
  for (const unsigned workers : {1U, 2U}) {
    for (const way each : {way(cancels_its_scope), way(is_late), way(has_a_winner)}) {
      runtime rt(with_workers(workers));  // an unhandled exception would end the program
      std::atomic<bool> has_begun = false;
      rt.spawn(each(has_begun)).join();
      EXPECT_EQ(rt.stats().total_unhandled, 0U);
      EXPECT_EQ(rt.stats().total_suppressed, 1U);
    }
    runtime rt(with_workers(workers));
    std::atomic<bool> has_begun = false;
    auto cancelled = rt.spawn(cleans_up_after_its_writer(has_begun));
    while (!has_begun) std::this_thread::yield();
    cancelled.cancel();
    EXPECT_THROW(cancelled.join(), cancelled_error);
    EXPECT_EQ(rt.stats().total_unhandled, 0U);
  }
}

}  // namespace
}  // namespace rota::test
