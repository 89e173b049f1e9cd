// Each entry of the feature list that the pool must match, and its test. This file tests the remaining ones.
//
//   entry                      test
//   sync                       thread_pool.runs_a_function, .runs_functions_with_arguments_that_only_move
//   sync: operators
//           public_api.thread_pool_runs_functions_and_coroutines (tests/api/promised_pool.cpp)
//   sync: a token              thread_pool.stop_token_is_passed_to_a_function_that_takes_one
//   async                      thread_pool.runs_coroutines,
//                              regress_wait.coroutine_resumes_in_its_own_pool_after_a_wait,
//                              regress_idle.coroutine_is_outstanding_until_it_ends
//   async: priority, group     feature_list.a_coroutine_keeps_its_priority_and_its_group_at_each_segment
//   pool control               feature_list.cancel_all_takes_queued_jobs_and_stop_all_running_ones;
//                              regress_retry_of_one.a_pause_holds_the_attempt_that_is_due
//   work control               state_by_operation_test.cpp: each operation in each state
//   control of lists           regress_wait.wait_for_a_list_returns_the_unknown_ids
//   divide and conquer         regress_wait.helping_fetches_complete_a_divide_and_conquer_sum
//   help while waiting         regress_wait.helping_waits_complete_at_a_nesting_depth_of_sixty
//   thread pool sizing         floor_test.cpp: the floor, the ceiling, keep-alive, resize
//   long-running works         regress_long.long_running_jobs_are_counted_beyond_max_threads
//   blocking regions           feature_list.a_blocking_region_allows_another_thread
//   thread hooks               options.hooks_are_called_on_each_thread_with_its_number
//   start suspended            regress_idle.suspended_pool_with_a_job_is_not_idle,
//                              feature_list.a_pool_that_starts_suspended_runs_its_jobs_in_order
//   work callback              outcome_by_notification_test.cpp, thread_pool.callback_gets_the_cancel_reason
//   default callback           feature_list.a_default_callback_is_for_works_that_have_none
//   rejection policy           regress_reject_test.cpp: each of the six
//   parallel execution         parallel_test.cpp
//   work priority              thread_pool.queued_jobs_run_in_order_of_priority,
//                              work_queue.larger_priority_comes_first_in_any_insertion_order
//   thread priority            pool_threads.have_the_niceness_of_what_they_run
//   error handling             thread_pool.fetch_returns_the_exception_of_the_job, event_isolation_test.cpp
//   retry                      regress_retry_test.cpp
//   work timeout               thread_pool.timeout_stops_a_running_job,
//                              regress_timeout.timeout_is_not_reported_after_the_job_has_ended
//   default work timeout       feature_list.a_default_timeout_is_for_works_that_name_none
//   cumulative work timeout    regress_timeout.pool_timeout_stops_the_current_batch_and_not_the_next
//   work dependency            regress_dependency_test.cpp, submit_when.takes_the_results_of_others
//   work group                 regress_group_test.cpp
//   group relations            regress_group.relation_that_closes_a_cycle_is_refused,
//                              thread_pool.unrelate_ends_the_pause_by_a_parent_group,
//                              feature_list.operations_on_a_group_apply_to_its_subgroups
//   events                     outcome_by_notification_test.cpp,
//                              event_isolation_test.cpp: each of the thirteen
//   runtime status             feature_list.stats_report_the_current_counts
//   statistics                 thread_pool.time_one_in_decides_how_many_jobs_are_timed
//   running timer              regress_timeout.running_timer_reports_the_duration_and_may_throw
//   queue type: fifo, lifo, deque   options.queue_order_applies_among_jobs_of_one_priority,
//                                   work_queue_test.cpp
//   queue type: custom         options.a_custom_queue_replaces_the_queue_order, custom_queue_test.cpp,
//                              queue_contract_test.cpp
//   stealing, one or half      placement_of_a_thief.takes_half_of_another_queue_or_one
//   work placement             placement_test.cpp
//   custom work id             feature_list.a_job_name_is_unique_while_the_job_lives,
//                              regress_end.shutdown_releases_a_waiter_of_a_reserved_id
//   stored results             regress_wait.results_that_are_stored_stay_until_they_are_fetched_or_cleared
//   fetch by a predicate       fetch_if_test.cpp
//   fetch of several, waits with a limit    wait_several_test.cpp
//   stop, and submit meanwhile regress_cancel.jobs_submitted_after_a_stop_of_all_are_not_stopped
//   idle check off             feature_list.the_pool_is_not_idle_while_a_busy_guard_lives
//   work guard                 feature_list.a_work_guard_cancels_a_queued_job_or_waits_for_a_running_one
//   the end                    regress_end_test.cpp
//   a collection that is watched    feature_list.items_of_a_watched_source_become_jobs, watch_test.cpp,
//                                   watch_back_test.cpp, watch_end_test.cpp
#include "unit/pool/pool_support.hpp"

#include <rota/pool/watch.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>

#include <optional>

namespace feature_list_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(feature_list, a_default_callback_is_for_works_that_have_none) {
  std::vector<std::string> told;  // one thread
  const auto says = [&](const char* who) {
    return
        [&told, who](const work_end& end) { told.push_back(std::string(who) + ' ' + to_string(end.status)); };
  };
  thread_pool p({.max_threads = 1, .default_callback = says("default")});
  p.submit([] {}).wait();
  p.submit([] {}, {.callback = says("own")}).wait();
  p.submit([] { throw std::logic_error("a work"); }).wait();
  p.submit([]() -> task<void> { co_return; }, {.priority = 1}).wait();
  EXPECT_EQ(told,
            (std::vector<std::string>{
                "default succeeded", "own succeeded", "default failed", "default succeeded"}));
}

TEST(feature_list, a_default_timeout_is_for_works_that_name_none) {
  thread_pool p({.max_threads = 2, .work_timeout = 1ms});
  gate open;
  auto own = p.submit([&] { until([&] { return open.is_open() || this_work::stop_requested(); }); },
                      {.timeout = 1h});
  auto none = p.submit([] { this_work::sleep_for(1h); });
  EXPECT_EQ(none.fetch().reason(), cancel_reason::timeout);
  EXPECT_FALSE(own.is_done());
  open.open();
  EXPECT_TRUE(own.fetch().has_value());
}

TEST(feature_list, a_job_name_is_unique_while_the_job_lives) {
  thread_pool p({.max_threads = 1});
  std::string seen;
  work_id id;
  {
    const blocker busy(p);
    id = p.submit([&] { seen = this_work::name(); }, {.name = "mine"}).id();
    EXPECT_EQ(p.find("mine"), id);
    EXPECT_FALSE(p.find("another"));
    EXPECT_THROW(p.submit([] {}, {.name = "mine"}), std::invalid_argument);
    EXPECT_EQ(p.find("mine"), id) << "of the first still";
  }
  expect_idle(p);
  EXPECT_EQ(seen, "mine");
  EXPECT_FALSE(p.find("mine"));
  const work_id next = p.submit([] {}, {.name = "mine"}).id();
  EXPECT_NE(next, id) << "the name is free, and the id is never used again";
  expect_idle(p);
}

TEST(feature_list, a_pool_that_starts_suspended_runs_its_jobs_in_order) {
  thread_pool p({.max_threads = 1, .start = start_mode::suspended});
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) p.submit([&order, i] { order.push_back(i); });
  auto urgent = p.submit([&] { order.push_back(9); }, {.priority = 1});
  EXPECT_EQ(urgent.status(), work_status::suspended);
  EXPECT_EQ(p.waiting().size(), 6U);
  EXPECT_EQ(p.stats().attempts, 0U);
  p.start();
  expect_idle(p);
  std::erase(order, 9);  // the thread may have begun before that one was let go
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST(feature_list, a_coroutine_keeps_its_priority_and_its_group_at_each_segment) {
  thread_pool p({.max_threads = 1});
  std::vector<std::string> order;
  const auto segments = [&order](const char* who) {
    return [&order, who]() -> task<void> {
      for (int i = 0; i < 3; ++i) {
        order.emplace_back(who);
        co_await yield();
      }
    };
  };
  {
    const blocker busy(p);
    p.submit(segments("low"), {.priority = -1, .group = "g"});
    p.submit(segments("high"), {.priority = 1, .group = "g"});
    EXPECT_EQ(p.members("g").size(), 2U);
  }
  p.wait("g");
  EXPECT_EQ(order, (std::vector<std::string>{"high", "high", "high", "low", "low", "low"}));
  EXPECT_TRUE(p.members("g").empty());
}

TEST(feature_list, cancel_all_takes_queued_jobs_and_stop_all_running_ones) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> turns{0};
  const auto loop = [&] {
    for (;; ++turns) this_work::checkpoint();
  };
  const auto one = p.submit(loop);
  const auto two = p.submit(loop);
  until(one, work_status::running);
  until(two, work_status::running);
  const auto queued = p.submit([] {});
  EXPECT_EQ(p.cancel_all(), 1U);
  EXPECT_EQ(queued.status(), work_status::cancelled);
  p.pause_all();
  until(one, work_status::paused);
  until(two, work_status::paused);
  const int seen = turns;
  p.resume_all();
  until([&] { return turns > seen; });
  EXPECT_EQ(p.stop_all(), 2U);
  expect_idle(p);
  EXPECT_EQ(one.status(), work_status::stopped);
  EXPECT_EQ(two.status(), work_status::stopped);
}

TEST(feature_list, operations_on_a_group_apply_to_its_subgroups) {
  thread_pool p({.max_threads = 1});
  p.relate("top", "left");
  p.relate("top", "right");
  p.relate("left", "bottom");
  p.relate("right", "bottom");
  {
    const blocker busy(p);
    p.submit([] {}, {.group = "top"});
    const auto left = p.submit([] {}, {.group = "left"});
    const auto bottom = p.submit([] {}, {.group = "bottom"});
    EXPECT_EQ(p.members("top").size(), 3U) << "each once, by however many ways";
    EXPECT_EQ(p.cancel("right"), 1U);
    EXPECT_EQ(bottom.status(), work_status::cancelled);
    EXPECT_EQ(left.status(), work_status::queued);
    EXPECT_EQ(p.cancel("top"), 2U);
  }
  expect_idle(p);
}

TEST(feature_list, stats_report_the_current_counts) {
  thread_pool p({.min_threads = 2, .max_threads = 2});
  gate open;
  {
    const blocker busy(p);
    const auto coroutine = p.submit([&]() -> task<void> {
      open.pass();
      co_return;
    });
    until(coroutine, work_status::running);
    until([&p] { return p.stats().attempts == 2; });
    const auto queued = p.submit([] {});
    const auto blocked = p.submit([] {}, {.after = {queued.id()}});
    const auto bad = p.submit([] {});
    bad.cancel();
    const pool_stats s = p.stats();
    EXPECT_EQ(s.threads, 2U);
    EXPECT_EQ(s.idle, 0U);
    EXPECT_EQ(s.running, 1U);
    EXPECT_EQ(s.coroutines, 1U);
    EXPECT_EQ(s.waiting, 2U);
    EXPECT_EQ(p.waiting().size(), 2U);
    EXPECT_EQ(s.outstanding, 4U);
    EXPECT_EQ(s.submitted, 5U);
    EXPECT_EQ(s.cancelled, 1U);
    EXPECT_EQ(s.attempts, 2U);
    open.open();
  }
  expect_idle(p);
  const pool_stats s = p.stats();
  EXPECT_EQ(s.succeeded, 4U);
  EXPECT_EQ(s.attempts, 4U);
  EXPECT_EQ(s.threads_started - s.threads_retired, 2U);
}

TEST(feature_list, a_blocking_region_allows_another_thread) {
  thread_pool p({.max_threads = 1, .keep_alive = 0ns});
  std::atomic<bool> ran{false};
  p.submit([&] {
     const auto other = p.submit([&] { ran = true; });
     EXPECT_EQ(p.stats().threads, 1U);
     {
       const blocking_region here;
       EXPECT_EQ(p.stats().in_regions, 1U);
       until([&] { return ran.load(); });  // only another thread can run it
     }
     EXPECT_EQ(p.stats().in_regions, 0U);
   }).wait();
  until([&] { return p.stats().threads == 0; });
}

class idle_counter final : public observer {
 public:
  explicit idle_counter(thread_pool& p) : heard_(p.subscribe(*this)) {}
  void pool_idle(const pool_span& span) override {
    EXPECT_LE(span.started, span.ended);
    ++idle;
  }
  std::atomic<int> idle{0};

 private:
  subscription heard_;
};

TEST(feature_list, the_pool_is_not_idle_while_a_busy_guard_lives) {
  thread_pool p({.max_threads = 1});
  const idle_counter seen(p);
  {
    const thread_pool::busy_guard busy(p);
    for (int i = 0; i < 10; ++i) p.submit([] {}).wait();
    EXPECT_FALSE(p.wait_idle(0s));
    until([&] { return p.stats().outstanding == 1U; });  // a work is counted out after its wait has returned
    EXPECT_EQ(p.stop_all() + p.force_stop_all(), 0U) << "it is no work";
    EXPECT_EQ(seen.idle, 0);
  }
  EXPECT_EQ(seen.idle, 1) << "told by who was the last to say so";
}

TEST(feature_list, items_of_a_watched_source_become_jobs) {
  thread_pool p({.max_threads = 2});
  source<std::string> words(10), others(10);
  std::mutex lock;
  std::vector<std::string> seen;
  const auto notes = [&](std::string& word) {
    const std::lock_guard guard(lock);
    seen.push_back(word);
    if (std::exchange(word, "again") == "fails") throw std::runtime_error("the first time");
  };
  const watch w = watch_source(p, words, notes);
  const watch another = watch_source(p, others, [](std::string& /*word*/) {});
  EXPECT_THROW(static_cast<void>(watch_source(p, words, notes)), std::invalid_argument);
  auto unrelated = p.submit([] { throw std::runtime_error("none of theirs"); });
  for (const char* word : {"works", "fails"}) EXPECT_EQ(words.try_push(word), push_status::pushed);
  EXPECT_EQ(others.try_push("other"), push_status::pushed);
  w.wait();
  another.wait();
  unrelated.wait();
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"again", "fails", "works"}));
  w.stop();
  EXPECT_EQ(words.try_push("late"), push_status::pushed);
  expect_idle(p);
  EXPECT_EQ(words.size(), 1U);
}

TEST(feature_list, a_work_guard_cancels_a_queued_job_or_waits_for_a_running_one) {
  thread_pool p({.max_threads = 1});
  int ran = 0;
  {
    blocker busy(p);
    {
      const work_guard queued(p.submit([&] { ++ran; }));
    }
    EXPECT_EQ(p.stats().cancelled, 1U);
  }
  gate begun;
  {
    auto w = p.submit([&] {
      begun.open();
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      ++ran;
    });
    begun.pass();
    const work_guard running(std::move(w));
  }
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace feature_list_test
