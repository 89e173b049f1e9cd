// What each option does, seen from outside. tests/api/scenario_pool_test.cpp tests values out of range.
//
//   pool_options          test
//   min_threads, max_threads, keep_alive    floor_test.cpp
//   nice                  pool_threads.have_the_niceness_of_what_they_run
//   queue_limit, on_full, choose_rejection, worker_queue_limit   regress_reject_test.cpp
//   on_thread_start/_end  options.hooks_are_called_on_each_thread_with_its_number
//   queue                 options.queue_order_applies_among_jobs_of_one_priority
//   custom                placement_test.cpp, options.a_custom_queue_replaces_the_queue_order
//   priorities            options.global_priorities_hold_among_all_queues
//   aging                 options.age_counts_against_priority
//   steal                 placement_of_a_thief.takes_half_of_another_queue_or_one
//   start                 regress_idle.suspended_pool_with_a_job_is_not_idle
//   pause                 state_by_operation_test.cpp,
//                         regress_retry_of_one.a_pause_holds_the_attempt_that_is_due
//   time_one_in           thread_pool.time_one_in_decides_how_many_jobs_are_timed
//   work_timeout          feature_list.a_default_timeout_is_for_works_that_name_none
//   total_timeout         regress_timeout.pool_timeout_stops_the_current_batch_and_not_the_next
//   running_timer         regress_timeout.running_timer_reports_the_duration_and_may_throw
//   default_callback      feature_list.a_default_callback_is_for_works_that_have_none
//   force_grace           thread_pool.job_that_ignores_a_force_stop_is_abandoned
//   max_abandoned         regress_force.lost_threads_do_not_exceed_max_abandoned
//   shutdown_grace        options.shutdown_grace_delays_the_force_stop_of_the_destructor
//
//   work_options          test
//   priority              thread_pool.queued_jobs_run_in_order_of_priority
//   name                  feature_list.a_job_name_is_unique_while_the_job_lives
//   group                 regress_group_test.cpp
//   id, after             regress_dependency_test.cpp
//   if_stopped            regress_outcome.a_stopped_predecessor_counts_as_each_successor_says
//   timeout               outcome_by_notification_test.cpp;
//                         .from: options.a_timeout_from_submit_includes_the_time_in_the_queue
//   retry                 regress_retry_test.cpp;
//                         .max_backoff, .jitter: options.retry_backoff_is_at_most_max_backoff
//   callback              outcome_by_notification_test.cpp
//   where                 placement_test.cpp
//   long_running          regress_long.*
//   store_result          regress_wait.results_that_are_stored_stay_until_they_are_fetched_or_cleared
//   nice                  pool_threads.have_the_niceness_of_what_they_run
#include "unit/pool/pool_support.hpp"
#include "unit/pool/user_queues.hpp"

#include <map>
#include <optional>
#include <string>

namespace options_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

/// Returns the order in which one thread runs works of these priorities that are all queued before it starts.
std::vector<std::size_t> order_of(pool_options how, const std::vector<int>& priorities) {
  how.max_threads = 1;
  thread_pool p(how);
  std::vector<std::size_t> order;
  {
    const blocker busy(p);
    for (std::size_t i = 0; i < priorities.size(); ++i)
      p.submit([&order, i] { order.push_back(i); }, {.priority = priorities[i]});
  }
  p.wait_idle();
  return order;
}

TEST(options, queue_order_applies_among_jobs_of_one_priority) {
  const std::vector<int> priorities{0, 0, 0, 7, 7, -1};
  EXPECT_EQ(order_of({.queue = queue_order::fifo}, priorities), (std::vector<std::size_t>{3, 4, 0, 1, 2, 5}));
  EXPECT_EQ(order_of({.queue = queue_order::lifo}, priorities), (std::vector<std::size_t>{4, 3, 2, 1, 0, 5}));
  EXPECT_EQ(order_of({.queue = queue_order::deque}, priorities),
            (std::vector<std::size_t>{4, 3, 2, 1, 0, 5}));
}

/// Returns works in reverse order of priority, and the oldest first among equals.
class upside_down : public sorted_deque {
 public:
  void set(queued_work work) {
    real_[work.id] = work;
    sorted_deque::set({work.id, -work.priority});
  }
  maybe_work get() { return real(sorted_deque::get()); }
  maybe_work steal() { return real(sorted_deque::steal()); }
  maybe_work discard() { return real(sorted_deque::discard()); }

 private:
  maybe_work real(maybe_work given) {
    if (!given.has_value()) return given;
    const queued_work work = real_.at(given->id);
    real_.erase(given->id);
    return work;
  }
  std::map<std::uint64_t, queued_work> real_;
};

TEST(options, a_custom_queue_replaces_the_queue_order) {
  thread_pool p({.max_threads = 1, .queue = queue_order::lifo, .custom = custom_queue::of<upside_down>()});
  std::vector<int> order;
  {
    const blocker busy(p);
    for (const int priority : {1, 3, 2, -5})
      p.submit([&order, priority] { order.push_back(priority); }, {.priority = priority});
  }
  expect_idle(p);
  EXPECT_EQ(order, (std::vector{-5, 1, 2, 3}));
}

TEST(options, global_priorities_hold_among_all_queues) {
  thread_pool p({.max_threads = 4, .priorities = priority_scope::global});
  std::vector<int> order;
  std::optional<blocker> one(std::in_place, p);
  const blocker two(p);
  const blocker three(p);
  const blocker four(p);
  std::vector<int> expected;
  std::vector<work<void>> all;
  for (int i = 0; i < 40; ++i) {
    const int priority = i * 17 % 40;
    all.push_back(p.submit([&order, priority] { order.push_back(priority); }, {.priority = priority}));
    expected.push_back(39 - i);
  }
  one->let_go();
  for (const auto& each : all) each.wait();
  EXPECT_EQ(order, expected);
}

TEST(options, age_counts_against_priority) {
  for (const auto& [aging, first] : {std::pair{0ns, 1}, std::pair{1ns, 0}}) {
    thread_pool p({.max_threads = 1, .aging = aging});
    std::vector<int> order;
    {
      const blocker busy(p);
      p.submit([&] { order.push_back(0); });
      const auto since = std::chrono::steady_clock::now();
      until([&] { return std::chrono::steady_clock::now() - since > 100ns; });
      p.submit([&] { order.push_back(1); }, {.priority = 5});
    }
    expect_idle(p);
    EXPECT_EQ(order, (std::vector{first, 1 - first}));
  }
}

TEST(options, hooks_are_called_on_each_thread_with_its_number) {
  std::mutex lock;
  std::map<pid_t, unsigned> begun;
  std::map<pid_t, unsigned> ended;
  {
    thread_pool p({.min_threads = 3,
                   .max_threads = 3,
                   .on_thread_start =
                       [&](unsigned number) {
                         const std::lock_guard guard(lock);
                         begun.emplace(gettid(), number);
                       },
                   .on_thread_end =
                       [&](unsigned number) {
                         const std::lock_guard guard(lock);
                         ended.emplace(gettid(), number);
                       }});
    const pid_t worker = p.submit([] { return gettid(); }).fetch().value();
    const std::lock_guard guard(lock);
    EXPECT_TRUE(begun.contains(worker));
    EXPECT_TRUE(ended.empty());
  }
  EXPECT_EQ(begun, ended);
  std::vector<unsigned> numbers;
  for (const auto& [thread, number] : begun) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector{0U, 1U, 2U}));
}

// A stop does not end a wait for another work; a force stop does.
TEST(options, shutdown_grace_delays_the_force_stop_of_the_destructor) {
  gate never;
  thread_pool other({.max_threads = 1});
  const auto target = other.submit([&] { never.pass(); });
  work<void> waits;
  {
    thread_pool p({.max_threads = 1, .shutdown_grace = 0ns});
    waits = p.submit([&] { target.wait(); });
    until(waits, work_status::running);
  }
  EXPECT_EQ(waits.status(), work_status::force_stopped);
  {
    thread_pool p({.max_threads = 1, .shutdown_grace = 1h});
    waits = p.submit([&] {
      until([] { return this_work::stop_requested(); });
      never.open();
      target.wait();
    });
    until(waits, work_status::running);
  }
  EXPECT_EQ(waits.status(), work_status::succeeded);
}

TEST(options, a_timeout_from_submit_includes_the_time_in_the_queue) {
  for (const timeout_from from : {timeout_from::start, timeout_from::submit}) {
    thread_pool p({.max_threads = 1});
    blocker busy(p);
    const auto waits = p.submit([] {}, {.timeout = {1ms, on_timeout::stop, from}});
    // When this work's timeout has passed, that of the first has passed long before.
    const auto later = p.submit([] {}, {.timeout = {10ms, on_timeout::stop, timeout_from::submit}});
    later.wait();
    if (from == timeout_from::submit) waits.wait();
    EXPECT_EQ(waits.status(), from == timeout_from::submit ? work_status::cancelled : work_status::queued);
  }
}

TEST(options, retry_backoff_is_at_most_max_backoff) {
  for (const bool jitter : {false, true}) {
    for (const retry_where where : {retry_where::immediately, retry_where::requeued}) {
      thread_pool p({.max_threads = 1});
      int attempts = 0;
      auto w = p.submit(
          [&] { return ++attempts < 4 ? throw std::runtime_error("again") : attempts; },
          {.retry = {.limit = 3, .backoff = 1000h, .max_backoff = 1ns, .jitter = jitter, .where = where}});
      EXPECT_EQ(w.fetch().value(), 4);
    }
  }
}

}  // namespace
}  // namespace options_test
