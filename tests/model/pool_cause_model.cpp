// One cause ends both a task and the pool job that it awaits: a deadline, a cancellation, a shutdown. In
// every order the task unwinds, and the boundary reports it. The whole runtime and pool run; timers may be
// early.
#include "model/pool_world.hpp"

#include <rota/pool/this_work.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string_view>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::few_threads;
using model::guest;
using model::one_worker;
using model::whole;
using testing::check;
using testing::execution;

constexpr auto limit = 10ms;

testing::options with_timers(std::string_view name) {
  testing::options o = whole(name);
  o.early_timeouts = 2;
  return o;
}

/// No timer of its own: the clock may jump by any time.
constexpr auto ever = std::chrono::nanoseconds::max();

task<> for_ever() {
  const guest here;
  co_await sleep_for(ever);
}
/// A job that is a coroutine has the deadline of the task that submits it, and a timer of its own for that.
task<> awaits_coroutine(thread_pool& p) {
  const guest here;
  auto job = p.submit(for_ever());
  co_await job;
  check(false, "a task sees no end of a job that its own cause has called off");
}
/// A function has no deadline. The deadline of its awaiter reaches it.
task<> awaits_function(thread_pool& p) {
  const guest here;
  auto job = p.submit([] { this_work::sleep_for(ever); });
  co_await job;
  check(false, "a task sees no end of a job that its own cause has called off");
}
/// The second job is cancelled because the first one was.
task<> awaits_successor(thread_pool& p) {
  const guest here;
  auto first = p.submit(for_ever());
  auto second = p.submit([] {}, {.after = {first.id()}});
  co_await second;
  check(false, "a task sees no end of a job that its own cause has called off");
}
task<> fails() {
  const guest here;
  throw std::runtime_error("no");
  co_return;
}
/// The job has failed, and would be tried again later than the deadline.
task<> awaits_next_attempt(thread_pool& p) {
  const guest here;
  auto job = p.submit([] { return fails(); }, {.retry = {.limit = 3, .backoff = ever, .max_backoff = ever}});
  co_await job;
  check(false, "a task sees no failure of a job that its own cause keeps from the next attempt");
}
/// In a task of its own, with the same deadline.
task<> awaits_in_a_child(thread_pool& p) {
  const guest here;
  auto child = spawn(awaits_coroutine(p));
  co_await child;
  check(false, "a task sees no end of a task that its own cause has ended");
}

using way = task<> (*)(thread_pool&);

/// It abandons no job: an abandoned one would read the record when the runtime has gone.
pool_options patient() {
  pool_options o = few_threads(1);
  o.shutdown_grace = ever;
  o.force_grace = ever;
  return o;
}

/// The pool belongs to the task: both have one record of passed deadlines, as in a program.
task<> is_late(way awaits) {
  thread_pool p(patient());
  const auto end = co_await timeout(limit, awaits(p));
  check(!end.has_value(), "the boundary of the deadline reports it");
}

void expect_late(std::string_view name, way awaits) {
  const auto body = [awaits](execution& e) {
    e.thread("root", [awaits] {
      runtime rt(one_worker());
      rt.block_on(is_late(awaits));
    });
  };
  expect_holds(with_timers(name), body);
}

TEST(pool_cause_model, timeout_reports_a_deadline_that_the_job_has_inherited) {
  expect_late("pool_cause_coroutine", awaits_coroutine);
}
TEST(pool_cause_model, timeout_reports_a_deadline_that_only_the_task_has) {
  expect_late("pool_cause_function", awaits_function);
}
TEST(pool_cause_model, timeout_reports_a_deadline_that_cancels_a_predecessor) {
  expect_late("pool_cause_after", awaits_successor);
}
TEST(pool_cause_model, timeout_reports_a_deadline_before_the_next_attempt) {
  expect_late("pool_cause_retry", awaits_next_attempt);
}
TEST(pool_cause_model, timeout_reports_a_deadline_of_a_chain_of_tasks) {
  expect_late("pool_cause_chain", awaits_in_a_child);
}

task<> waits(way awaits) {
  thread_pool p(patient());
  co_await awaits(p);
}
/// Cancelled by another thread, at any moment.
void expect_cancelled(std::string_view name, way awaits) {
  const auto body = [awaits](execution& e) {
    e.thread("root", [awaits] {
      runtime rt(one_worker());
      auto cancelled = rt.spawn(waits(awaits));
      cancelled.cancel();
      try {
        cancelled.join();
        check(false, "it does not end well");
      } catch (const cancelled_error& why) {
        check(why.reason() == cancel_reason::user, "the caller's order is the cause");
      }
    });
  };
  expect_holds(with_timers(name), body);
}

TEST(pool_cause_model, join_reports_a_cancellation_of_a_task_that_awaits_a_job) {
  expect_cancelled("pool_cause_cancel", awaits_function);
}
TEST(pool_cause_model, join_reports_a_cancellation_of_a_chain_of_tasks) {
  expect_cancelled("pool_cause_cancel_chain", awaits_in_a_child);
}

}  // namespace
}  // namespace rota::pool
