// Full queues: what each policy does, that no work is lost, and that all counts return to zero.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <deque>

namespace regress_reject_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

pool_options full(rejection how, queue_order order = queue_order::fifo) {
  return {.max_threads = 1, .queue_limit = 1, .on_full = how, .queue = order};
}

TEST(regress_reject, job_that_gets_a_thread_needs_no_place_in_the_queue) {
  std::atomic<int> inside{0};
  thread_pool p({.max_threads = 3, .queue_limit = 1});
  gate go;
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(p.submit([&] {
      ++inside;
      go.pass();
    }));
    if (i < 3) until([&] { return inside == i + 1; });
  }
  EXPECT_THROW(static_cast<void>(p.submit([] {})), error) << "three run, and one waits";
  EXPECT_EQ(p.stats().rejected, 1U);
  go.open();
  expect_idle(p);
  EXPECT_EQ(p.stats().submitted, 4U);
}

TEST(regress_reject, abort_throws_and_changes_nothing) {
  thread_pool p(full(rejection::abort));
  recorder heard(p);
  blocker busy(p);
  auto waits = p.submit([] { return 1; });
  const auto kept = std::make_shared<int>(0);
  try {
    static_cast<void>(p.submit([kept] {}, {.name = "n", .group = "g", .store_result = true}));
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::queue_full);
  }
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_FALSE(p.find("n"));
  EXPECT_TRUE(p.members("g").empty());
  EXPECT_EQ(p.stats().rejected, 1U);
  EXPECT_EQ(heard.named("rejected").size(), 1U);
  busy.let_go();
  EXPECT_EQ(waits.fetch().value(), 1);
  expect_idle(p);
}

TEST(regress_reject, caller_runs_policy_runs_the_job_in_submit) {
  thread_pool p(full(rejection::caller_runs));
  recorder heard(p);
  blocker busy(p);
  auto waits = p.submit([] {});
  const auto here = std::this_thread::get_id();
  const auto kept = std::make_shared<int>(0);
  {
    auto w = p.submit([kept] { return std::this_thread::get_id(); });
    EXPECT_TRUE(w.is_done());
    EXPECT_EQ(heard.ends_of(w.id()).size(), 1U);
    EXPECT_EQ(w.fetch().value(), here);
  }
  EXPECT_EQ(kept.use_count(), 1);
  busy.let_go();
  expect_idle(p);
}

TEST(regress_reject, the_caller_begins_a_coroutine_and_the_pool_goes_on_with_it) {
  thread_pool p(full(rejection::caller_runs));
  blocker busy(p);
  auto waits = p.submit([] {});
  const auto here = std::this_thread::get_id();
  std::atomic<bool> was_here{false};
  std::atomic<bool> returned{false};
  auto w = p.submit([&]() -> task<bool> {
    was_here = std::this_thread::get_id() == here;
    co_await yield();
    while (!returned) co_await sleep_for(1ms);
    co_return std::this_thread::get_id() == here;
  });
  returned = true;
  EXPECT_TRUE(was_here);
  busy.let_go();
  EXPECT_FALSE(w.fetch().value());
  expect_idle(p);
}

TEST(regress_reject, job_run_by_the_caller_can_be_stopped_but_not_cancelled) {
  thread_pool p(full(rejection::caller_runs));
  blocker busy(p);
  auto waits = p.submit([] {});
  bool cancelled = true;
  bool stopped = false;
  auto w = p.submit([&] {
    const work_id me = this_work::id();
    EXPECT_EQ(p.status(me), work_status::running);
    cancelled = p.cancel(me);
    stopped = p.stop(me);
    this_work::stop_if_requested();
  });
  EXPECT_FALSE(cancelled);
  EXPECT_TRUE(stopped);
  EXPECT_EQ(w.status(), work_status::stopped);
  busy.let_go();
  expect_idle(p);
  EXPECT_EQ(p.stats().stopped, 1U);
  EXPECT_EQ(p.stats().cancelled, 0U);
}

TEST(regress_reject, caller_runs_policy_holds_the_job_while_the_pool_is_paused) {
  thread_pool p({.max_threads = 1,
                 .queue_limit = 1,
                 .on_full = rejection::caller_runs,
                 .pause = pause_mode::queued_too});
  blocker busy(p);
  auto waits = p.submit([] {});
  p.pause_all();
  auto w = p.submit([] { return 1; });
  EXPECT_EQ(w.status(), work_status::suspended);
  p.resume_all();
  busy.let_go();
  EXPECT_EQ(w.fetch().value(), 1);
  expect_idle(p);
}

TEST(regress_reject, discard_newest_discards_the_submitted_job) {
  thread_pool p(full(rejection::discard_newest));
  recorder heard(p);
  blocker busy(p);
  auto waits = p.submit([] { return 1; });
  auto w = p.submit([] { return 2; }, {.callback = [&](const work_end& e) { heard.call_back(e); }});
  EXPECT_EQ(w.status(), work_status::discarded);
  EXPECT_TRUE(w.fetch().is_cancelled());
  EXPECT_EQ(heard.of(w.id()),
            (std::vector<told>{{"rejected", w.id()},
                               {"discarded", w.id(), work_status::discarded},
                               {"callback", w.id(), work_status::discarded}}));
  busy.let_go();
  EXPECT_EQ(waits.fetch().value(), 1);
  expect_idle(p);
  EXPECT_EQ(p.stats().discarded, 1U);
}

TEST(regress_reject, discard_queued_discards_the_lowest_priority_of_all_queues) {
  std::atomic<int> inside{0};
  thread_pool p({.max_threads = 4, .queue_limit = 4, .on_full = rejection::discard_queued});
  gate go;
  std::vector<work<void>> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(p.submit([&] {
      ++inside;
      go.pass();
    }));
  }
  until([&] { return inside == 4; });
  std::vector<work<void>> all;
  for (const int priority : {5, -1, 7, 3}) all.push_back(p.submit([] {}, {.priority = priority}));
  auto other = p.submit([] {}, {.priority = 4});
  EXPECT_EQ(all[1].status(), work_status::discarded);
  auto again = p.submit([] {}, {.priority = 4});
  EXPECT_EQ(all[3].status(), work_status::discarded);
  auto low = p.submit([] {}, {.priority = 2});
  EXPECT_EQ(low.status(), work_status::discarded) << "nothing below it waits";
  go.open();
  expect_idle(p);
  EXPECT_EQ(p.stats().discarded, 3U);
  EXPECT_EQ(p.stats().succeeded, 8U);
}

TEST(regress_reject, discard_queued_follows_the_queue_order_for_equal_priorities) {
  for (const queue_order order : {queue_order::fifo, queue_order::lifo, queue_order::deque}) {
    thread_pool p({.max_threads = 1, .queue_limit = 3, .on_full = rejection::discard_queued, .queue = order});
    std::vector<int> ran;
    std::vector<work<void>> all;
    {
      blocker busy(p);
      for (int i = 0; i < 4; ++i) all.push_back(p.submit([&ran, i] { ran.push_back(i); }));
    }
    expect_idle(p);
    const auto expected = order == queue_order::fifo ? std::vector{1, 2, 3} : std::vector{3, 1, 0};
    EXPECT_EQ(ran, expected);
  }
}

// Segments of a coroutine that has begun are never discarded.
TEST(regress_reject, a_coroutine_that_has_begun_is_not_discarded) {
  for (const queue_order order : {queue_order::fifo, queue_order::lifo, queue_order::deque}) {
    thread_pool p({.max_threads = 1, .queue_limit = 2, .on_full = rejection::discard_queued, .queue = order});
    std::atomic<bool> go{false};
    std::atomic<int> done{0};
    std::vector<work<void>> begun;
    for (int i = 0; i < 3; ++i) {
      begun.push_back(p.submit(
          [&]() -> task<void> {
            while (!go) co_await sleep_for(100us);
            ++done;
          },
          {.priority = -9}));
      until(begun.back(), work_status::running);
    }
    std::vector<work<void>> all;
    {
      blocker busy(p);
      // All three coroutines return to the queue behind this work.
      const auto woken = std::chrono::steady_clock::now() + 2ms;
      until([&] { return std::chrono::steady_clock::now() > woken; });
      for (int i = 0; i < 50; ++i) all.push_back(p.submit([] {}));
      go = true;
    }
    expect_idle(p);
    EXPECT_EQ(done, 3);
    EXPECT_EQ(p.stats().discarded, 48U);
  }
}

TEST(regress_reject, blocked_submits_are_admitted_in_fifo_order) {
  thread_pool p(full(rejection::block));
  std::vector<int> order;
  std::deque<sleeper> callers;
  // Each work holds the thread until the next is queued, so no idle thread admits another caller meanwhile.
  const auto body = [&](int i) {
    order.push_back(i);
    until([&] { return i == 7 || p.stats().waiting == 1; });
  };
  {
    blocker busy(p);
    auto first = p.submit([&] { body(-1); });
    recorder heard(p);
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&, i] { static_cast<void>(p.submit([&body, i] { body(i); })); });
      until([&] { return heard.named("rejected").size() == static_cast<std::size_t>(i) + 1; });
      callers.back().until_asleep();
    }
    EXPECT_EQ(p.stats().waiting, 1U) << "those in the line are not the pool's yet";
  }
  for (sleeper& each : callers) each.join();
  expect_idle(p);
  EXPECT_EQ(order, (std::vector{-1, 0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(regress_reject, worker_queue_limit_releases_blocked_submits) {
  thread_pool p({.max_threads = 2, .on_full = rejection::block, .worker_queue_limit = 1});
  std::atomic<int> done{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) static_cast<void>(p.submit([&] { ++done; }));
    });
  }
  for (std::thread& each : callers) each.join();
  expect_idle(p);
  EXPECT_EQ(done, 6000);
}

TEST(regress_reject, a_limit_is_never_exceeded) {
  thread_pool p({.max_threads = 2, .queue_limit = 5, .on_full = rejection::block});
  gate go;
  std::vector<work<void>> busy;
  for (int i = 0; i < 2; ++i) busy.push_back(p.submit([&] { go.pass(); }));
  for (const auto& each : busy) until(each, work_status::running);
  std::vector<std::thread> callers;
  std::atomic<int> done{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) static_cast<void>(p.submit([&] { ++done; }));
    });
  }
  until([&] { return p.stats().waiting == 5; });
  for (int i = 0; i < 200; ++i) {
    EXPECT_LE(p.stats().waiting, 5U);
    std::this_thread::yield();
  }
  go.open();
  for (std::thread& each : callers) each.join();
  expect_idle(p);
  EXPECT_EQ(done, 400);
}

TEST(regress_reject, blocked_submit_takes_a_place_freed_by_a_cancel_or_a_pause) {
  thread_pool p(
      {.max_threads = 1, .queue_limit = 1, .on_full = rejection::block, .pause = pause_mode::queued_too});
  blocker busy(p);
  auto first = p.submit([] {});
  std::thread caller([&] { p.submit([] {}).wait(); });
  std::this_thread::yield();
  EXPECT_TRUE(first.cancel());
  until([&] { return p.stats().waiting == 1; });
  std::thread other([&] { p.submit([] {}).wait(); });
  p.pause_all();
  busy.let_go();
  // Both are held; neither is in a queue.
  until([&] { return p.stats().waiting == 2; });
  p.resume_all();
  caller.join();
  other.join();
  expect_idle(p);
}

TEST(regress_reject, a_thread_of_the_pool_does_not_wait_for_a_place) {
  thread_pool p(full(rejection::block));
  int ran = 0;
  p.submit([&] {
     for (int i = 0; i < 10; ++i) static_cast<void>(p.submit([&] { ++ran; }));
   }).wait();
  expect_idle(p);
  EXPECT_EQ(ran, 10);
}

TEST(regress_reject, blocked_submit_is_refused_when_the_pool_shuts_down) {
  std::vector<std::thread> callers;
  std::atomic<int> refused{0};
  {
    thread_pool p(full(rejection::block));
    recorder heard(p);
    gate go;
    auto busy = p.submit([&] { until([] { return this_work::stop_requested(); }); });
    until(busy, work_status::running);
    auto waits = p.submit([] {});
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&] {
        try {
          static_cast<void>(p.submit([] {}));
        } catch (const error& e) {
          if (e.code() == errc::shut_down) ++refused;
        }
      });
    }
    until([&] { return heard.named("rejected").size() == 3; });
    static_cast<void>(p.shutdown(10s));
    for (std::thread& each : callers) each.join();
    EXPECT_EQ(waits.status(), work_status::cancelled);
  }
  EXPECT_EQ(refused, 3);
}

TEST(regress_reject, custom_function_chooses_the_policy) {
  rejection answer = rejection::discard_newest;
  bool throws = false;
  thread_pool p({.max_threads = 1,
                 .queue_limit = 1,
                 .on_full = rejection::custom,
                 .choose_rejection = [&](int priority, std::size_t waiting) {
                   EXPECT_EQ(priority, 3);
                   EXPECT_EQ(waiting, 1U);
                   if (throws) throw std::runtime_error("no choice");
                   return answer;
                 }});
  recorder heard(p);
  blocker busy(p);
  auto waits = p.submit([] {}, {.priority = 9});
  EXPECT_EQ(p.submit([] {}, {.priority = 3}).status(), work_status::discarded);
  answer = rejection::caller_runs;
  EXPECT_EQ(p.submit([] {}, {.priority = 3}).status(), work_status::succeeded);
  answer = rejection::custom;
  EXPECT_THROW(static_cast<void>(p.submit([] {}, {.priority = 3})), error);
  throws = true;
  EXPECT_THROW(static_cast<void>(p.submit([] {}, {.priority = 3})), error);
  EXPECT_EQ(heard.errors(), std::vector{error_from::rejection_choice});
  busy.let_go();
  expect_idle(p);
}

TEST(regress_reject, released_and_retried_jobs_are_never_rejected) {
  thread_pool p(full(rejection::abort));
  gate go;
  auto first = p.submit([&] { go.pass(); });
  until(first, work_status::running);
  std::vector<work<int>> after;
  for (int i = 0; i < 10; ++i) after.push_back(p.submit([i] { return i; }, {.after = {first.id()}}));
  int runs = 0;
  auto again = p.submit(
      [&] {
        if (++runs < 5) throw std::runtime_error("again");
      },
      {.retry = {.limit = 9, .where = retry_where::requeued}});
  go.open();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(after[static_cast<std::size_t>(i)].fetch().value(), i);
  again.wait();
  EXPECT_EQ(runs, 5);
  expect_idle(p);
}

}  // namespace
}  // namespace regress_reject_test
