// Tasks that wait for works by id, for groups, for an idle pool, and for results by id.
#include "support/manual_scheduler.hpp"
#include "unit/pool/pool_support.hpp"

#include <rota/cancel.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/error.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/timeout.hpp>
#include <rota/when.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace async_wait_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;
using rota::test::manual_scheduler;

constexpr work_id unknown{(std::uint64_t{1} << 40U) + 1};

/// Runs tasks until this one has ended. A thread of a pool may wake it.
template <class T>
T end_of(manual_scheduler& s, join_handle<T>& task) {
  until([&] {
    s.run_until_idle();
    return task.is_done();
  });
  return task.join();
}

// ---- by id ------------------------------------------------------------------------------------------------

task<std::string> says_whether_there_is(thread_pool& p, work_id id) {
  const bool found = co_await p.async_wait(id);
  co_return found ? "over" : "none";
}

TEST(async_wait, by_id_ends_when_the_work_is_over) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  auto busy = std::make_unique<blocker>(p);
  auto waits = s.spawn(says_whether_there_is(p, busy->handle().id()));
  auto of_none = s.spawn(says_whether_there_is(p, unknown));
  s.run_until_idle();
  EXPECT_FALSE(waits.is_done());
  EXPECT_EQ(end_of(s, of_none), "none");
  busy->let_go();
  EXPECT_EQ(end_of(s, waits), "over");
  auto again = s.spawn(says_whether_there_is(p, busy->handle().id()));
  EXPECT_EQ(end_of(s, again), "over") << "a handle keeps it";
}

TEST(async_wait, by_reserved_id_waits_for_the_job_submitted_later) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  const work_id id = p.reserve();
  auto waits = s.spawn(says_whether_there_is(p, id));
  s.run_until_idle();
  EXPECT_FALSE(waits.is_done());
  static_cast<void>(p.submit([] {}, {.id = id}));
  EXPECT_EQ(end_of(s, waits), "over");
}

TEST(async_wait, that_is_cancelled_leaves_the_work_alone) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  blocker busy(p, {.name = "busy", .group = "g"});
  const auto queued = p.submit([] {}, {.group = "g"});
  const std::array ids{queued.id(), busy.handle().id()};
  const auto list = [&]() -> task<> { static_cast<void>(co_await p.async_wait(ids)); };
  const auto any = [&]() -> task<> { static_cast<void>(co_await p.async_wait_any(ids)); };
  const auto group = [&]() -> task<> { co_await p.async_wait("g"); };
  const auto idle = [&]() -> task<> { co_await p.async_wait_idle(); };
  const auto result = [&]() -> task<> { static_cast<void>(co_await p.async_fetch<void>(ids[0])); };
  const auto results = [&]() -> task<> { static_cast<void>(co_await p.async_fetch<void>(ids)); };
  std::vector<join_handle<void>> all;
  for (const int round : {0, 1}) {
    static_cast<void>(round);
    all.push_back(s.spawn(list()));
    all.push_back(s.spawn(any()));
    all.push_back(s.spawn(group()));
    all.push_back(s.spawn(idle()));
    all.push_back(s.spawn(result()));
    all.push_back(s.spawn(results()));
  }
  s.run_until_idle();
  // The second waiter of each kind leaves first: it is unlinked from the middle of its list.
  for (const std::size_t i : std::array<std::size_t, 12>{7, 6, 8, 9, 11, 10, 0, 2, 1, 3, 5, 4}) {
    EXPECT_FALSE(all[i].is_done());
    all[i].cancel();
    s.run_until_idle();
    EXPECT_TRUE(all[i].is_done());
    EXPECT_THROW(all[i].join(), cancelled_error);
  }
  EXPECT_EQ(busy.handle().status(), work_status::running);
  EXPECT_EQ(queued.status(), work_status::queued);
  busy.let_go();
  queued.wait();
  EXPECT_EQ(queued.status(), work_status::succeeded);
}

TEST(async_wait, that_times_out_leaves_the_job_alone_and_can_be_repeated) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  blocker busy(p, {.group = "g"});
  const work_id id = busy.handle().id();
  auto tries = s.spawn([&]() -> task<int> {
    int late = 0;
    const auto by_id = co_await timeout(10ms, p.async_wait(id));
    late += by_id.has_value() ? 0 : 1;
    const auto of_group = co_await timeout(10ms, p.async_wait("g"));
    late += of_group.has_value() ? 0 : 1;
    const auto of_all = co_await timeout(10ms, p.async_wait_idle());
    late += of_all.has_value() ? 0 : 1;
    const auto result = co_await timeout(10ms, p.async_fetch<void>(id));
    late += result.has_value() ? 0 : 1;
    busy.let_go();
    const auto at_last = co_await p.async_wait(id);
    co_return at_last ? late : -1;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(s, tries), 4);
  EXPECT_EQ(busy.handle().status(), work_status::succeeded);
}

TEST(async_wait, that_loses_in_a_select_leaves_the_work_alone) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  blocker busy(p, {.group = "g"});
  const std::array ids{busy.handle().id()};
  auto first = s.spawn([&]() -> task<std::size_t> {
    const auto which = co_await channel::select(
        p.async_wait(ids[0]), p.async_wait_any(ids), p.async_wait("g"), p.async_wait_idle(), sleep_for(1ms));
    co_return which.index();
  });
  s.run_with_time();
  EXPECT_EQ(end_of(s, first), 4U);
  EXPECT_EQ(busy.handle().status(), work_status::running);
}

TEST(async_wait, under_a_shield_is_not_cancelled) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  bool is_over = false;
  auto waits = s.spawn([&]() -> task<> {
    auto held = shield(1h);
    static_cast<void>(co_await p.async_wait(busy.handle().id()));
    is_over = busy.handle().is_done();
  });
  s.run_until_idle();
  waits.cancel();
  s.run_until_idle();
  EXPECT_FALSE(waits.is_done());
  busy.let_go();
  until([&] {
    s.run_until_idle();
    return waits.is_done();
  });
  EXPECT_TRUE(is_over);
}

// ---- lists ------------------------------------------------------------------------------------------------

TEST(async_wait, by_list_waits_for_all_and_returns_the_unknown_ids) {
  manual_scheduler s;
  thread_pool p({.max_threads = 3});
  blocker a(p);
  blocker b(p);
  blocker c(p);
  const std::vector ids{a.handle().id(), unknown, b.handle().id(), c.handle().id(), a.handle().id()};
  auto waits = s.spawn([&]() -> task<std::vector<work_id>> { co_return co_await p.async_wait(ids); });
  auto none = s.spawn(
      [&]() -> task<std::vector<work_id>> { co_return co_await p.async_wait(std::span<const work_id>()); });
  EXPECT_TRUE(end_of(s, none).empty());
  for (blocker* each : {&c, &a, &b}) {
    s.run_until_idle();
    EXPECT_FALSE(waits.is_done());
    each->let_go();
    each->handle().wait();
  }
  EXPECT_EQ(end_of(s, waits), std::vector{unknown});
}

TEST(async_wait, any_returns_the_id_of_a_job_that_has_ended) {
  manual_scheduler s;
  thread_pool p({.max_threads = 2});
  blocker a(p);
  blocker b(p);
  const std::vector ids{a.handle().id(), b.handle().id()};
  auto waits = s.spawn([&]() -> task<work_id> { co_return co_await p.async_wait_any(ids); });
  s.run_until_idle();
  EXPECT_FALSE(waits.is_done());
  b.let_go();
  EXPECT_EQ(end_of(s, waits), ids[1]);
  auto again = s.spawn([&]() -> task<work_id> { co_return co_await p.async_wait_any(ids); });
  EXPECT_EQ(end_of(s, again), ids[1]);
  const std::vector with_unknown{ids[0], unknown};
  auto of_none = s.spawn([&]() -> task<work_id> { co_return co_await p.async_wait_any(with_unknown); });
  EXPECT_EQ(end_of(s, of_none), unknown);
  EXPECT_THROW(static_cast<void>(p.async_wait_any({})), std::invalid_argument);
}

// ---- groups, and the pool ---------------------------------------------------------------------------------

TEST(async_wait, of_a_group_ends_when_the_last_job_of_its_subgroups_ends) {
  manual_scheduler s;
  thread_pool p({.max_threads = 2});
  p.relate("above", "below");
  blocker first(p, {.group = "below"});
  blocker second(p, {.group = "above"});
  const auto of = [](thread_pool& pool, std::string name) -> task<> { co_await pool.async_wait(name); };
  auto above = s.spawn(of(p, "above"));
  auto above_too = s.spawn(of(p, "above"));
  auto below = s.spawn(of(p, "below"));
  auto never_named = s.spawn(of(p, "nothing"));
  end_of(s, never_named);
  s.run_until_idle();
  first.let_go();
  end_of(s, below);
  s.run_until_idle();
  EXPECT_FALSE(above.is_done());
  second.let_go();
  end_of(s, above);
  end_of(s, above_too);
}

TEST(async_wait, of_a_group_ends_although_a_member_joins_before_the_task_resumes) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  auto first = std::make_unique<blocker>(p, work_options{.group = "g"});
  auto waits = s.spawn([&]() -> task<> { co_await p.async_wait("g"); });
  s.run_until_idle();
  first.reset();
  until([&] { return s.queued() != 0; });
  const blocker second(p, {.group = "g"});
  s.run_until_idle();
  EXPECT_TRUE(waits.is_done());
}

TEST(async_wait, of_a_group_ends_when_unrelate_removes_the_last_subgroup) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  p.relate("above", "below");
  blocker busy(p, {.group = "below"});
  auto above = s.spawn([&]() -> task<> { co_await p.async_wait("above"); });
  s.run_until_idle();
  EXPECT_FALSE(above.is_done());
  p.unrelate("above", "below");
  end_of(s, above);
}

TEST(async_wait, until_idle_counts_what_is_submitted_meanwhile) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  blocker first(p);
  auto idle = s.spawn([&]() -> task<> { co_await p.async_wait_idle(); });
  auto idle_too = s.spawn([&]() -> task<> { co_await p.async_wait_idle(); });
  s.run_until_idle();
  gate open;
  auto second = p.submit([&] { open.pass(); });
  first.let_go();
  until(second, work_status::running);
  s.run_until_idle();
  EXPECT_FALSE(idle.is_done());
  open.open();
  end_of(s, idle);
  end_of(s, idle_too);
  expect_idle(p);
  auto at_once = s.spawn([&]() -> task<> { co_await p.async_wait_idle(); });
  s.run_until_idle();
  EXPECT_TRUE(at_once.is_done());
}

TEST(async_wait, until_idle_checks_again_after_a_stale_wakeup) {
  // In each round the pool becomes idle and then busy again while the task checks it.
  runtime rt({.workers = 1});
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 500; ++round) {
    std::atomic<bool> last_is_over{false};
    p | [] {};
    gate open;
    p | [&] {
      open.pass();
      last_is_over = true;
    };
    auto waits = rt.spawn([&]() -> task<bool> {
      co_await p.async_wait_idle();
      co_return last_is_over.load();
    });
    dawdle(round);
    open.open();
    EXPECT_TRUE(waits.join());
  }
}

// ---- results ----------------------------------------------------------------------------------------------

TEST(async_wait, fetches_by_id_once) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  gate open;
  const work_id id = p.submit(
                          [&] {
                            open.pass();
                            return 7;
                          },
                          {.store_result = true})
                         .id();
  const auto fetch = [&]() -> task<int> {
    auto got = co_await p.async_fetch<int>(id);
    co_return got.has_value() ? got->value() : -1;
  };
  auto first = s.spawn(fetch());
  s.run_until_idle();
  EXPECT_FALSE(first.is_done());
  open.open();
  EXPECT_EQ(end_of(s, first), 7);
  auto second = s.spawn(fetch());
  EXPECT_EQ(end_of(s, second), -1);
}

TEST(async_wait, fetches_a_list_or_a_group_in_order_and_all_or_nothing) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  std::vector<work_id> ids;
  {
    blocker busy(p);
    for (const int i : {3, 1, 2})
      ids.push_back(p.submit([i] { return i; }, {.group = "g", .store_result = true}).id());
    ids.push_back(p.submit([] { return std::string("no int"); }, {.group = "g", .store_result = true}).id());
  }
  auto wrong = s.spawn([&]() -> task<std::size_t> {
    const auto all = co_await p.async_fetch<int>(ids);
    co_return all.size();
  });
  EXPECT_THROW(static_cast<void>(end_of(s, wrong)), std::invalid_argument);
  auto group = s.spawn([&]() -> task<std::vector<int>> {
    auto all = co_await p.async_fetch<int>("g");
    std::vector<int> values;
    for (auto& [id, each] : all) values.push_back(each.value());
    co_return values;
  });
  EXPECT_EQ(end_of(s, group), (std::vector{3, 1, 2}));
  const std::vector last{unknown, ids[3]};
  auto rest = s.spawn([&]() -> task<std::string> {
    auto all = co_await p.async_fetch<std::string>(last);
    co_return all.at(0).has_value() ? "found" : all.at(1)->value();
  });
  EXPECT_EQ(end_of(s, rest), "no int");
}

// ---- from inside, and at the end --------------------------------------------------------------------------

TEST(async_wait, in_a_coroutine_job_holds_no_thread) {
  thread_pool p({.max_threads = 1});
  gate open;
  auto job = p.submit([&]() -> task<int> {
    const auto inner = p.submit([&] { open.pass(); }, {.group = "g", .store_result = true});
    const bool found = co_await p.async_wait(inner.id());
    co_await p.async_wait("g");
    co_return found ? 1 : 0;
  });
  open.open();
  EXPECT_EQ(job.fetch().value(), 1);
  expect_idle(p);
}

TEST(async_wait, in_a_job_for_itself_would_deadlock) {
  thread_pool p({.max_threads = 1});
  std::vector<work_id> mine;
  gate open;
  const auto says = [](auto wait) -> task<std::string> {
    try {
      co_await wait();
    } catch (const error& e) {
      co_return e.code() == errc::would_deadlock ? "would deadlock" : e.what();
    }
    co_return "waited";
  };
  auto job = p.submit(
      [&]() -> task<std::vector<std::string>> {
        open.pass();
        const auto by_id = [&]() -> task<> { static_cast<void>(co_await p.async_wait(mine[0])); };
        const auto by_list = [&]() -> task<> { static_cast<void>(co_await p.async_wait(mine)); };
        const auto any = [&]() -> task<> { static_cast<void>(co_await p.async_wait_any(mine)); };
        const auto group = [&]() -> task<> { co_await p.async_wait("g"); };
        const auto idle = [&]() -> task<> { co_await p.async_wait_idle(); };
        std::vector<std::string> all;
        all.push_back(co_await says(by_id));
        all.push_back(co_await says(by_list));
        all.push_back(co_await says(any));
        all.push_back(co_await says(group));
        all.push_back(co_await says(idle));
        co_return all;
      },
      {.group = "g"});
  mine.push_back(job.id());
  open.open();
  EXPECT_EQ(job.fetch().value(), std::vector<std::string>(5, "would deadlock"));
}

TEST(async_wait, in_a_select_with_a_ready_case_would_deadlock_as_well) {
  thread_pool p({.max_threads = 1});
  auto job = p.submit([&]() -> task<int> {
    auto [to, from] = channel::bounded<int>(1);
    int refused = 0;
    for (int i = 0; i < 32; ++i) {
      static_cast<void>(to.try_send(i));
      try {
        static_cast<void>(co_await channel::select(p.async_wait_idle(), from.recv()));
      } catch (const error& e) {
        if (e.code() == errc::would_deadlock) ++refused;
      }
    }
    co_return refused;
  });
  EXPECT_EQ(job.fetch().value(), 32);
}

TEST(async_wait, ends_with_the_pool_and_may_be_awaited_after_it) {
  manual_scheduler s;
  auto p = std::make_unique<thread_pool>(pool_options{.max_threads = 1});
  gate open;
  std::atomic<bool> runs{false};
  const work_id running = p->submit(
                               [&] {
                                 runs = true;
                                 open.pass();
                               },
                               {.group = "g"})
                              .id();
  const work_id queued = p->submit([] {}, {.group = "g"}).id();
  until([&] { return runs.load(); });
  const work_id reserved = p->reserve();
  const std::array ids{running, queued, reserved};
  auto list = s.spawn([&]() -> task<> { static_cast<void>(co_await p->async_wait(ids)); });
  auto any = s.spawn([&]() -> task<> { static_cast<void>(co_await p->async_wait_any(ids)); });
  auto group = s.spawn([&]() -> task<> { co_await p->async_wait("g"); });
  auto idle = s.spawn([&]() -> task<> { co_await p->async_wait_idle(); });
  s.run_until_idle();
  auto later = p->async_wait_idle();
  auto later_by_id = p->async_wait(queued);
  thread_pool* const ending = p.get();  // lives until the work that runs has ended
  std::thread end([&] { p.reset(); });
  until([&] { return ending->stats().cancelled != 0; });
  open.open();
  end.join();
  // The tasks are woken but have not run yet: the pool is destroyed before they run.
  end_of(s, list);
  end_of(s, any);
  end_of(s, group);
  end_of(s, idle);
  auto after = s.spawn([&]() -> task<bool> {
    co_await later;
    co_return co_await later_by_id;
  });
  EXPECT_TRUE(end_of(s, after));
}

TEST(async_wait, by_tasks_of_a_runtime_that_is_shut_down_leaves_the_works_alone) {
  thread_pool p({.max_threads = 1});
  blocker busy(p, {.group = "g"});
  {
    runtime rt({.workers = 2});
    static_cast<void>(rt.spawn([&]() -> task<> { co_await p.async_wait("g"); }));
    static_cast<void>(rt.spawn([&]() -> task<> { co_await p.async_wait_idle(); }));
    static_cast<void>(
        rt.spawn([&]() -> task<> { static_cast<void>(co_await p.async_wait(busy.handle().id())); }));
    until([&] {
      const std::string now = rt.dump();
      return now.find("an empty group of a pool") != std::string::npos &&
             now.find("an idle pool") != std::string::npos && now.find("for pool works") != std::string::npos;
    });
  }
  EXPECT_EQ(busy.handle().status(), work_status::running);
}

TEST(async_wait, by_many_tasks_races_with_ends_and_cancellations) {
  runtime rt({.workers = 2});
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 300; ++round) {
    gate open;
    const work_id id = p.submit([&] { open.pass(); }, {.group = "g", .store_result = true}).id();
    const std::array ids{id};
    std::vector<join_handle<void>> all;
    for (int i = 0; i < 2; ++i) {
      all.push_back(rt.spawn([&]() -> task<> { co_await p.async_wait("g"); }));
      all.push_back(rt.spawn([&]() -> task<> { co_await p.async_wait_idle(); }));
      all.push_back(rt.spawn([&]() -> task<> { static_cast<void>(co_await p.async_wait(ids)); }));
      all.push_back(rt.spawn([&]() -> task<> { static_cast<void>(co_await p.async_wait_any(ids)); }));
    }
    dawdle(round % 50);
    open.open();
    for (std::size_t i = 0; i < 4; ++i) all[i].cancel();
    for (std::size_t i = 0; i < 4; ++i) until([&] { return all[i].is_done(); });
    for (std::size_t i = 4; i < all.size(); ++i) EXPECT_NO_THROW(all[i].join());
    EXPECT_TRUE(p.fetch<void>(id).has_value());
  }
}

// ---- one cause --------------------------------------------------------------------------------------------

/// The task waits under a deadline that has passed. Its timer has not fired yet when cancel() ends the work.
template <class Wait>
std::string cause_of(Wait wait) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  auto called_off = p.submit([] {}, {.group = "g"});
  auto late = s.spawn([&]() -> task<std::string> {
    const auto end = co_await with_deadline(s.time + 10ms, wait(p, called_off));
    co_return end.has_value() ? "went on" : "timed out";
  });
  s.run_until_idle();
  s.time += 20ms;
  s.passed->note(s.time);
  EXPECT_TRUE(p.cancel(called_off.id()));
  return end_of(s, late);
}

TEST(async_wait, times_out_when_the_job_ends_after_the_deadline) {
  EXPECT_EQ(cause_of([](thread_pool& p, work<void>& w) -> task<> {
              static_cast<void>(co_await p.async_wait(w.id()));
            }),
            "timed out");
  EXPECT_EQ(cause_of([](thread_pool& p, work<void>& w) -> task<> {
              const std::array ids{w.id()};
              static_cast<void>(co_await p.async_wait_any(ids));
            }),
            "timed out");
  EXPECT_EQ(cause_of([](thread_pool& p, work<void>& /*w*/) -> task<> { co_await p.async_wait("g"); }),
            "timed out");
  EXPECT_EQ(cause_of([](thread_pool& p, work<void>& w) -> task<> {
              static_cast<void>(co_await p.async_fetch<void>(w.id()));
            }),
            "timed out");
}

TEST(async_wait, of_a_handle_times_out_when_the_job_ends_after_the_deadline) {
  EXPECT_EQ(cause_of([](thread_pool& /*p*/, work<void>& w) -> task<> { co_await w; }), "timed out");
  EXPECT_EQ(cause_of([](thread_pool& /*p*/, work<void>& w) -> task<> { co_await w.detached_wait(); }),
            "timed out");
  EXPECT_EQ(
      cause_of([](thread_pool& /*p*/, work<void>& w) -> task<> { static_cast<void>(co_await w.result()); }),
      "timed out");
}

}  // namespace
}  // namespace async_wait_test
