// Force stop: a work blocked in the library throws, one that never checks is abandoned, and each ends once.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/stop_token.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <functional>
#include <memory>

namespace regress_force_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(regress_force, force_stop_interrupts_every_blocking_wait) {
  thread_pool p({.max_threads = 1, .force_grace = 1h});
  thread_pool other({.max_threads = 1, .queue_limit = 1, .on_full = rejection::block});
  gate go;
  auto gated = other.submit([&] { go.pass(); }, {.group = "g"});
  until(gated, work_status::running);
  work<void> queued;
  const work_id never = other.reserve();
  const std::vector<std::function<void()>> waits{
      [] { this_work::sleep_for(1h); },
      [] {
        for (;;) this_work::pause_if_requested();
      },
      [&] { gated.wait(); },
      [&] { static_cast<void>(gated.wait_for(1h)); },
      [&] { gated.wait(help); },
      [&] { static_cast<void>(other.wait(never)); },
      [&] { static_cast<void>(other.wait_any(std::vector{gated.id(), never})); },
      [&] { other.wait("g"); },
      [&] { static_cast<void>(other.submit([] {})); },
  };
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (i + 1 == waits.size()) queued = other.submit([] {});  // now the queue is full
    auto w = p.submit(waits[i]);
    until(w, work_status::running);
    if (i == 1) {
      EXPECT_TRUE(w.pause());
      until(w, work_status::paused);
    }
    for (int turn = 0; turn < 20 * static_cast<int>(i); ++turn) std::this_thread::yield();
    EXPECT_TRUE(w.force_stop());
    w.wait();
    EXPECT_EQ(w.status(), work_status::force_stopped) << i;
  }
  EXPECT_EQ(p.stats().abandoned_works, 0U);
  EXPECT_TRUE(queued.cancel());
}

// A force stop that races with the end of the body makes no second end and hits no later work of the thread.
TEST(regress_force, force_stop_that_races_with_the_bodys_end_ends_the_job_once) {
  constexpr int rounds = 20'000;
  std::atomic<int> called{0};
  thread_pool p(
      {.max_threads = 1, .default_callback = [&](const work_end&) { ++called; }, .force_grace = 1h});
  for (int i = 0; i < rounds; ++i) {
    auto w = p.submit([] { this_work::checkpoint(); });
    auto next = p.submit([] { this_work::sleep_for(0s); });
    dawdle(i % 128);
    w.force_stop();
    next.wait();
    ASSERT_EQ(next.status(), work_status::succeeded);
  }
  expect_idle(p);
  EXPECT_EQ(called, 2 * rounds);
  const pool_stats s = p.stats();
  EXPECT_EQ(s.succeeded + s.force_stopped + s.cancelled, 2U * rounds);
}

TEST(regress_force, job_that_catches_force_stopped_and_returns_has_succeeded) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([] {
    try {
      this_work::sleep_for(1h);
    } catch (const force_stopped&) {  // cleans up, and goes on
    }
    return 3;
  });
  until(w, work_status::running);
  EXPECT_TRUE(w.force_stop());
  EXPECT_EQ(w.fetch().value(), 3);
}

TEST(regress_force, force_stop_interrupts_wait_idle_of_another_pool) {
  thread_pool other({.max_threads = 1});
  const blocker busy(other);
  thread_pool p({.max_threads = 1, .force_grace = 1h});
  std::atomic<bool> begun{false};
  auto w = p.submit([&] {
    begun = true;
    other.wait_idle();
  });
  until([&] { return begun.load(); });
  EXPECT_TRUE(w.force_stop());
  w.wait();
  EXPECT_EQ(w.status(), work_status::force_stopped);
}

TEST(regress_force, a_force_cannot_be_refused) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([] {
    until([] { return this_work::stop_requested(); });
    this_work::stop_if_requested([] { return false; });
    this_work::sleep_for(1h);
  });
  until(w, work_status::running);
  EXPECT_TRUE(w.force_stop());
  w.wait();
  EXPECT_EQ(w.status(), work_status::force_stopped);
}

/// State of a body that ignores every stop and refers to nothing else.
struct stubborn {
  std::atomic<bool> begun{false};
  std::atomic<bool> end{false};
  std::atomic<bool> ended{false};
  void run() {
    begun = true;
    until([&] { return end.load(); });
    ended = true;
  }
  void finish() {
    end = true;
    until([&] { return ended.load(); });
  }
};

TEST(regress_force, jobs_queued_behind_an_abandoned_job_run) {
  thread_pool p({.max_threads = 1, .force_grace = 1ms});
  const auto body = std::make_shared<stubborn>();
  auto w = p.submit([body] { body->run(); });
  until([&] { return body->begun.load(); });
  std::vector<work<int>> behind;
  for (int i = 0; i < 100; ++i) behind.push_back(p.submit([i] { return i; }));
  auto after = p.submit([] {}, {.after = {w.id()}});
  EXPECT_TRUE(w.force_stop());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(behind[static_cast<std::size_t>(i)].fetch().value(), i);
  EXPECT_TRUE(after.fetch().has_exception());
  p.wait_idle();
  EXPECT_EQ(p.stats().abandoned, 1U);
  EXPECT_EQ(p.stats().threads, 1U);
  EXPECT_EQ(w.status(), work_status::abandoned);
  body->finish();
  until([&] { return p.stats().abandoned == 0; });
  EXPECT_EQ(w.status(), work_status::abandoned) << "what it returns is dropped";
  EXPECT_TRUE(w.fetch().is_cancelled());
}

TEST(regress_force, lost_threads_do_not_exceed_max_abandoned) {
  thread_pool p({.max_threads = 2, .force_grace = 0ns, .max_abandoned = 1});
  const auto a = std::make_shared<stubborn>();
  const auto b = std::make_shared<stubborn>();
  auto first = p.submit([a] { a->run(); });
  auto second = p.submit([b] { b->run(); });
  until([&] { return a->begun && b->begun; });
  EXPECT_TRUE(first.force_stop());
  first.wait();
  EXPECT_TRUE(second.force_stop());
  EXPECT_FALSE(second.wait_for(5ms));
  b->finish();
  second.wait();
  EXPECT_EQ(second.status(), work_status::succeeded) << "it was not thrown out, and came to its end";
  a->finish();
  expect_idle(p);
}

TEST(regress_force, force_stop_returns_false_in_the_callback_of_the_same_job) {
  thread_pool p({.max_threads = 1, .force_grace = 0ns});
  work<void> w;
  gate given;
  std::atomic<int> said{-1};
  w = p.submit([&] { given.pass(); },
               {.callback = [&](const work_end& e) { said = p.force_stop(e.id) ? 1 : 0; }});
  given.open();
  w.wait();
  EXPECT_EQ(said, 0);
  EXPECT_EQ(w.status(), work_status::succeeded);
}

TEST(regress_force, job_run_by_a_helper_is_abandoned_without_losing_a_pool_thread) {
  thread_pool p({.max_threads = 1, .force_grace = 1ms});
  const auto body = std::make_shared<stubborn>();
  {
    blocker busy(p);
    auto w = p.submit([body] { body->run(); });
    sleeper helper([&] { p.wait_idle(help); });
    until([&] { return body->begun.load(); });
    EXPECT_TRUE(w.force_stop());
    w.wait();
    EXPECT_EQ(w.status(), work_status::abandoned);
    EXPECT_EQ(p.stats().abandoned, 0U) << "no thread of the pool";
    body->finish();
    busy.let_go();
    helper.join();
  }
  expect_idle(p);
}

TEST(regress_force, a_coroutine_that_cannot_be_cancelled_is_abandoned) {
  thread_pool p({.max_threads = 1, .force_grace = 1ms});
  const auto body = std::make_shared<stubborn>();
  auto w = p.submit([body]() -> task<void> {
    body->run();
    co_return;
  });
  until([&] { return body->begun.load(); });
  EXPECT_TRUE(w.force_stop());
  w.wait();
  EXPECT_EQ(w.status(), work_status::abandoned);
  EXPECT_EQ(p.submit([] { return 1; }).fetch().value(), 1);
  body->finish();
  until([&] { return p.stats().abandoned == 0; });
  expect_idle(p);
}

TEST(regress_force, a_coroutine_that_waits_is_cancelled) {
  thread_pool p({.max_threads = 1, .force_grace = 1h});
  bool unwound = false;
  auto w = p.submit([&]() -> task<void> {
    struct note {
      bool* to;
      ~note() { *to = true; }
    } const last{&unwound};
    co_await sleep_for(1h);
  });
  until([&] { return w.status() == work_status::running && p.stats().idle == 1; });
  EXPECT_TRUE(w.force_stop());
  w.wait();
  EXPECT_TRUE(unwound);
  EXPECT_EQ(w.status(), work_status::force_stopped);
}

}  // namespace
}  // namespace regress_force_test
