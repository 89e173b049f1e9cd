// Cancel and stop: in every state a work ends exactly once, and each waiter and observer learns of the end.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/stop_token.hpp>
#include <rota/this_task.hpp>

#include <functional>
#include <memory>

namespace regress_cancel_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

int sleep_long() {
  this_work::sleep_for(1h);
  return 0;
}

TEST(regress_outcome, a_rejected_job_is_reported_and_counted_but_does_not_exist) {
  thread_pool p({.max_threads = 1, .queue_limit = 1});
  recorder heard(p);
  blocker busy(p);
  auto waits = p.submit([] {});
  bool called = false;
  EXPECT_THROW(static_cast<void>(p.submit(
                   [] {}, {.callback = [&](const work_end&) { called = true; }, .store_result = true})),
               error);
  ASSERT_EQ(heard.named("rejected").size(), 1U);
  const work_id id = heard.named("rejected").front().id;
  EXPECT_TRUE(heard.ends_of(id).empty());
  EXPECT_FALSE(called);
  EXPECT_FALSE(p.wait(id));
  EXPECT_FALSE(p.fetch<void>(id).has_value());
  EXPECT_EQ(p.stats().rejected, 1U);
  EXPECT_EQ(p.stats().submitted, 2U);
}

// Each successor chooses whether a stopped predecessor counts as failed.
TEST(regress_outcome, a_stopped_predecessor_counts_as_each_successor_says) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit(sleep_long);
  auto strict = p.submit([] {}, {.after = {w.id()}});
  auto lenient = p.submit([] {}, {.after = {w.id()}, .if_stopped = stopped_counts::as_success});
  until(w, work_status::running);
  EXPECT_TRUE(w.stop());
  EXPECT_TRUE(strict.fetch().has_exception());
  EXPECT_TRUE(lenient.fetch().has_value());
}

// Either the cancel wins or the run does, never both.
TEST(regress_cancel, that_races_with_the_run_gives_one_outcome) {
  constexpr int rounds = 20'000;
  std::atomic<int> ran{0};
  std::atomic<int> called{0};
  int taken_back = 0;
  thread_pool p({.max_threads = 2, .default_callback = [&](const work_end&) { ++called; }});
  for (int i = 0; i < rounds; ++i) {
    auto w = p.submit([&] { ++ran; });
    dawdle(i % 64);
    if (w.cancel()) ++taken_back;
  }
  expect_idle(p);
  EXPECT_EQ(ran + taken_back, rounds);
  EXPECT_EQ(called, rounds);
  EXPECT_EQ(p.stats().cancelled, static_cast<std::uint64_t>(taken_back));
  EXPECT_EQ(p.stats().succeeded, static_cast<std::uint64_t>(ran));
}

TEST(regress_cancel, that_races_with_a_waiter_that_runs_the_job_gives_one_outcome) {
  constexpr int rounds = 5'000;
  std::atomic<int> ran{0};
  std::atomic<int> taken_back{0};
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < rounds; ++i) {
    p.submit([&] {
       auto w = p.submit([&] { ++ran; });
       const work_id id = w.id();
       auto other = p.submit([&, id] {
         if (p.cancel(id)) ++taken_back;
       });
       w.wait();
       other.wait();
     }).wait();
  }
  expect_idle(p);
  EXPECT_EQ(ran + taken_back, rounds);
}

TEST(regress_cancel, of_a_requeued_coroutine_job_gives_one_outcome) {
  constexpr int rounds = 5'000;
  thread_pool p({.max_threads = 2});
  std::atomic<int> called{0};
  for (int i = 0; i < rounds; ++i) {
    auto w = p.submit(
        []() -> task<void> {
          co_await yield();
          if (this_work::attempt() < 3) throw std::runtime_error("again");
        },
        {.retry = {.limit = 3, .where = retry_where::requeued},
         .callback = [&](const work_end& e) { called += e.will_retry ? 0 : 1; }});
    dawdle(i % 256);
    w.cancel();
  }
  expect_idle(p);
  EXPECT_EQ(called, rounds);
  EXPECT_EQ(p.stats().succeeded + p.stats().cancelled, static_cast<std::uint64_t>(rounds));
}

// No lock is held while a handler runs.
TEST(regress_cancel, in_the_callback_of_a_cancel_does_not_deadlock) {
  thread_pool p({.max_threads = 1});
  std::vector<work<void>> all;
  std::function<void(const work_end&)> next = [&](const work_end&) {
    for (const auto& each : all) each.cancel();
    static_cast<void>(p.stats());
    static_cast<void>(p.waiting());
  };
  blocker busy(p);
  for (int i = 0; i < 50; ++i) all.push_back(p.submit([] {}, {.group = "g", .callback = next}));
  EXPECT_TRUE(all.front().cancel());
  for (const auto& each : all) EXPECT_EQ(each.status(), work_status::cancelled);
  busy.let_go();
  expect_idle(p);
  EXPECT_EQ(p.stats().cancelled, 50U);
}

TEST(regress_cancel, of_a_finished_job_returns_false) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([] {});
  w.wait();
  EXPECT_FALSE(w.cancel());
  EXPECT_FALSE(w.stop());
  EXPECT_FALSE(w.force_stop());
  EXPECT_FALSE(w.pause());
  EXPECT_EQ(w.status(), work_status::succeeded);
}

TEST(regress_cancel, jobs_submitted_after_a_stop_of_all_are_not_stopped) {
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 200; ++round) {
    auto a = p.submit([] { return 1; });
    static_cast<void>(p.stop_all());
    auto b = p.submit([] { return 2; });
    EXPECT_EQ(b.fetch().value(), 2);
    a.wait();
  }
  expect_idle(p);
}

TEST(regress_cancel, of_blocked_jobs_counts_each_once_and_wakes_their_waiters) {
  thread_pool p({.max_threads = 1});
  for (int round = 0; round < 20; ++round) {
    const work_id never = p.reserve();
    auto a = p.submit([] {}, {.after = {never}});
    auto b = p.submit([] {}, {.after = {a.id()}});
    auto c = p.submit([] {}, {.after = {b.id(), never}});
    sleeper waits([&] { c.wait(); });
    waits.until_asleep();
    sleeper helps([&] { b.wait(help); });
    EXPECT_TRUE(b.cancel());
    waits.join();
    helps.join();
    EXPECT_EQ(a.status(), work_status::blocked);
    EXPECT_EQ(c.status(), work_status::failed);
    EXPECT_EQ(p.cancel_all(), 1U);
    EXPECT_EQ(p.stats().outstanding, 0U);
    static_cast<void>(p.submit([] {}, {.id = never}).fetch());
    expect_idle(p);
  }
}

TEST(regress_stop, cancelled_error_counts_as_stopped_only_if_a_stop_was_requested) {
  thread_pool p({.max_threads = 2});
  for (const bool by_force : {false, true}) {
    auto w = p.submit([] {
      until([] { return this_work::stop_requested(); });
      throw cancelled_error(cancel_reason::user);
    });
    until(w, work_status::running);
    EXPECT_TRUE(by_force ? w.force_stop() : w.stop());
    w.wait();
    EXPECT_EQ(w.status(), by_force ? work_status::force_stopped : work_status::stopped);
  }
  auto unasked = p.submit([] { throw cancelled_error(cancel_reason::user); });
  EXPECT_TRUE(unasked.fetch().has_exception());
}

TEST(regress_stop, wakes_sleeping_and_paused_jobs) {
  thread_pool p({.max_threads = 3});
  auto sleeps = p.submit(sleep_long);
  auto paused = p.submit([] {
    for (;;) this_work::pause_if_requested();
  });
  until(paused, work_status::running);
  EXPECT_TRUE(paused.pause());
  until(paused, work_status::paused);
  until(sleeps, work_status::running);
  EXPECT_EQ(p.stop_all(), 2U);
  expect_idle(p);
  EXPECT_EQ(p.stats().stopped, 2U);
}

TEST(regress_stop, is_seen_at_once_by_the_token_of_each_attempt) {
  thread_pool p({.max_threads = 1});
  std::atomic<int> tries{0};
  std::atomic<bool> heard{false};
  auto w = p.submit(
      [&](std::stop_token stop) {
        const std::stop_callback tell(stop, [&] { heard = true; });
        if (++tries == 1) throw std::runtime_error("again");
        until([&] { return stop.stop_requested(); });
      },
      {.retry = {.limit = 1}});
  until([&] { return tries == 2; });
  EXPECT_TRUE(w.stop());
  EXPECT_TRUE(heard);
  w.wait();
  EXPECT_EQ(w.status(), work_status::succeeded);
}

TEST(regress_stop, that_races_with_the_first_attempt_is_not_lost) {
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < 5'000; ++i) {
    auto w = p.submit([](std::stop_token stop) { until([&] { return stop.stop_requested(); }); });
    if (i % 2 == 0) std::this_thread::yield();
    EXPECT_TRUE(w.stop());
    w.wait();
  }
  expect_idle(p);
  EXPECT_EQ(p.stats().succeeded + p.stats().cancelled, 5'000U);
}

}  // namespace
}  // namespace regress_cancel_test
