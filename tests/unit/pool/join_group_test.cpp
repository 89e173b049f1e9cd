// Jobs that join a group after their submit(), and jobs that leave a group before their end.
#include "pool/absence.hpp"
#include "pool/pool_core.hpp"
#include "support/manual_scheduler.hpp"
#include "support/sanitized.hpp"
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>

#include <sys/wait.h>

#include <array>
#include <memory>
#include <optional>

namespace join_group_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

using ids = std::vector<work_id>;

template <class F>
void expect_code(errc code, F f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code);
  }
}

TEST(join_group, a_queued_job_is_cancelled_with_the_group_that_it_joined) {
  thread_pool p({.max_threads = 1});
  const blocker busy(p);
  auto w = p.submit([] {});
  EXPECT_TRUE(w.join_group("g"));
  EXPECT_TRUE(p.join_group(w.id(), "g")) << "it is in the group";
  EXPECT_EQ(p.members("g"), ids{w.id()});
  EXPECT_EQ(p.cancel("g"), 1U);
  EXPECT_EQ(w.status(), work_status::cancelled);
  EXPECT_TRUE(p.members("g").empty());
}

TEST(join_group, a_running_job_is_stopped_and_waited_for) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([] { this_work::sleep_for(1h); });
  until(w, work_status::running);
  EXPECT_TRUE(p.join_group(w.id(), "g"));
  EXPECT_FALSE(p.wait_for("g", 0s));
  EXPECT_EQ(p.stop("g"), 1U);
  p.wait("g");
  EXPECT_EQ(w.status(), work_status::stopped);
}

TEST(join_group, a_job_blocked_by_a_predecessor_can_join) {
  thread_pool p({.max_threads = 1});
  blocker first(p);
  auto w = p.submit([] { return 5; }, {.after = {first.handle().id()}});
  EXPECT_EQ(w.status(), work_status::blocked);
  EXPECT_TRUE(w.join_group("g"));
  first.let_go();
  p.wait("g");
  EXPECT_TRUE(w.is_done()) << "a job leaves a group that it joined when it is over";
  EXPECT_EQ(w.fetch().value(), 5);
}

TEST(join_group, a_paused_job_joins_and_is_resumed_only_by_what_paused_it) {
  thread_pool p({.max_threads = 1});
  p.pause("first");
  gate go;
  auto paused = p.submit([&] { go.pass(), this_work::checkpoint(); }, {.group = "first"});
  go.open();
  until(paused, work_status::paused);
  EXPECT_TRUE(paused.join_group("second"));
  p.pause("second");
  p.resume("first");
  EXPECT_FALSE(p.wait_for("first", 0s));
  EXPECT_EQ(p.members("second"), ids{paused.id()});
  p.resume("second");
  paused.wait();
  EXPECT_TRUE(p.members("second").empty());
}

TEST(join_group, a_paused_group_holds_a_running_job_that_joins) {
  thread_pool p({.max_threads = 1});
  gate go;
  auto w = p.submit([&] { go.pass(), this_work::checkpoint(); });
  until(w, work_status::running);
  p.pause("g");
  EXPECT_TRUE(w.join_group("g"));
  go.open();
  until(w, work_status::paused);
  p.resume("g");
  w.wait();
}

TEST(join_group, a_paused_group_holds_a_queued_job_that_joins) {
  thread_pool p({.max_threads = 1, .pause = pause_mode::queued_too});
  blocker busy(p);
  auto w = p.submit([] {});
  auto other = p.submit([] {});
  p.pause("g");
  EXPECT_TRUE(w.join_group("g"));
  busy.let_go();
  other.wait();
  until(w, work_status::suspended);
  EXPECT_TRUE(w.leave_group("g")) << "it goes on without the group";
  w.wait();
  EXPECT_EQ(w.status(), work_status::succeeded);
}

// The only thread is busy, so a held job that is wrongly released would stay queued and be held again later.
TEST(join_group, a_job_that_leaves_does_not_resume_other_paused_jobs) {
  thread_pool p({.max_threads = 1, .pause = pause_mode::queued_too});
  p.pause("g");
  auto held = p.submit([] {}, {.group = "g"});
  until(held, work_status::suspended);
  blocker busy(p, {.group = "other"});
  auto queued = p.submit([] {}, {.group = "other"});
  EXPECT_TRUE(busy.handle().leave_group("other"));
  EXPECT_TRUE(queued.leave_group("other"));
  EXPECT_EQ(held.status(), work_status::suspended);
  p.resume("g");
  busy.let_go();
  held.wait();
}

TEST(join_group, held_jobs_that_leave_as_a_list_continue) {
  thread_pool p({.max_threads = 1, .pause = pause_mode::queued_too});
  p.pause("g");
  auto a = p.submit([] {}, {.group = "g"});
  auto b = p.submit([] {}, {.group = "g"});
  auto stays = p.submit([] {}, {.group = "g"});
  for (const auto* const each : {&a, &b, &stays}) until(*each, work_status::suspended);
  const std::array both{a.id(), b.id()};
  EXPECT_TRUE(p.leave_group(std::span<const work_id>(both), "g").empty());
  a.wait();
  b.wait();
  until(stays, work_status::suspended);
  p.resume("g");
  stays.wait();
}

TEST(join_group, a_job_that_leaves_a_paused_group_continues) {
  thread_pool p({.max_threads = 1});
  p.pause("g");
  auto w = p.submit([] { this_work::checkpoint(); }, {.group = "g"});
  until(w, work_status::paused);
  EXPECT_TRUE(w.leave_group("g"));
  w.wait();
  EXPECT_EQ(w.status(), work_status::succeeded);
}

TEST(join_group, a_coroutine_job_joins_between_two_segments) {
  thread_pool p({.max_threads = 2});
  const blocker busy(p);
  std::atomic<bool> has_begun{false};
  auto w = p.submit([&]() -> task<void> {
    has_begun = true;
    static_cast<void>(co_await p.async_wait(busy.handle().id()));
  });
  until([&] { return has_begun.load(); });
  EXPECT_TRUE(w.join_group("g"));
  EXPECT_EQ(p.stop("g"), 1U);
  p.wait("g");
  EXPECT_EQ(w.status(), work_status::stopped);
}

TEST(join_group, a_finished_job_can_neither_join_nor_leave) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([] {}, {.group = "own"});
  w.wait();
  EXPECT_FALSE(w.join_group("g"));
  EXPECT_FALSE(w.leave_group("own"));
  EXPECT_FALSE(p.join_group(w.id(), "g"));
  EXPECT_EQ(p.status(w.id()), work_status::succeeded) << "status() tells why";
  EXPECT_TRUE(p.members("g").empty());
  EXPECT_TRUE(p.wait_for("g", 0s));
}

TEST(join_group, a_refused_join_creates_no_group) {
  thread_pool p({.max_threads = 1});
  rota::pool::detail::pool_core* core = nullptr;
  auto w = p.submit([&] { core = rota::pool::detail::work_here()->pool; });
  w.wait();
  EXPECT_FALSE(w.join_group("g"));
  EXPECT_FALSE(p.join_group(p.reserve(), "g"));
  EXPECT_EQ(core->circles.find("g"), nullptr);
  blocker busy(p);
  EXPECT_TRUE(busy.handle().join_group("g"));
  EXPECT_NE(core->circles.find("g"), nullptr);
}

TEST(join_group, unknown_and_reserved_ids_and_empty_handles_are_refused) {
  thread_pool p({.max_threads = 1});
  const work_id reserved = p.reserve();
  const work_id unknown{reserved.value + 1000};
  EXPECT_FALSE(p.join_group(unknown, "g"));
  EXPECT_FALSE(p.leave_group(unknown, "g"));
  EXPECT_FALSE(p.join_group(reserved, "g"));
  EXPECT_FALSE(p.leave_group(reserved, "g"));
  EXPECT_EQ(p.status(reserved), work_status::created);
  auto w = p.submit([] {});
  const auto moved = std::move(w);
  EXPECT_FALSE(w.join_group("g"));   // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(w.leave_group("g"));  // NOLINT(bugprone-use-after-move)
  moved.wait();
  EXPECT_FALSE(moved.leave_group("a group that never was"));
}

TEST(join_group, an_empty_name_is_refused) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  EXPECT_THROW(static_cast<void>(busy.handle().join_group("")), std::invalid_argument);
  EXPECT_FALSE(busy.handle().leave_group(""));
}

TEST(join_group, a_list_returns_the_ids_that_were_refused) {
  thread_pool p({.max_threads = 1});
  auto ended = p.submit([] {});
  ended.wait();
  blocker busy(p);
  auto w = p.submit([] {});
  const std::array all{ended.id(), w.id(), work_id{~std::uint64_t{0}}};
  const ids refused{all[0], all[2]};
  EXPECT_EQ(p.join_group(std::span<const work_id>(all), "g"), refused);
  EXPECT_EQ(p.leave_group(std::span<const work_id>(all), "g"), refused);
  EXPECT_TRUE(p.members("g").empty());
}

TEST(join_group, a_sleeping_wait_includes_jobs_that_join) {
  thread_pool p({.max_threads = 2});
  gate first_goes;
  gate second_goes;
  auto first = p.submit([&] { first_goes.pass(); }, {.group = "g"});
  auto second = p.submit([&] { second_goes.pass(); });
  sleeper waits([&] {
    p.wait("g");
    EXPECT_TRUE(second.is_done());
  });
  waits.until_asleep();
  EXPECT_TRUE(second.join_group("g"));
  first_goes.open();
  first.wait();
  EXPECT_FALSE(p.wait_for("g", 0s));
  second_goes.open();
  waits.join();
}

TEST(join_group, a_wait_ends_when_the_last_job_leaves) {
  thread_pool p({.max_threads = 2});
  p.relate("above", "g");
  gate go;
  auto own = p.submit([&] { go.pass(); }, {.group = "g"});
  auto late = p.submit([&] { go.pass(); });
  EXPECT_TRUE(late.join_group("g"));
  sleeper waits([&] { p.wait("above"); });
  waits.until_asleep();
  EXPECT_TRUE(late.leave_group("g"));
  EXPECT_FALSE(late.leave_group("g"));
  EXPECT_TRUE(own.leave_group("g"));
  EXPECT_FALSE(own.leave_group("g"));
  waits.join();
  EXPECT_EQ(p.stop("above"), 0U);
  go.open();
}

TEST(join_group, a_task_waits_for_a_job_that_joined) {
  rota::test::manual_scheduler tasks;
  thread_pool p({.max_threads = 1});
  gate go;
  auto w = p.submit([&] { go.pass(); });
  EXPECT_TRUE(w.join_group("g"));
  auto waits = tasks.spawn([](thread_pool& of) -> task<void> { co_await of.async_wait("g"); }(p));
  tasks.run_until_idle();
  EXPECT_FALSE(waits.is_done()) << "it is suspended";
  go.open();
  until([&] {
    tasks.run_until_idle();
    return waits.is_done();
  });
  waits.join();
  EXPECT_TRUE(w.is_done());
}

TEST(join_group, a_job_can_join_and_leave_repeatedly) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  auto w = p.submit([] {}, {.group = "own"});
  for (int i = 0; i < 3; ++i) {
    for (const char* const each : {"own", "other"}) {
      EXPECT_TRUE(w.join_group(each));
      EXPECT_EQ(p.members(each), ids{w.id()});
      EXPECT_TRUE(w.leave_group(each));
      EXPECT_TRUE(p.members(each).empty());
    }
  }
  EXPECT_TRUE(w.join_group("own"));
  busy.let_go();
  p.wait("own");
  EXPECT_TRUE(w.is_done());
  EXPECT_TRUE(p.members("own").empty());
}

TEST(join_group, a_job_that_left_is_not_touched_by_the_group) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  auto w = p.submit([] { return 1; }, {.group = "g"});
  EXPECT_TRUE(w.leave_group("g"));
  EXPECT_EQ(p.cancel("g"), 0U);
  EXPECT_EQ(p.stop("g"), 0U);
  EXPECT_TRUE(p.wait_for("g", 0s));
  busy.let_go();
  EXPECT_EQ(w.fetch().value(), 1);
}

TEST(join_group, an_earlier_cancel_of_the_group_has_no_effect_on_what_joins) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  auto before = p.submit([] {}, {.group = "g"});
  auto w = p.submit([] { return 1; });
  EXPECT_EQ(p.cancel("g"), 1U);
  EXPECT_TRUE(w.join_group("g"));
  busy.let_go();
  EXPECT_EQ(w.fetch().value(), 1);
}

TEST(join_group, a_job_in_several_groups_of_a_relation_counts_once) {
  thread_pool p({.max_threads = 1});
  p.relate("above", "a");
  p.relate("above", "b");
  blocker busy(p);
  auto w = p.submit([] {}, {.group = "a"});
  EXPECT_TRUE(w.join_group("b"));
  EXPECT_TRUE(w.join_group("above"));
  EXPECT_EQ(p.members("above"), ids{w.id()});
  EXPECT_TRUE(w.leave_group("a"));
  EXPECT_EQ(p.members("above"), ids{w.id()});
  EXPECT_EQ(p.stop("above"), 1U);
}

TEST(join_group, a_job_held_by_the_group_limit_runs_when_it_leaves) {
  thread_pool p({.max_threads = 2});
  p.limit_group("one", 1);
  gate go;
  auto first = p.submit([&] { go.pass(); }, {.group = "one"});
  auto second = p.submit([] { return 2; }, {.group = "one"});
  EXPECT_EQ(second.status(), work_status::suspended);
  EXPECT_TRUE(second.leave_group("one"));
  EXPECT_EQ(second.fetch().value(), 2);
}

TEST(join_group, a_job_that_leaves_frees_its_slot_of_the_group_limit) {
  thread_pool p({.max_threads = 2});
  p.limit_group("one", 1);
  gate go;
  auto first = p.submit([&] { go.pass(); }, {.group = "one"});
  auto second = p.submit([] { return 2; }, {.group = "one"});
  EXPECT_TRUE(first.leave_group("one"));
  EXPECT_EQ(second.fetch().value(), 2);
  auto third = p.submit([&] { go.pass(); }, {.group = "one"});
  auto fourth = p.submit([] {}, {.group = "one"});
  EXPECT_EQ(fourth.status(), work_status::suspended) << "the place was given on once";
  go.open();
  expect_idle(p);
}

TEST(join_group, a_retry_of_a_job_that_left_ignores_the_group_limit) {
  thread_pool p({.max_threads = 2});
  p.limit_group("one", 1);
  gate go;
  std::optional<work<void>> holder;
  int runs = 0;
  auto w = p.submit(
      [&] {
        if (++runs == 2) return;
        EXPECT_TRUE(p.leave_group(this_work::id(), "one"));
        holder.emplace(p.submit([&] { go.pass(); }, {.group = "one"}));
        until(*holder, work_status::running);
        throw std::runtime_error("once");
      },
      {.group = "one", .retry = {.limit = 1, .where = retry_where::requeued}});
  w.wait();
  EXPECT_EQ(w.status(), work_status::succeeded);
}

TEST(join_group, failures_name_the_group_that_was_joined) {
  thread_pool p({.max_threads = 1});
  gate go;
  std::string told;
  auto w = p.submit([&] { go.pass(), throw std::runtime_error("no"); },
                    {.callback = [&](const work_end& e) { told = e.group; }});
  EXPECT_TRUE(w.join_group("g"));
  auto plain = p.submit([] { throw std::runtime_error("no"); });
  EXPECT_TRUE(plain.join_group("h"));
  go.open();
  p.wait("g");
  p.wait("h");
  EXPECT_EQ(told, "g");
  const std::vector<failed_work> all = p.failed_works();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].group, "g");
  EXPECT_EQ(all[1].group, "h");
  EXPECT_TRUE(w.fetch().has_exception());
  EXPECT_TRUE(plain.fetch().has_exception());
}

TEST(join_group, fetch_of_a_group_finds_what_joined_also_when_it_is_over) {
  thread_pool p({.max_threads = 1});
  blocker busy(p);
  auto a = p.submit([] { return 1; }, {.store_result = true});
  auto b = p.submit([] { return 2; }, {.group = "g", .store_result = true});
  auto left = p.submit([] { return 3; }, {.group = "g", .store_result = true});
  EXPECT_TRUE(a.join_group("g"));
  EXPECT_TRUE(left.leave_group("g"));
  const ids in_order{b.id(), a.id()};
  const work_id out = left.id();
  a = {};
  b = {};
  left = {};
  busy.let_go();
  p.wait_idle();
  ids found;
  for (const auto& [id, result] : p.fetch<int>("g")) found.push_back(id);
  EXPECT_EQ(found, in_order);
  EXPECT_EQ(p.fetch<int>(out)->value(), 3);
}

TEST(join_group, fetch_of_a_group_waits_for_what_joined) {
  thread_pool p({.max_threads = 1});
  gate go;
  auto w = p.submit([&] { return go.pass(), 1; });
  EXPECT_TRUE(w.join_group("g"));
  const work_id id = w.id();
  w = {};
  sleeper waits([&] {
    const auto found = p.fetch<int>("g");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].first, id);
    EXPECT_EQ(found[0].second.value(), 1);
  });
  waits.until_asleep();
  go.open();
  waits.join();
}

TEST(join_group, a_job_does_not_wait_for_a_group_that_it_joined) {
  thread_pool p({.max_threads = 1});
  p.relate("above", "g");
  gate go;
  auto w = p.submit([&] {
    go.pass();
    p.wait("above");
  });
  EXPECT_TRUE(w.join_group("g"));
  go.open();
  expect_code(errc::would_deadlock, [&] { w.fetch().value(); });
}

TEST(join_group, a_wait_for_a_group_that_its_job_joins_reports_would_deadlock) {
  thread_pool p({.max_threads = 2});
  gate go;
  auto other = p.submit([&] { go.pass(); }, {.group = "g"});
  std::atomic<pid_t> sleeps{0};
  auto w = p.submit([&] {
    sleeps = gettid();
    p.wait("g");
  });
  until_asleep(sleeps);
  EXPECT_TRUE(w.join_group("g"));
  expect_code(errc::would_deadlock, [&] { w.fetch().value(); });
  go.open();
}

TEST(join_group, a_wait_for_a_group_that_becomes_an_ancestor_reports_would_deadlock) {
  for (const char* const waited : {"high", "top"}) {
    thread_pool p({.max_threads = 2});
    p.relate("top", "high");
    gate go;
    auto other = p.submit([&] { go.pass(); }, {.group = "high"});
    std::atomic<pid_t> sleeps{0};
    auto w = p.submit(
        [&] {
          sleeps = gettid();
          p.wait(waited);
        },
        {.group = "low"});
    until_asleep(sleeps);
    p.relate("high", "low");
    expect_code(errc::would_deadlock, [&] { w.fetch().value(); });
    go.open();
  }
}

TEST(join_group, a_coroutine_job_does_not_await_a_group_that_it_joined) {
  thread_pool p({.max_threads = 1});
  gate go;
  auto w = p.submit([&]() -> task<void> {
    go.pass();
    co_await p.async_wait("g");
  });
  EXPECT_TRUE(w.join_group("g"));
  go.open();
  expect_code(errc::would_deadlock, [&] { w.fetch().value(); });
}

// When the wait begins each job is in the group or has ended, even if join and end race.
TEST(join_group, a_join_that_races_with_the_end_of_its_job_is_exact) {
  thread_pool p({.max_threads = 2});
  int joined = 0;
  for (int i = 0; i < 3000; ++i) {
    auto w = p.submit([i] { return i; });
    dawdle(i % 200);
    if (w.join_group("g")) {
      ++joined;
      p.wait("g");
      EXPECT_TRUE(w.is_done());
    }
    EXPECT_EQ(w.fetch().value(), i);
  }
  EXPECT_GT(joined, 0);
  EXPECT_TRUE(p.wait_for("g", 0s));
  expect_idle(p);
}

TEST(join_group, joins_and_leaves_of_two_threads_race_with_the_end_of_the_job) {
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < 1000; ++i) {
    auto w = p.submit([i] { return i; }, {.group = i % 2 == 0 ? "g" : ""});
    std::thread other([&] {
      static_cast<void>(p.join_group(w.id(), "g"));
      static_cast<void>(p.leave_group(w.id(), "g"));
    });
    static_cast<void>(w.join_group("g"));
    static_cast<void>(w.leave_group("g"));
    other.join();
    EXPECT_EQ(w.fetch().value(), i);
  }
  p.wait("g");
  EXPECT_TRUE(p.members("g").empty());
  expect_idle(p);
}

TEST(join_group, is_refused_in_a_child_of_fork) {
  if (!rota::test::may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  thread_pool p({.max_threads = 1});
  const blocker busy(p);
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    ::alarm(20);
    int refused = 0;
    for (const bool joins : {true, false}) {
      try {
        static_cast<void>(joins ? busy.handle().join_group("g") : busy.handle().leave_group("g"));
      } catch (const error& e) {
        if (e.code() == errc::forked) ++refused;
      }
    }
    ::_exit(refused);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_TRUE(p.members("g").empty());
}

TEST(join_group, the_end_of_the_pool_ends_what_joined) {
  auto p = std::make_unique<thread_pool>(pool_options{.max_threads = 1, .shutdown_grace = 0s});
  auto w = p->submit([] { this_work::sleep_for(1h); });
  until(w, work_status::running);
  auto queued = p->submit([] {});
  EXPECT_TRUE(w.join_group("g"));
  EXPECT_TRUE(queued.join_group("g"));
  p.reset();
  EXPECT_TRUE(is_final(w.status()));
  EXPECT_EQ(queued.status(), work_status::cancelled);
}

}  // namespace
}  // namespace join_group_test
