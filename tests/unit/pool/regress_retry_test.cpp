// Retries and timeouts: the number of attempts, their events, and that no timeout outlives its work.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

namespace regress_retry_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

class regress_retry : public ::testing::TestWithParam<retry_where> {};

TEST_P(regress_retry, a_limit_of_five_is_six_attempts) {
  thread_pool p({.max_threads = 1});
  recorder heard(p);
  std::vector<unsigned> attempts;
  auto w = p.submit(
      [&] {
        attempts.push_back(this_work::attempt());
        throw std::runtime_error("again");
      },
      {.retry = {.limit = 5, .where = GetParam()},
       .callback = [&](const work_end& e) { heard.call_back(e); }});
  EXPECT_TRUE(w.fetch().has_exception());
  EXPECT_EQ(attempts, (std::vector<unsigned>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(heard.of(w.id()).size(), 18U) << "started, ended and called back for each";
  EXPECT_EQ(heard.ends_of(w.id()).size(), 1U);
  EXPECT_EQ(heard.callbacks_of(w.id()), 1U);
  EXPECT_EQ(p.stats().attempts, 6U);
  EXPECT_EQ(p.stats().failed, 1U);
}

TEST_P(regress_retry, job_without_a_limit_is_retried_until_it_succeeds) {
  thread_pool p({.max_threads = 2});
  int runs = 0;
  auto w = p.submit(
      [&] {
        if (++runs < 500) throw std::runtime_error("again");
        return runs;
      },
      {.retry = {.limit = retry_options::unlimited, .where = GetParam()}});
  EXPECT_EQ(w.fetch().value(), 500);
  expect_idle(p);
}

TEST_P(regress_retry, stop_ends_a_job_without_a_retry_limit) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> runs{0};
  auto w = p.submit([&] { ++runs, throw std::runtime_error("again"); },
                    {.retry = {.limit = retry_options::unlimited, .where = GetParam()}});
  until([&] { return runs > 10; });
  EXPECT_TRUE(w.stop());
  w.wait();
  EXPECT_TRUE(w.status() == work_status::failed || w.status() == work_status::cancelled);
  expect_idle(p);
}

TEST_P(regress_retry, may_be_ended_from_the_body_the_callback_and_an_event) {
  class stops final : public observer {
   public:
    bool does = false;
    void work_ended(const work_end& e) override {
      if (does) e.stop_retry();
    }
  } watcher;
  for (int who = 0; who < 3; ++who) {
    thread_pool p({.max_threads = 1});
    watcher.does = who == 2;
    const subscription heard = p.subscribe(watcher);
    int runs = 0;
    auto w = p.submit(
        [&] {
          ++runs;
          if (who == 0) this_work::stop_retry();
          throw std::runtime_error("again");
        },
        {.retry = {.limit = 9, .where = GetParam()}, .callback = [&](const work_end& e) {
           if (who == 1) e.stop_retry();
         }});
    w.wait();
    EXPECT_EQ(runs, 1) << who;
    EXPECT_EQ(w.status(), work_status::failed);
  }
}

TEST_P(regress_retry, filter_decides_which_errors_are_retried) {
  thread_pool p({.max_threads = 1});
  recorder heard(p);
  int runs = 0;
  const auto is_runtime_error = [](const std::exception_ptr& e) {
    try {
      std::rethrow_exception(e);
    } catch (const std::runtime_error&) {
      return true;
    } catch (...) {
      return false;
    }
  };
  const auto body = [&] {
    if (++runs < 3) throw std::runtime_error("again");
    throw std::logic_error("never again");
  };
  auto w = p.submit(body, {.retry = {.limit = 9, .where = GetParam(), .only_if = is_runtime_error}});
  w.wait();
  EXPECT_EQ(runs, 3);
  runs = 0;
  auto v = p.submit(
      body, {.retry = {.limit = 9, .where = GetParam(), .only_if = [](const std::exception_ptr&) -> bool {
                         throw std::runtime_error("the filter itself");
                       }}});
  v.wait();
  EXPECT_EQ(runs, 1);
  const auto errors = heard.errors();
  EXPECT_EQ(std::count(errors.begin(), errors.end(), error_from::retry_filter), 1);
}

TEST_P(regress_retry, a_coroutine_begins_anew) {
  thread_pool p({.max_threads = 1});
  std::atomic<int> runs{0};
  auto w = p.submit(
      [&]() -> task<int> {
        const int mine = ++runs;
        co_await yield();
        if (mine < 4) throw std::runtime_error("again");
        co_await yield();
        co_return mine;
      },
      {.retry = {.limit = 9, .where = GetParam()}});
  EXPECT_EQ(w.fetch().value(), 4);
  expect_idle(p);
}

TEST_P(regress_retry, timeout_covers_all_attempts) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit(
      [] {
        this_work::sleep_for(2ms);
        throw std::runtime_error("again");
      },
      {.timeout = 20ms, .retry = {.limit = retry_options::unlimited, .where = GetParam()}});
  w.wait();
  EXPECT_TRUE(is_final(w.status()));
  expect_idle(p);
}

INSTANTIATE_TEST_SUITE_P(both,
                         regress_retry,
                         ::testing::Values(retry_where::immediately, retry_where::requeued),
                         [](const auto& each) {
                           return std::string(each.param == retry_where::requeued ? "requeued"
                                                                                  : "immediately");
                         });

TEST(regress_retry_of_one, job_holds_no_place_in_its_group_between_attempts) {
  thread_pool p({.max_threads = 1});
  p.limit_group("g", 1);
  auto w =
      p.submit([] { throw std::runtime_error("again"); },
               {.group = "g",
                .retry = {.limit = 1, .backoff = 1h, .max_backoff = 1h, .where = retry_where::requeued}});
  until(w, work_status::suspended);
  EXPECT_EQ(p.submit([] { return 1; }, {.group = "g"}).fetch().value(), 1);
  EXPECT_TRUE(w.cancel());
  expect_idle(p);
}

TEST(regress_retry_of_one, a_pause_holds_the_attempt_that_is_due) {
  thread_pool p({.max_threads = 1, .pause = pause_mode::queued_too});
  std::atomic<int> runs{0};
  std::atomic<bool> is_paused{false};
  auto w = p.submit(
      [&] {
        if (++runs > 1) return;
        until([&] { return is_paused.load(); });
        throw std::runtime_error("again");
      },
      {.retry = {.limit = 1, .backoff = 1ms, .where = retry_where::requeued}});
  until([&] { return runs == 1; });
  w.pause();
  is_paused = true;
  until(w, work_status::suspended);
  // The second attempt of `later` is due after that of `w`. Once it has run, that of `w` must be held.
  std::atomic<int> runs_of_later{0};
  auto later = p.submit(
      [&] {
        if (++runs_of_later == 1) throw std::runtime_error("again");
      },
      {.retry = {.limit = 1, .backoff = 20ms, .where = retry_where::requeued}});
  later.wait();
  EXPECT_EQ(runs_of_later, 2);
  EXPECT_EQ(runs, 1);
  w.resume();
  w.wait();
  EXPECT_EQ(runs, 2);
}

TEST(regress_retry_of_one, needs_a_function_that_can_be_called_again) {
  thread_pool p({.max_threads = 1});
  struct once {
    std::unique_ptr<int> value;
    int operator()() && { return *value; }
  };
  EXPECT_THROW(static_cast<void>(p.submit(once{std::make_unique<int>(1)}, {.retry = {.limit = 1}})),
               std::invalid_argument);
  EXPECT_EQ(p.submit(once{std::make_unique<int>(1)}).fetch().value(), 1);
}

TEST(regress_timeout, timeout_is_not_reported_after_the_job_has_ended) {
  thread_pool p({.max_threads = 1});
  recorder heard(p);
  struct over {
    work_id id;
    std::vector<told> then;
    bool before_its_time;
  };
  std::vector<over> all;
  for (int i = 0; i < 200; ++i) {
    const auto limit = i % 2 == 0 ? 50us : 20'000us;
    const auto since = std::chrono::steady_clock::now();
    auto w = p.submit([] {}, {.group = "g", .timeout = {limit}, .store_result = true});
    w.wait();
    all.push_back({w.id(), heard.of(w.id()), std::chrono::steady_clock::now() - since < limit});
  }
  // This outlasts all timers above.
  p.submit([] { this_work::sleep_for(40ms); }).wait();
  for (const over& each : all) {
    // A timeout that races with the end of its work may be reported, once.
    if (each.before_its_time) {
      EXPECT_EQ(heard.of(each.id), each.then) << "nothing after its end";
    }
    const std::vector<told> seen = heard.of(each.id);
    EXPECT_LE(std::ranges::count(seen, std::string_view("timed out"), &told::what), 1);
    EXPECT_EQ(heard.ends_of(each.id).size(), 1U);
  }
}

TEST(regress_timeout, running_timer_reports_the_duration_and_may_throw) {
  std::atomic<int> ticks{0};
  std::atomic<std::int64_t> longest{0};
  thread_pool p({.max_threads = 1, .running_timer = {1ms, [&](std::chrono::nanoseconds since) {
                                                       ++ticks;
                                                       longest = since.count();
                                                       throw std::runtime_error("the timer itself");
                                                     }}});
  recorder heard(p);
  blocker busy(p);
  until([&] { return ticks >= 3; });
  EXPECT_GT(longest, 0);
  EXPECT_LT(longest, std::chrono::nanoseconds(1h).count()) << "since the batch began, not since the year one";
  EXPECT_EQ(heard.errors().front(), error_from::running_timer);
  busy.let_go();
  p.wait_idle();
  EXPECT_THROW(thread_pool({.running_timer = {1ms, {}}}), std::invalid_argument);
}

TEST(regress_timeout, pool_timeout_stops_the_current_batch_and_not_the_next) {
  thread_pool p({.max_threads = 1, .total_timeout = 1s});
  auto w = p.submit([] { this_work::sleep_for(1h); });
  auto queued = p.submit([] {});
  EXPECT_EQ(w.fetch().reason(), cancel_reason::timeout);
  queued.wait();
  p.wait_idle();
  EXPECT_EQ(p.submit([] { return 1; }).fetch().value(), 1);
}

TEST(regress_timeout, timeout_expires_while_the_job_is_paused) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit(
      [] {
        for (;;) this_work::pause_if_requested();
      },
      {.timeout = 5ms});
  until(w, work_status::running);
  w.pause();
  w.wait();
  EXPECT_EQ(w.status(), work_status::stopped);
}

}  // namespace
}  // namespace regress_retry_test
