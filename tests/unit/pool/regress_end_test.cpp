// The end of a pool takes bounded time, reports every work, and leaves nothing behind.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/stop_token.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <memory>
#include <optional>

namespace regress_end_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

// Works that do not end by themselves refer to this object and not to the test, which they may outlive.
struct stubborn {
  std::atomic<bool> end{false};
  std::atomic<bool> ended{false};
  std::atomic<bool> begun{false};
  void run() {
    begun = true;
    until([&] { return end.load(); });
    ended = true;
  }
};

TEST(regress_end, shutdown_ends_each_job_once_and_the_report_adds_up) {
  std::optional<thread_pool> p;
  p.emplace(pool_options{.max_threads = 2});
  recorder heard(*p);
  p->limit_group("one", 1);
  const work_id never = p->reserve();
  std::vector<work<void>> runs;
  for (int i = 0; i < 2; ++i)
    runs.push_back(p->submit([] { this_work::sleep_for(1h); }, {.group = i == 0 ? "one" : ""}));
  for (const auto& each : runs) until(each, work_status::running);
  std::vector<work<void>> waits;
  waits.push_back(p->submit([] {}));
  waits.push_back(p->submit([] {}, {.group = "one"}));
  waits.push_back(p->submit([] {}, {.after = {never}}));
  waits.push_back(p->submit([] {}, {.after = {runs[0].id()}}));
  const pool_report report = p->shutdown(1h);
  EXPECT_EQ(report.cancelled, 4U) << "among them those whose predecessor did not end well";
  EXPECT_EQ(report.ended, 2U);
  EXPECT_TRUE(report.abandoned.empty());
  for (const auto& each : runs) EXPECT_EQ(each.status(), work_status::stopped);
  for (const auto& each : waits) EXPECT_TRUE(is_final(each.status()));
  for (const auto& each : waits) EXPECT_EQ(heard.ends_of(each.id()).size(), 1U);
  const pool_report again = p->shutdown(1h);
  EXPECT_EQ(again.cancelled, 4U);
  EXPECT_EQ(again.ended, 2U);
}

TEST(regress_end, shutdown_releases_a_waiter_of_a_reserved_id) {
  std::optional<thread_pool> p;
  p.emplace(pool_options{.max_threads = 1});
  const work_id never = p->reserve();
  sleeper caller([&] { EXPECT_TRUE(p->wait(never)); });
  caller.until_asleep();
  static_cast<void>(p->shutdown(1h));
  caller.join();
  EXPECT_THROW(static_cast<void>(p->reserve()), error);
  EXPECT_THROW(static_cast<void>(p->submit([] {}, {.id = never})), error);
}

TEST(regress_end, submit_refused_by_shutdown_releases_its_reservation) {
  for (int round = 0; round < 200; ++round) {
    thread_pool p({.max_threads = 1});
    const work_id id = p.reserve();
    auto after = p.submit([] {}, {.after = {id}});
    std::thread other([&] {
      try {
        static_cast<void>(p.submit([] {}, {.id = id}));
      } catch (const error&) {  // the pool has ended
      }
    });
    static_cast<void>(p.shutdown(1h));
    other.join();
    EXPECT_TRUE(after.is_done());
  }
}

TEST(regress_end, destructor_destroys_jobs_held_by_a_paused_group) {
  const auto kept = std::make_shared<int>(0);
  {
    thread_pool p({.max_threads = 1, .pause = pause_mode::queued_too});
    p.pause("g");
    std::vector<work<void>> all;
    for (int i = 0; i < 5; ++i) all.push_back(p.submit([kept] {}, {.group = "g"}));
    for (const auto& each : all) until(each, work_status::suspended);
    auto alone = p.submit([kept] {});
    alone.wait();
  }
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(regress_end, shutdown_cancels_jobs_of_a_pool_that_never_started) {
  thread_pool p({.max_threads = 1, .start = start_mode::suspended});
  recorder heard(p);
  auto w = p.submit([] {});
  EXPECT_EQ(p.shutdown(1h).cancelled, 1U);
  EXPECT_EQ(w.status(), work_status::cancelled);
  EXPECT_EQ(w.fetch().reason(), cancel_reason::shutdown);
  EXPECT_EQ(heard.ends_of(w.id()).size(), 1U);
}

TEST(regress_end, shutdown_ends_jobs_that_are_paused_while_running) {
  for (const char* group : {"", "g"}) {
    thread_pool p({.max_threads = 2});
    if (*group != 0) p.pause(group);
    auto function = p.submit([] { this_work::pause_if_requested(); }, {.group = group});
    auto coroutine = p.submit([]() -> task<void> { co_await sleep_for(1h); }, {.group = group});
    if (*group == 0) p.pause(coroutine.id());
    static_cast<void>(p.shutdown(1h));
    EXPECT_TRUE(is_final(function.status()));
    EXPECT_TRUE(is_final(coroutine.status()));
  }
}

// A body that never checks for a stop does not delay the pool's end.
TEST(regress_end, shutdown_reports_a_job_that_does_not_end_as_abandoned) {
  const auto body = std::make_shared<stubborn>();
  std::optional<thread_pool> p;
  p.emplace(pool_options{.max_threads = 1, .force_grace = 1ms});
  auto w = p->submit([body] { body->run(); });
  until([&] { return body->begun.load(); });
  auto behind = p->submit([] {});
  const pool_report report = p->shutdown(0s);
  EXPECT_EQ(report.abandoned, std::vector{w.id()});
  EXPECT_EQ(report.cancelled, 1U);
  EXPECT_EQ(report.ended, 0U);
  EXPECT_EQ(w.status(), work_status::abandoned);
  p.reset();
  body->end = true;
  until([&] { return body->ended.load(); });
}

TEST(regress_end, shutdown_is_not_delayed_by_an_expired_force_grace) {
  const auto body = std::make_shared<stubborn>();
  std::optional<thread_pool> p;
  p.emplace(pool_options{.max_threads = 1, .force_grace = 0ns, .max_abandoned = 0});
  auto w = p->submit([body] { body->run(); });
  until([&] { return body->begun.load(); });
  EXPECT_TRUE(w.force_stop());
  EXPECT_FALSE(w.wait_for(10ms)) << "no thread may be lost";
  EXPECT_EQ(p->shutdown(0s).abandoned, std::vector{w.id()});
  p.reset();
  body->end = true;
  until([&] { return body->ended.load(); });
}

TEST(regress_end, shutdown_abandons_a_job_that_runs_inside_another_job_too) {
  const auto body = std::make_shared<stubborn>();
  std::optional<thread_pool> p;
  p.emplace(pool_options{.max_threads = 1, .force_grace = 1ms});
  // It refers to nothing in this frame, which it outlives.
  auto outer = p->submit([body, pool = &*p] { pool->submit([body] { body->run(); }).wait(); });
  until([&] { return body->begun.load(); });
  EXPECT_EQ(p->shutdown(0s).abandoned.size(), 2U);
  EXPECT_EQ(outer.status(), work_status::abandoned);
  p.reset();
  body->end = true;
  until([&] { return body->ended.load(); });
}

TEST(regress_end, abandoned_job_that_has_returned_is_not_in_the_report) {
  const auto body = std::make_shared<stubborn>();
  thread_pool p({.max_threads = 1, .force_grace = 0ns});
  auto w = p.submit([body] { body->run(); });
  until([&] { return body->begun.load(); });
  EXPECT_TRUE(w.pause());
  EXPECT_TRUE(w.resume());
  EXPECT_TRUE(w.force_stop());
  w.wait();
  EXPECT_EQ(w.status(), work_status::abandoned);
  EXPECT_EQ(p.stats().abandoned, 1U);
  body->end = true;
  until([&] { return p.stats().abandoned == 0; });
  EXPECT_TRUE(p.shutdown(1h).abandoned.empty());
}

/// State of a coroutine that waits for something that cannot be stopped and has a destructor that blocks.
struct unwinding {
  stubborn inner;
  stubborn local;
  work<void> waited_for;

  struct guard {
    std::shared_ptr<unwinding> all;
    ~guard() { all->local.run(); }
  };
  static task<void> body(std::shared_ptr<unwinding> all) {
    const guard last{all};
    co_await all->waited_for;
  }
  /// Returns the coroutine's work, abandoned while it waits. `p` has two threads.
  static work<void> begin(thread_pool& p, const std::shared_ptr<unwinding>& all) {
    all->waited_for = p.submit([all] { all->inner.run(); });
    until([&] { return all->inner.begun.load(); });
    auto w = p.submit([all] { return body(all); });
    until(w, work_status::running);
    p.submit([] {}).wait();  // runs on the thread that the coroutine has left
    EXPECT_TRUE(w.force_stop());
    w.wait();
    EXPECT_EQ(w.status(), work_status::abandoned);
    EXPECT_FALSE(all->local.begun);
    return w;
  }
  static void end(const thread_pool& p, const std::shared_ptr<unwinding>& all) {
    EXPECT_FALSE(all->local.ended);
    all->inner.end = all->local.end = true;
    until([&] { return all->local.ended.load(); });
    until([&] { return p.stats().abandoned == 0; });
  }
};

TEST(regress_end, shutdown_does_not_wait_for_an_abandoned_coroutine_that_unwinds) {
  const auto all = std::make_shared<unwinding>();
  thread_pool p({.max_threads = 2, .force_grace = 0ns});
  const auto w = unwinding::begin(p, all);
  all->inner.end = true;
  until([&] { return all->local.begun.load(); });
  const pool_report report = p.shutdown(0ns);
  EXPECT_EQ(report.abandoned, std::vector{w.id()});
  unwinding::end(p, all);
}

// The pool's end itself gives up the wait.
TEST(regress_end, shutdown_does_not_wait_for_a_coroutine_that_begins_to_unwind) {
  for (int round = 0; round < 20; ++round) {
    const auto all = std::make_shared<unwinding>();
    thread_pool p({.max_threads = 2, .force_grace = 0ns});
    static_cast<void>(unwinding::begin(p, all));
    EXPECT_EQ(p.shutdown(0ns).abandoned.size(), 2U);
    until([&] { return all->local.begun.load(); });
    unwinding::end(p, all);
  }
}

TEST(regress_end, shutdown_waits_for_a_busy_guard_of_another_thread) {
  thread_pool p({.max_threads = 1});
  std::optional<thread_pool::busy_guard> busy;
  gate made;
  gate go;
  std::thread submits([&] {
    const thread_pool::busy_guard mine(p);
    made.open();
    go.pass();
  });
  made.pass();
  sleeper ends([&] { static_cast<void>(p.shutdown(0ns)); });
  ends.until_asleep();
  EXPECT_EQ(p.stats().outstanding, 1U);
  go.open();
  ends.join();
  submits.join();
  EXPECT_THROW(busy.emplace(p), error);
}

TEST(regress_end_death, shutdown_aborts_if_its_own_thread_has_a_busy_guard) {
  EXPECT_DEATH(
      {
        thread_pool p({.max_threads = 1});
        const thread_pool::busy_guard first(p);
        const thread_pool::busy_guard second(p);
        static_cast<void>(p.shutdown(0ns));
      },
      "a thread_pool is shut down by a thread that has a busy_guard of it");
}

TEST(regress_end, two_threads_may_shut_a_pool_down_at_once) {
  for (int round = 0; round < 50; ++round) {
    thread_pool p({.max_threads = 2});
    auto w = p.submit([] { this_work::sleep_for(1h); });
    until(w, work_status::running);
    std::uint64_t ended[2]{};
    std::thread other([&] { ended[0] = p.shutdown(1h).ended; });
    ended[1] = p.shutdown(1h).ended;
    EXPECT_EQ(w.status(), work_status::stopped) << "whoever comes second waits, too";
    other.join();
    EXPECT_EQ(ended[0], 1U);
    EXPECT_EQ(ended[1], 1U);
  }
}

TEST(regress_end, handles_outlive_the_pool) {
  work<std::string> done;
  work<std::string> taken_back;
  {
    thread_pool p({.max_threads = 1});
    done = p.submit([] { return std::string(200, 'x'); });
    done.wait();
    blocker busy(p);
    taken_back = p.submit([] { return std::string(); });
    EXPECT_TRUE(taken_back.cancel());
  }
  EXPECT_EQ(done.fetch().value().size(), 200U);
  EXPECT_TRUE(taken_back.fetch().is_cancelled());
  EXPECT_FALSE(taken_back.cancel());
}

TEST(regress_end, submits_that_race_with_shutdown_are_all_accounted_for) {
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> ran{0};
    std::atomic<int> told{0};
    std::uint64_t accepted = 0;
    thread_pool p({.max_threads = 2, .default_callback = [&](const work_end&) { ++told; }});
    std::thread other([&] {
      try {
        for (; accepted < 1000; ++accepted) static_cast<void>(p.submit([&] { ++ran; }));
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::shut_down);
      }
    });
    static_cast<void>(p.shutdown(1h));
    other.join();
    const pool_stats s = p.stats();
    EXPECT_EQ(s.submitted, accepted);
    EXPECT_EQ(s.succeeded, static_cast<std::uint64_t>(ran));
    EXPECT_EQ(s.succeeded + s.cancelled, accepted);
    EXPECT_EQ(static_cast<std::uint64_t>(told), accepted);
  }
}

TEST(regress_end, pending_timers_are_dropped_when_the_pool_ends) {
  for (int i = 0; i < 20; ++i) {
    thread_pool p({.max_threads = 1, .total_timeout = 1h, .running_timer = {1h, [](auto) {}}});
    auto a = p.submit([] {}, {.timeout = 1h});
    auto b = p.submit([] {}, {.timeout = {1h, on_timeout::stop, timeout_from::submit}});
    auto c =
        p.submit([] { throw std::runtime_error("again"); },
                 {.retry = {.limit = 1, .backoff = 1h, .max_backoff = 1h, .where = retry_where::requeued}});
    auto d = p.submit([] { this_work::sleep_for(1h); });
    until(c, work_status::suspended);
    until(d, work_status::running);
    EXPECT_TRUE(d.force_stop());
    d.wait();
    EXPECT_EQ(d.status(), work_status::force_stopped);
  }
}

}  // namespace
}  // namespace regress_end_test
