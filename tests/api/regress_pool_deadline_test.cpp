// A coroutine job has the deadline of the task that submits it: docs/pool.md, "In a coroutine job".
#include "unit/pool/pool_support.hpp"

#include <rota/cancel.hpp>
#include <rota/error.hpp>
#include <rota/finally.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/watch.hpp>
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/event.hpp>
#include <rota/testing/virtual_clock.hpp>
#include <rota/time.hpp>
#include <rota/timeout.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace rota::pool {
namespace {

using namespace rota::pool::test;
using time_point = std::chrono::steady_clock::time_point;

task<int> hour() {
  co_await sleep_for(1h);
  co_return 1;
}
task<time_point> own_deadline() {
  co_await yield();
  co_return this_task::deadline();
}

/// The failure of a cancelled job is not reported.
constexpr auto quiet = unhandled_policy::callback([](const unhandled_exception&) noexcept {});

/// Runs `f(pool)` as the root of a runtime, for each number of workers and of pool threads.
template <class F>
void with_each(F f) {
  for (const unsigned workers : {1U, 2U}) {
    for (const unsigned threads : {1U, 2U}) {
      SCOPED_TRACE(::testing::Message() << workers << " workers, " << threads << " threads");
      thread_pool p({.max_threads = threads, .on_unhandled = quiet});
      run(f(p), {.workers = workers});
    }
  }
}

/// Did `work` end within the limit?
task<bool> in_time(std::chrono::nanoseconds limit, task<> work) {
  const auto end = co_await timeout(limit, std::move(work));
  co_return end.has_value();
}

void expect_late(outcome<int> end) {
  ASSERT_TRUE(end.is_cancelled());
  EXPECT_EQ(end.reason(), cancel_reason::timeout);
}

// ---- which deadline ---------------------------------------------------------------------------------------

/// The deadlines that a job and a spawned task have here.
task<> compare(thread_pool& p) {
  const time_point here = this_task::deadline();
  auto child = spawn(own_deadline());
  const time_point of_child = co_await child;
  auto job = p.submit(own_deadline());
  const time_point of_job = co_await job;
  auto made = p.submit([] { return own_deadline(); }, {.priority = 3, .group = "g"});
  const time_point of_function = co_await made;
  EXPECT_EQ(of_child, here);
  EXPECT_EQ(of_job, here);
  EXPECT_EQ(of_function, here);
}

task<> compare_in_limits(thread_pool& p) {
  co_await compare(p);
  const time_point at = std::chrono::steady_clock::now() + 1h;
  static_cast<void>(co_await with_deadline(at, compare(p)));
  static_cast<void>(co_await with_deadline(at, timeout(2h, compare(p))));
  static_cast<void>(co_await with_deadline(at, with_deadline(at, compare(p))));
  static_cast<void>(co_await with_deadline(at, timeout(30min, compare(p))));
  const auto shielded = [&]() -> task<> {
    const auto held = shield(3h);
    EXPECT_GT(this_task::deadline(), at);
    co_await compare(p);
  };
  static_cast<void>(co_await with_deadline(at, shielded()));
}
TEST(pool_deadline, is_inherited_by_a_job_as_by_a_spawned_task) { with_each(compare_in_limits); }

task<> goes_on_in_children(thread_pool& p) {
  const time_point at = std::chrono::steady_clock::now() + 1h;
  const auto job = [&]() -> task<> {
    EXPECT_EQ(this_task::deadline(), at);
    co_await compare(p);  // what it spawns and submits
  };
  const auto submits = [&]() -> task<> {
    auto outer = p.submit(job);
    co_await outer;
  };
  static_cast<void>(co_await with_deadline(at, submits()));
}
TEST(pool_deadline, is_inherited_by_tasks_and_jobs_that_a_job_starts) { with_each(goes_on_in_children); }

task<> goes_to_no_function(thread_pool& p) {
  source<int> items(1);
  time_point of_item{};
  auto watching = watch_source(p, items, [&](int /*item*/) -> task<> { of_item = co_await own_deadline(); });
  const auto submits = [&]() -> task<> {
    auto function = p.submit([] { return this_task::deadline(); });
    const time_point seen = co_await function;
    EXPECT_EQ(seen, time_point::max());
    static_cast<void>(items.try_push(1));
  };
  static_cast<void>(co_await timeout(1h, submits()));
  watching.wait();
  EXPECT_EQ(of_item, time_point::max());
}
TEST(pool_deadline, is_not_inherited_by_function_jobs_and_watch_items) { with_each(goes_to_no_function); }

/// The thread of the pool waits for a function inside of a coroutine job, and runs it itself.
TEST(pool_deadline, is_not_inherited_through_a_function_that_runs_inside_of_another_job) {
  thread_pool p({.max_threads = 1});
  work<time_point> submitted;
  const auto job = [&]() -> task<> {
    EXPECT_NE(this_task::deadline(), time_point::max());
    auto function = p.submit([&] { submitted = p.submit(own_deadline()); });
    function.wait();
    co_return;
  };
  const auto submits = [&]() -> task<> {
    auto outer = p.submit(job);
    co_await outer;
  };
  EXPECT_TRUE(run(in_time(1h, submits())));
  EXPECT_EQ(submitted.fetch().value(), time_point::max());
}

TEST(pool_deadline, of_another_clock_is_not_inherited) {
  thread_pool p({.max_threads = 1});
  rota::testing::virtual_clock clock;
  runtime rt({.workers = 1}, clock);
  work<time_point> job;
  const auto submits = [&]() -> task<> {
    EXPECT_NE(this_task::deadline(), time_point::max());
    job = p.submit(own_deadline());
    co_return;
  };
  EXPECT_TRUE(rt.block_on(in_time(1h, submits())));
  EXPECT_EQ(job.fetch().value(), time_point::max());
}

// ---- the end of a job that no task awaits -----------------------------------------------------------------

/// Returns the end of a job that was submitted under a limit of 1 ms.
template <class F>
task<work<int>> under_limit(thread_pool& p, F f, const work_options& how) {
  std::optional<work<int>> job;
  const auto submits = [&]() -> task<> {
    job = p.submit(f, how);
    co_return;
  };
  // On a slow machine the limit may have passed before the line that submits.
  while (!job.has_value()) static_cast<void>(co_await timeout(1ms, submits()));
  co_return std::move(*job);
}

template <class F>
task<work<int>> under_limit(thread_pool& p, F f) {
  const work_options none;
  auto job = co_await under_limit(p, f, none);
  co_return job;
}

std::size_t times_told(const recorder& heard, work_id id) {
  const auto all = heard.of(id);
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const told& t) { return t.what == "timed out"; }));
}

task<> ends_alone(thread_pool& p) {
  const recorder heard(p);
  auto job = co_await under_limit(p, hour);
  job.wait();
  EXPECT_TRUE(job.status() == work_status::stopped || job.status() == work_status::cancelled);
  EXPECT_EQ(heard.ends_of(job.id()).size(), 1U);
  until([&] { return times_told(heard, job.id()) == 1; });  // perhaps after the end
  expect_late(job.fetch());
}
TEST(pool_deadline, ends_a_job_that_no_task_awaits) { with_each(ends_alone); }

task<> ends_with_own_limits(thread_pool& p) {
  // A longer limit of the work changes nothing. A shorter one comes first. An equal one is one of the two.
  for (const auto limit : {timeout_options(1h), timeout_options(1ms), timeout_options(1us)}) {
    const work_options limited{.timeout = limit};
    auto job = co_await under_limit(p, hour, limited);
    expect_late(job.fetch());
  }
  // Inside of the job: one that is longer, and one that is shorter and is seen by the job alone.
  const auto longer = []() -> task<int> {
    const auto end = co_await timeout(1h, hour());
    co_return end.value_or(2);
  };
  auto job = co_await under_limit(p, longer);
  expect_late(job.fetch());
  const auto shorter = []() -> task<int> {
    const auto end = co_await timeout(0ns, hour());
    co_return end.has_value() ? 1 : 2;
  };
  std::optional<work<int>> quick;
  const auto submits = [&]() -> task<> {
    quick = p.submit(shorter);
    co_return;
  };
  static_cast<void>(co_await timeout(1h, submits()));
  EXPECT_EQ(quick->fetch().value(), 2);
}
TEST(pool_deadline, ends_a_job_that_also_has_its_own_limits) { with_each(ends_with_own_limits); }

/// A job that waits behind others never begins.
task<> ends_before_it_begins(thread_pool& p) {
  std::atomic<bool> began{false};
  const auto body = [&]() -> task<int> {
    began = true;
    co_return 1;
  };
  std::vector<std::unique_ptr<blocker>> busy;
  for (unsigned i = 0; i < p.stats().thread_goal; ++i) busy.push_back(std::make_unique<blocker>(p));
  auto queued = co_await under_limit(p, body);
  const work_options after{.after = {busy[0]->handle().id()}};
  auto blocked = co_await under_limit(p, body, after);
  p.limit_group("one", 1);
  const work_options in_group{.group = "one"};
  auto first = p.submit(hour, in_group);
  auto parked = co_await under_limit(p, body, in_group);
  for (auto* each : {&queued, &blocked, &parked}) {
    each->wait();  // though no thread is free
    EXPECT_EQ(each->status(), work_status::cancelled);
    expect_late(each->fetch());
  }
  first.stop();
  busy.clear();
  first.wait();
  EXPECT_FALSE(began);
}
TEST(pool_deadline, ends_a_job_that_has_not_begun) { with_each(ends_before_it_begins); }

TEST(pool_deadline, ends_a_job_of_a_suspended_or_paused_pool) {
  for (const bool is_paused : {false, true}) {
    thread_pool p({.max_threads = 1,
                   .start = is_paused ? start_mode::running : start_mode::suspended,
                   .pause = pause_mode::queued_too});
    if (is_paused) p.pause_all();
    std::atomic<bool> began{false};
    const auto body = [&]() -> task<int> {
      began = true;
      co_return 1;
    };
    work<int> job = run(under_limit(p, body));
    job.wait();
    EXPECT_EQ(job.status(), work_status::cancelled);
    expect_late(job.fetch());
    is_paused ? static_cast<void>(p.resume_all()) : p.start();
    p.wait_idle();
    EXPECT_FALSE(began);
  }
}

/// A job that is paused between two segments goes on, and is stopped.
TEST(pool_deadline, ends_a_job_that_is_paused) {
  thread_pool p({.max_threads = 1});
  bool paused = false;
  // On a slow machine the limit may have passed before the pause.
  for (auto limit = 20ms; !paused; limit *= 2) {
    sync::event go;
    work<int> job;
    const auto body = [&]() -> task<int> {
      co_await go.wait();
      co_return co_await hour();
    };
    const auto submits = [&]() -> task<> {
      job = p.submit(body);
      paused = job.pause();
      go.set();
      co_return;
    };
    static_cast<void>(run(in_time(limit, submits())));
    if (!job.valid()) continue;
    job.wait();
    expect_late(job.fetch());
  }
}

/// The deadline has passed when the task submits: the job never begins.
task<> is_late_at_once(thread_pool& p) {
  std::atomic<bool> began{false};
  work<int> job;
  const auto body = [&]() -> task<int> {
    began = true;
    co_return 1;
  };
  const auto submits = [&]() -> task<> {
    while (std::chrono::steady_clock::now() < this_task::deadline()) std::this_thread::yield();
    job = p.submit(body);
    co_return;
  };
  static_cast<void>(co_await timeout(2ms, submits()));
  if (!job.valid()) co_return;  // a slow machine: not one line ran
  job.wait();
  EXPECT_EQ(job.status(), work_status::cancelled);
  expect_late(job.fetch());
  EXPECT_FALSE(began);
}
TEST(pool_deadline, starts_no_job_when_it_has_already_passed) { with_each(is_late_at_once); }

// ---- a task that awaits the job ---------------------------------------------------------------------------

/// The job ends first; its awaiter checks it later.
task<> sees_the_job_first(thread_pool& p) {
  for (const bool asks_for_result : {false, true}) {
    bool went_on = false;
    const auto waits = [&]() -> task<int> {
      auto job = p.submit(hour);
      job.wait();
      if (asks_for_result) {
        const auto end = co_await job.result();
        static_cast<void>(end);
      } else {
        static_cast<void>(co_await job);
      }
      went_on = true;
      co_return 1;
    };
    const auto end = co_await timeout(2ms, waits());
    EXPECT_FALSE(end.has_value());
    EXPECT_FALSE(went_on);
    // An inner limit that is longer changes nothing.
    const auto longer = [&]() -> task<int> {
      const auto inner = co_await timeout(1h, waits());
      went_on = true;
      co_return inner.value_or(2);
    };
    const auto outer = co_await timeout(2ms, longer());
    EXPECT_FALSE(outer.has_value());
    EXPECT_FALSE(went_on);
    // A shorter one is the boundary: the task goes on there.
    const auto inner = co_await timeout(1h, timeout(2ms, waits()));
    EXPECT_TRUE(inner.has_value() && !inner->has_value());
    EXPECT_FALSE(went_on);
  }
}
TEST(pool_deadline, reaches_the_awaiter_when_the_job_ended_first) { with_each(sees_the_job_first); }

/// The same, and the awaiter sleeps: the only worker is busy until the job is over.
TEST(pool_deadline, reaches_a_sleeping_awaiter_when_the_job_ended_first) {
  thread_pool p({.max_threads = 1});
  work<int> job;
  bool went_on = false;
  const auto waits = [&]() -> task<int> {
    job = p.submit(hour);
    const auto hinders = [&]() -> task<> {
      until([&] { return job.is_done(); });
      co_return;
    };
    auto hindrance = spawn(hinders());
    static_cast<void>(co_await job);
    went_on = true;
    co_return 1;
  };
  const auto root = [&]() -> task<bool> {
    const auto end = co_await timeout(2ms, waits());
    co_return end.has_value();
  };
  runtime rt({.workers = 1, .watchdog = 0ns});
  auto end = rt.spawn(root);
  EXPECT_FALSE(end.join());
  EXPECT_FALSE(went_on);
}

/// Holds the pool thread that watches the clock: no timer of that pool fires.
class held_clock final : public observer {
 public:
  explicit held_clock(thread_pool& p) : heard_(p.subscribe(*this)) {
    const work_options at_once{.timeout = {1ns, on_timeout::notify}};
    p.submit([this] { until([&] { return is_held_.load(); }); }, at_once).wait();
  }
  held_clock(const held_clock&) = delete;
  held_clock& operator=(const held_clock&) = delete;
  ~held_clock() override { gate_.open(); }
  void work_timed_out(work_id /*id*/) override {
    if (!is_held_.exchange(true)) gate_.pass();
  }

 private:
  gate gate_;
  std::atomic<bool> is_held_{false};
  subscription heard_;
};

/// The deadline reaches the awaiter first, which stops the job.
task<> sees_its_own_limit_first(thread_pool& p) {
  work<int> job;
  {
    auto clock = std::make_unique<held_clock>(p);
    bool went_on = false;
    const auto waits = [&]() -> task<int> {
      job = p.submit(hour);
      static_cast<void>(co_await job);
      went_on = true;
      co_return 1;
    };
    const auto end = co_await timeout(2ms, waits());
    EXPECT_FALSE(end.has_value());
    EXPECT_FALSE(went_on);
  }
  if (job.valid()) expect_late(job.fetch());
}
TEST(pool_deadline, reaches_the_awaiter_before_the_job) { with_each(sees_its_own_limit_first); }

/// The job sees the passed deadline at its own wait, and the pool's timer never fires: same reason.
TEST(pool_deadline, is_the_cancel_reason_when_the_pool_timer_is_late) {
  thread_pool late({.max_threads = 1});
  thread_pool other({.max_threads = 1});
  auto clock = std::make_unique<held_clock>(late);
  const auto body = [&]() -> task<int> {
    auto inner = other.submit(hour);  // inherits the same deadline
    co_return co_await inner;
  };
  auto job = run(under_limit(late, body));
  job.wait();
  expect_late(job.fetch());
}

/// The awaiter cancels a queued job, and so runs its callback and observers: their jobs inherit no deadline.
TEST(pool_deadline, of_an_awaiter_is_not_inherited_through_a_callback_or_an_observer) {
  work<time_point> by_callback;
  work<time_point> by_observer;
  work<int> job;
  thread_pool p({.max_threads = 1, .on_unhandled = quiet});
  class submitter final : public observer {
   public:
    submitter(thread_pool& p, work<time_point>& made) : p_(p), made_(made), heard_(p.subscribe(*this)) {}
    void work_cancelled(const work_end& /*end*/) override { made_ = p_.submit(own_deadline()); }

   private:
    thread_pool& p_;
    work<time_point>& made_;
    subscription heard_;
  };
  const auto clock = std::make_unique<held_clock>(p);
  auto busy = std::make_unique<blocker>(p);
  {
    const submitter hears(p, by_observer);
    const auto waits = [&]() -> task<> {
      const work_options how{
          .callback = [&](const work_end& /*end*/) { by_callback = p.submit(own_deadline()); }};
      job = p.submit(hour, how);
      static_cast<void>(co_await job);
    };
    const auto root = [&]() -> task<> {
      // On a slow machine the limit may have passed before the line that submits.
      while (!job.valid()) static_cast<void>(co_await timeout(2ms, waits()));
    };
    run(root());
  }
  busy.reset();
  EXPECT_EQ(by_callback.fetch().value(), time_point::max());
  EXPECT_EQ(by_observer.fetch().value(), time_point::max());
}

/// The task that helps takes a job that is late out of its queue, and so brings it to its end.
TEST(pool_deadline, of_a_task_that_helps_is_not_inherited_through_a_callback) {
  thread_pool p({.max_threads = 1, .on_unhandled = quiet});
  work<time_point> submitted;
  const auto clock = std::make_unique<held_clock>(p);
  auto busy = std::make_unique<blocker>(p);
  const auto body = [&]() -> task<time_point> {
    busy->let_go();
    const time_point seen = co_await own_deadline();
    co_return seen;
  };
  const auto helps = [&]() -> task<> {
    EXPECT_NE(this_task::deadline(), time_point::max());
    const work_options after{.after = {busy->handle().id()}};
    auto last = p.submit([] {}, after);
    last.wait(rota::help);
    co_return;
  };
  const auto root = [&]() -> task<> {
    const work_options how{.callback = [&](const work_end& /*end*/) { submitted = p.submit(body); }};
    auto job = co_await under_limit(p, hour, how);
    co_await sleep_for(2ms);  // the limit of 1 ms has passed
    static_cast<void>(co_await timeout(1h, helps()));
  };
  run(root());
  EXPECT_EQ(submitted.fetch().value(), time_point::max());
}

/// The deadline reaches the awaiter first.
TEST(pool_deadline, is_reported_to_observers_when_it_reached_the_awaiter_first) {
  for (const bool has_begun : {true, false}) {
    thread_pool p({.max_threads = 1, .on_unhandled = quiet});
    const recorder heard(p);
    work<int> job;
    const auto clock = std::make_unique<held_clock>(p);
    auto busy = has_begun ? nullptr : std::make_unique<blocker>(p);
    const auto waits = [&]() -> task<> {
      job = p.submit(hour);
      static_cast<void>(co_await job);
    };
    const auto root = [&]() -> task<> {
      while (!job.valid()) static_cast<void>(co_await timeout(2ms, waits()));
    };
    run(root());
    until([&] { return times_told(heard, job.id()) == 1; });  // perhaps after the end
    busy.reset();
    expect_late(job.fetch());
    EXPECT_EQ(times_told(heard, job.id()), 1U);
  }
}

/// Waits in a job until it is asked to stop, forgets that, and is unwound all the same.
task<int> forgets(bool& forgot) {
  {
    const auto held = shield(1h);
    until([] { return this_work::stop_requested() && this_task::cancel_requested(); });
    this_work::stop_if_requested([] { return false; });
    forgot = true;
  }
  co_return co_await hour();
}

TEST(pool_deadline, is_reported_once_when_the_job_ignores_it) {
  thread_pool p({.max_threads = 1, .on_unhandled = quiet});
  const recorder heard(p);
  for (bool forgot = false; !forgot;) {
    auto job = run(under_limit(p, [&] { return forgets(forgot); }));
    expect_late(job.fetch());
    until([&] { return times_told(heard, job.id()) != 0; });  // perhaps after the end
    EXPECT_EQ(times_told(heard, job.id()), 1U);
  }
}

/// The job's own limit has passed, and the inherited one has not.
TEST(pool_deadline, is_not_reported_before_it_passes) {
  thread_pool p({.max_threads = 1, .on_unhandled = quiet});
  const recorder heard(p);
  work<int> job;
  bool forgot = false;
  const auto submits = [&]() -> task<> {
    const work_options how{.timeout = {1ms, on_timeout::stop, timeout_from::start}};
    job = p.submit([&] { return forgets(forgot); }, how);
    co_return;
  };
  EXPECT_TRUE(run(in_time(1h, submits())));
  EXPECT_TRUE(job.fetch().is_cancelled());
  EXPECT_TRUE(forgot);
  EXPECT_EQ(times_told(heard, job.id()), 1U);
}

/// The deadline ends a wait under a shield, and the job fails with that cancellation. Stops in each order.
TEST(pool_deadline, is_the_cancel_reason_when_the_job_fails_with_anothers_cancellation) {
  for (const bool is_timer_late : {true, false}) {
    thread_pool p({.max_threads = 1, .on_unhandled = quiet});
    thread_pool other({.max_threads = 1, .on_unhandled = quiet});
    auto clock = is_timer_late ? std::make_unique<held_clock>(p) : nullptr;
    work<int> job;
    bool began = false;
    bool went_on = false;
    const auto body = [&]() -> task<int> {
      began = true;
      auto inner = other.submit(hour);  // inherits the same deadline
      const auto held = shield(1h);
      co_return co_await inner;
    };
    const auto waits = [&]() -> task<int> {
      job = p.submit(body);
      job.wait();
      try {
        static_cast<void>(co_await job);
      } catch (...) {
        went_on = true;
        throw;
      }
      co_return 1;
    };
    const auto root = [&]() -> task<bool> {
      const auto end = co_await timeout(2ms, waits());
      co_return end.has_value();
    };
    while (!began) EXPECT_FALSE(run(root()));
    EXPECT_FALSE(went_on);
    EXPECT_EQ(job.status(), work_status::stopped);
    expect_late(job.fetch());
  }
}

/// It has no cause of its own: it sees the end of the job.
task<> is_told_outside(thread_pool& p) {
  auto job = co_await under_limit(p, hour);
  const auto end = co_await job.result();
  EXPECT_EQ(end.reason(), cancel_reason::timeout);
  auto other = co_await under_limit(p, hour);
  bool thrown = false;
  try {
    static_cast<void>(co_await other);
  } catch (const cancelled_error&) {
    thrown = true;
  }
  EXPECT_TRUE(thrown);
  // The cause is the submitter's, and another limit of the awaiter's has not passed.
  auto third = co_await under_limit(p, hour);
  const auto early = co_await timeout(1h, third.result());
  EXPECT_TRUE(early.has_value() && early->is_cancelled());
}
TEST(pool_deadline, is_an_outcome_for_an_awaiter_without_that_deadline) { with_each(is_told_outside); }

/// A shield around the submit and the wait: the limit of the shield is the deadline of both.
task<> is_held_off(thread_pool& p) {
  const auto passes = [] {
    while (!this_task::cancel_requested()) std::this_thread::yield();
  };
  const auto shielded = [&]() -> task<int> {
    const auto held = shield(1h);
    passes();
    auto job = p.submit([]() -> task<int> {
      co_await sleep_for(1ms);
      co_return 7;
    });
    const int value = co_await job;
    EXPECT_EQ(value, 7);
    co_return value;
  };
  static_cast<void>(co_await timeout(1ms, shielded()));
  bool went_on = false;
  const auto limited = [&]() -> task<int> {
    const auto held = shield(1ms);
    auto job = p.submit(hour);
    job.wait();
    static_cast<void>(co_await job);
    went_on = true;
    co_return 1;
  };
  const auto end = co_await timeout(1us, limited());
  EXPECT_FALSE(end.has_value());
  EXPECT_FALSE(went_on);
}
TEST(pool_deadline, is_held_off_by_a_shield_around_the_submit) { with_each(is_held_off); }

/// The clean-up of an unwinding has its own limit.
TEST(pool_deadline, of_an_expired_timeout_does_not_end_a_job_in_the_cleanup) {
  thread_pool p({.max_threads = 1});
  int value = 0;
  const auto cleans = [&]() -> task<> {
    auto job = p.submit([]() -> task<int> {
      co_await yield();
      co_return 7;
    });
    value = co_await job;
  };
  const auto body = [&]() -> task<int> {
    const auto cleanup = [&](const outcome<int>& /*end*/) -> task<> { co_await cleans(); };
    const int value_of_body = co_await finally(hour(), cleanup, 1h);
    co_return value_of_body;
  };
  const auto root = [&]() -> task<bool> {
    const auto end = co_await timeout(1ms, body());
    co_return end.has_value();
  };
  EXPECT_FALSE(run(root()));
  EXPECT_EQ(value, 7);
}

// ---- attempts ---------------------------------------------------------------------------------------------

/// Each attempt has the deadline; none begins after it.
task<> limits_attempts(thread_pool& p) {
  constexpr auto endless = retry_options::unlimited;
  const retry_options ways[] = {{.limit = endless},
                                {.limit = endless, .backoff = 1us, .max_backoff = 100us},
                                {.limit = endless, .backoff = 1us, .where = retry_where::requeued},
                                {.limit = endless, .backoff = 1h},
                                {.limit = endless, .backoff = 1h, .where = retry_where::requeued}};
  for (const retry_options& how : ways) {
    std::atomic<int> without{0};
    const auto body = [&]() -> task<int> {
      if (this_task::deadline() == time_point::max()) ++without;
      throw std::runtime_error("not yet");
      co_return 1;
    };
    // Awaited by no task.
    const work_options retried{.retry = how};
    auto job = co_await under_limit(p, body, retried);
    job.wait();
    EXPECT_NE(job.status(), work_status::succeeded);
    // Awaited, and ended before its awaiter checks it.
    bool went_on = false;
    const auto waits = [&]() -> task<int> {
      auto mine = p.submit(body, retried);
      mine.wait();
      try {
        static_cast<void>(co_await mine);
      } catch (...) {
        went_on = true;
        throw;
      }
      went_on = true;
      co_return 1;
    };
    const auto end = co_await timeout(2ms, waits());
    EXPECT_FALSE(end.has_value());
    EXPECT_FALSE(went_on);
    EXPECT_EQ(without, 0);
  }
  p.wait_idle();
  EXPECT_EQ(p.stats().unhandled, 0U);  // no attempt was the last by its number
}
TEST(pool_deadline, holds_for_all_attempts_of_a_job_together) { with_each(limits_attempts); }

// ---- what comes before the deadline -----------------------------------------------------------------------

/// Waits until the deadline has reached other jobs with the same deadline.
task<> lets_pass(thread_pool& p, time_point at) {
  std::optional<work<int>> mark;
  const auto submits = [&]() -> task<> {
    mark = p.submit(hour);
    co_return;
  };
  static_cast<void>(co_await with_deadline(at, submits()));
  if (mark.has_value()) mark->wait();
}

/// Stops a job before the deadline; it ends later, for the first cause. Returns false if the stop was late.
task<bool> keeps_the_first_cause(thread_pool& p, std::chrono::nanoseconds limit) {
  sync::event go;
  sync::event inside;
  const auto at = std::chrono::steady_clock::now() + limit;
  const auto body = [&]() -> task<int> {
    {
      const auto held = shield(1h);
      inside.set();
      co_await go.wait();
    }
    co_return co_await hour();
  };
  work<int> job;
  const auto submits = [&]() -> task<> {
    job = p.submit(body);
    co_await inside.wait();
    job.stop();
  };
  const auto end = co_await with_deadline(at, submits());
  const bool was_in_time = end.has_value() && std::chrono::steady_clock::now() < at;
  co_await lets_pass(p, at);
  go.set();
  if (!job.valid()) co_return false;
  const auto result = co_await job.result();
  EXPECT_TRUE(result.is_cancelled());
  if (was_in_time) {
    EXPECT_EQ(result.reason(), cancel_reason::user);
  }
  co_return was_in_time;
}
task<> keeps_the_first_cause_at_last(thread_pool& p) {
  for (std::chrono::nanoseconds limit = 2ms;; limit *= 2) {
    const bool was_in_time = co_await keeps_the_first_cause(p, limit);
    if (was_in_time) co_return;
  }
}
TEST(pool_deadline, is_not_the_cancel_reason_after_a_stop) { with_each(keeps_the_first_cause_at_last); }

/// A result that is there when the deadline is delivered wins.
task<> keeps_a_value(thread_pool& p) {
  const auto busy = []() -> task<int> {
    while (!this_task::cancel_requested()) std::this_thread::yield();
    co_return 7;
  };
  auto job = co_await under_limit(p, busy);
  job.wait();
  const auto end = job.fetch();
  // It has begun, or not.
  EXPECT_TRUE(end.is_cancelled() || end.value() == 7);
  const auto quickly = [&]() -> task<int> {
    auto quick = p.submit([]() -> task<int> { co_return 8; });
    const int value = co_await quick;
    co_return value;
  };
  const auto value = co_await timeout(1h, quickly());
  EXPECT_EQ(value.value_or(0), 8);
}
TEST(pool_deadline, does_not_replace_a_value) { with_each(keeps_a_value); }

/// Awaits a job that is over, after its own deadline. Returns true if that throws the exception of the job.
task<bool> throws_real(work<int>& job) {
  bool is_real = false;
  try {
    static_cast<void>(co_await job);
  } catch (const std::runtime_error& e) {
    is_real = std::string_view(e.what()) == "real";
  }
  co_return is_real;
}

/// The job computes past the deadline, and fails: no attempt would have followed.
task<> keeps_an_exception(thread_pool& p) {
  bool began = false;
  while (!began) {
    const recorder heard(p);
    work<int> job;
    bool is_real = false;
    const auto body = [&]() -> task<int> {
      began = true;
      until([&] { return heard.named("timed out").size() == 1; });
      throw std::runtime_error("real");
      co_return 1;
    };
    const auto waits = [&]() -> task<> {
      job = p.submit(body);
      job.wait();
      is_real = co_await throws_real(job);
    };
    static_cast<void>(co_await timeout(2ms, waits()));
    EXPECT_EQ(is_real, began);
  }
}
TEST(pool_deadline, does_not_replace_an_exception) { with_each(keeps_an_exception); }

/// The job's own limit ends it early, with a failure; its awaiter looks later. Returns false if it was late.
task<bool> keeps_an_early_exception(thread_pool& p, std::chrono::nanoseconds limit, unsigned retries) {
  time_point ended = time_point::max();
  work<int> job;
  bool is_real = false;
  const auto at = std::chrono::steady_clock::now() + limit;
  const auto body = [&]() -> task<int> {
    while (!this_task::cancel_requested()) std::this_thread::yield();
    throw std::runtime_error("real");
    co_return 1;
  };
  const auto waits = [&]() -> task<> {
    const work_options how{.timeout = 1ms, .retry = {.limit = retries}};
    job = p.submit(body, how);
    job.wait();
    ended = std::chrono::steady_clock::now();
    auto mark = p.submit(hour);
    mark.wait();  // ended by the deadline
    is_real = co_await throws_real(job);
  };
  static_cast<void>(co_await with_deadline(at, waits()));
  const bool was_in_time = job.valid() && job.status() == work_status::failed && ended < at;
  if (was_in_time) {
    EXPECT_TRUE(is_real);
  }
  co_return was_in_time;
}
task<> keeps_an_early_exception_at_last(thread_pool& p) {
  for (const unsigned retries : {0U, 1U}) {
    for (std::chrono::nanoseconds limit = 10ms;; limit *= 2) {
      const bool was_in_time = co_await keeps_an_early_exception(p, limit, retries);
      if (was_in_time) break;
    }
  }
}
TEST(pool_deadline, does_not_replace_an_earlier_failure) { with_each(keeps_an_early_exception_at_last); }

/// The pool ends first.
TEST(pool_deadline, has_no_effect_after_the_pool_has_ended) {
  auto p = std::make_unique<thread_pool>(pool_options{.max_threads = 1});
  work<int> job;
  const auto waits = [&]() -> task<> {
    job = p->submit(hour);
    p->shutdown(0ns);
    p.reset();
    const auto end = co_await job.result();
    EXPECT_EQ(end.reason(), cancel_reason::shutdown);
  };
  EXPECT_TRUE(run(in_time(1h, waits())));
}

/// Cancels, deadlines and the end of the pool, in whatever order: each job ends once, and nothing is left.
TEST(pool_deadline, ends_each_job_once_when_it_races_stops_and_shutdown) {
  for (int round = 0; round < 50; ++round) {
    std::vector<work<int>> all;
    thread_pool p({.max_threads = 2, .on_unhandled = quiet});
    const auto submits = [&]() -> task<> {
      for (int i = 0; i < 40; ++i) {
        const auto how = work_options{.retry = {.limit = 2, .backoff = 1us, .where = retry_where::requeued}};
        all.push_back(p.submit(
            [i]() -> task<int> {
              co_await sleep_for(std::chrono::microseconds(7 * i));
              if (i % 3 == 0) throw std::runtime_error("not yet");
              co_return i;
            },
            how));
        if (i % 5 == 0) all.back().stop();
        if (i % 7 == 0) all.back().cancel();
      }
      co_await sleep_for(1h);
    };
    static_cast<void>(run(in_time(std::chrono::microseconds(20 * round), submits())));
    if (round % 2 == 0) {
      p.shutdown(0ns);
    } else {
      expect_idle(p);
    }
    for (work<int>& each : all) EXPECT_TRUE(each.is_done());
  }
}

}  // namespace
}  // namespace rota::pool
