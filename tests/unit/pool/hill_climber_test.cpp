// The controller by itself, fed with samples, and one pool that uses it.
#include "pool/hill_climber.hpp"
#include "base/clock.hpp"
#include "base/thread.hpp"
#include "pool/absence.hpp"
#include "pool/pool_core.hpp"
#include "unit/pool/pool_support.hpp"

#include <functional>
#include <limits>
#include <set>

namespace rota::pool::detail::hill_climber_test {
namespace {

using namespace rota::pool::test;

/// How many jobs this number of threads ends in one period.
using plant = std::function<double(unsigned)>;

struct climb {
  hill_climber it;
  hill_climber::bounds within;

  unsigned sample(std::uint64_t ended, bool is_saturated = true) {
    return it.next({.ended = ended, .span = 1ms, .is_saturated = is_saturated}, within);
  }
  /// Returns the goals of the last half.
  std::set<unsigned> run(unsigned samples, const plant& ends) {
    std::set<unsigned> late;
    for (unsigned i = 0; i < samples; ++i) {
      const unsigned goal = sample(static_cast<std::uint64_t>(ends(it.goal())));
      EXPECT_GE(goal, within.least);
      EXPECT_LE(goal, within.most);
      if (i >= samples / 2) late.insert(goal);
    }
    return late;
  }
};

TEST(hill_climber, climbs_to_the_maximum_where_each_thread_counts) {
  climb c{{2, 5}, {1, 64}};
  const std::set<unsigned> late = c.run(200, [](unsigned n) { return 1000.0 * n; });
  EXPECT_EQ(*late.rbegin(), 64U);
  EXPECT_GE(*late.begin(), 56U) << "one probe below the maximum, which does not pay";
}

TEST(hill_climber, finds_the_top_of_the_hill_from_both_sides) {
  const plant hill = [](unsigned n) { return n <= 8 ? 1000.0 * n : 8000.0 * 8 / n; };
  for (const unsigned start : {1U, 20U}) {
    climb c{{start, 5}, {1, 64}};
    const std::set<unsigned> late = c.run(200, hill);
    EXPECT_TRUE(late.contains(8)) << start;
    EXPECT_GE(*late.begin(), 7U) << start;
    EXPECT_LE(*late.rbegin(), 9U) << start;
  }
}

TEST(hill_climber, turns_back_at_once_when_the_throughput_falls) {
  climb c{{10, 5}, {1, 64}};
  EXPECT_EQ(c.sample(1000), 11U) << "the first probe";
  EXPECT_EQ(c.sample(900), 10U) << "back";
  EXPECT_EQ(c.sample(1000), 10U) << "a pause";
  EXPECT_EQ(c.sample(1000), 9U) << "then the other direction";
}

TEST(hill_climber, goes_on_while_it_pays) {
  climb c{{16, 5}, {1, 64}};
  EXPECT_EQ(c.sample(1000), 18U) << "an eighth";
  EXPECT_EQ(c.sample(1100), 20U);
  EXPECT_EQ(c.sample(1200), 22U);
  EXPECT_EQ(c.sample(1210), 20U) << "less than the noise: the threads are not worth it";
}

TEST(hill_climber, ignores_a_gain_within_the_noise_and_accepts_a_larger_one) {
  climb at_noise{{10, 10}, {1, 64}};
  static_cast<void>(at_noise.sample(1000));
  EXPECT_EQ(at_noise.sample(1099), 10U);
  climb above{{10, 10}, {1, 64}};
  static_cast<void>(above.sample(1000));
  EXPECT_EQ(above.sample(1102), 12U);
}

TEST(hill_climber, fewer_threads_win_where_the_throughput_is_flat) {
  climb c{{32, 5}, {3, 64}};
  const std::set<unsigned> late = c.run(400, [](unsigned) { return 1000.0; });
  EXPECT_TRUE(late.contains(3));
  EXPECT_LE(*late.rbegin(), 4U);
}

// Each step down costs 3 %, less than the noise; all together may not.
TEST(hill_climber, many_small_losses_are_not_accepted) {
  climb c{{32, 5}, {1, 64}};
  static_cast<void>(c.sample(10'000));
  ASSERT_EQ(c.sample(10'000), 32U) << "up does not pay";
  ASSERT_EQ(c.sample(10'000), 32U);
  ASSERT_EQ(c.sample(10'000), 28U) << "down";
  EXPECT_EQ(c.sample(9'700), 25U) << "3 % less";
  EXPECT_EQ(c.sample(9'409), 28U) << "5.9 % less than where it began";
}

TEST(hill_climber, probes_that_do_not_pay_become_rare) {
  climb c{{8, 5}, {1, 64}};
  unsigned probes = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const unsigned goal = c.it.goal();
    if (c.sample(goal == 8 ? 1000 : 500) != 8) ++probes;
  }
  EXPECT_GT(probes, 1000 / (hill_climber::longest_pause + 3));
  EXPECT_LT(probes, 50U);
}

TEST(hill_climber, leaves_the_goal_alone_while_no_job_waits) {
  climb c{{8, 5}, {1, 64}};
  for (const std::uint64_t ended : {0U, 1000U, 10U, 100'000U}) EXPECT_EQ(c.sample(ended, false), 8U);
  EXPECT_EQ(c.sample(1000), 9U);
  EXPECT_EQ(c.sample(5000, false), 8U) << "it is not known whether the probe pays";
  EXPECT_EQ(c.sample(1000), 9U) << "a new reference, and a new probe";
}

// Each batch ends before a probe is compared with anything.
TEST(hill_climber, short_batches_do_not_move_the_goal) {
  climb c{{8, 5}, {1, 64}};
  for (int batch = 0; batch < 10; ++batch) {
    EXPECT_EQ(c.sample(1000), 9U);
    c.it.forget();
    EXPECT_EQ(c.it.goal(), 8U);
  }
  EXPECT_EQ(c.sample(1000), 9U);
  EXPECT_EQ(c.sample(900), 8U) << "back, and the next probe goes down";
  EXPECT_EQ(c.sample(1000), 8U) << "a pause";
  for (int batch = 0; batch < 10; ++batch) {
    EXPECT_EQ(c.sample(1000), 7U);
    c.it.forget();
    EXPECT_EQ(c.it.goal(), 8U);
  }
}

TEST(hill_climber, a_step_that_paid_is_kept_when_the_next_probe_has_no_sample) {
  climb c{{16, 5}, {1, 64}};
  EXPECT_EQ(c.sample(1000), 18U);
  EXPECT_EQ(c.sample(1100), 20U);
  c.it.forget();
  EXPECT_EQ(c.it.goal(), 18U);
  c.it.forget();
  EXPECT_EQ(c.it.goal(), 18U);
}

TEST(hill_climber, a_probe_without_finished_jobs_restarts_one_step_up) {
  climb down{{8, 5}, {1, 64}};
  static_cast<void>(down.sample(1000));
  static_cast<void>(down.sample(900));
  static_cast<void>(down.sample(1000));
  ASSERT_EQ(down.sample(1000), 7U);
  EXPECT_EQ(down.sample(0), 9U);
  climb up{{8, 5}, {1, 64}};
  ASSERT_EQ(up.sample(1000), 9U);
  EXPECT_EQ(up.sample(0), 9U);
  EXPECT_EQ(up.sample(0), 10U);
}

TEST(hill_climber, goes_up_while_jobs_wait_and_none_ends) {
  climb c{{1, 5}, {1, 4}};
  EXPECT_EQ(c.sample(0), 2U);
  EXPECT_EQ(c.sample(0), 3U);
  EXPECT_EQ(c.sample(0), 4U);
  EXPECT_EQ(c.sample(0), 4U);
}

TEST(hill_climber, follows_bounds_that_change) {
  climb c{{8, 5}, {1, 64}};
  static_cast<void>(c.sample(1000));
  c.within = {1, 4};
  EXPECT_EQ(c.sample(1000), 4U);
  c.within = {6, 10};
  EXPECT_EQ(c.sample(1000), 6U);
  c.within = {7, 7};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(c.sample(1000), 7U);
}

// The probe is within the new bounds; the goal from which it began is not.
TEST(hill_climber, turns_back_no_further_than_the_bounds_that_changed) {
  climb up{{8, 5}, {1, 64}};
  ASSERT_EQ(up.sample(1000), 9U);
  up.within = {9, 16};
  EXPECT_EQ(up.sample(900), 9U);
  climb down{{8, 5}, {1, 8}};
  ASSERT_EQ(down.sample(1000), 7U);
  down.within = {1, 7};
  EXPECT_EQ(down.sample(900), 7U);
  climb no_sample{{8, 5}, {1, 64}};
  ASSERT_EQ(no_sample.sample(1000), 9U);
  no_sample.within = {9, 16};
  EXPECT_EQ(no_sample.sample(0, false), 9U);
  climb blocked{{8, 5}, {1, 64}};
  ASSERT_EQ(blocked.sample(1000), 9U);
  blocked.within = {9, 16};
  EXPECT_EQ(blocked.sample(0), 10U);
}

TEST(hill_climber, an_empty_span_is_no_sample) {
  climb c{{8, 5}, {1, 64}};
  EXPECT_EQ(c.it.next({.ended = 5, .span = 0ns, .is_saturated = true}, c.within), 8U);
}

TEST(hill_climber, the_largest_numbers_do_not_overflow) {
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  climb c{{most - 1, 5}, {1, most}};
  EXPECT_EQ(c.sample(0), most);
  static_cast<void>(c.sample(std::numeric_limits<std::uint64_t>::max()));
}

// ---- samples ----------------------------------------------------------------------------------------------

constexpr base::time_point origin{};

TEST(end_sampler, a_sample_has_what_ended_since_the_one_before) {
  end_sampler s(10ms);
  hill_climber::sample got{.ended = 99, .span = {}, .is_saturated = true};
  s.begin(100, origin);
  EXPECT_EQ(s.next(), origin + 10ms);
  ASSERT_TRUE(s.take(130, origin + 10ms, got));
  EXPECT_EQ(got.ended, 30U);
  EXPECT_EQ(got.span, 10ms);
  EXPECT_TRUE(got.is_saturated);
  EXPECT_EQ(s.next(), origin + 20ms);
  ASSERT_TRUE(s.take(135, origin + 40ms, got)) << "one that is late";
  EXPECT_EQ(got.ended, 5U);
  EXPECT_EQ(got.span, 30ms);
}

TEST(end_sampler, a_span_below_half_a_period_gives_no_sample) {
  end_sampler s(10ms);
  hill_climber::sample got{.ended = 99, .span = 1ns, .is_saturated = true};
  s.begin(100, origin);
  EXPECT_FALSE(s.take(100, origin + 5us, got)) << "none has ended, which says nothing";
  EXPECT_FALSE(s.take(101, origin + 4999us, got));
  EXPECT_EQ(got.ended, 99U);
  EXPECT_EQ(got.span, 1ns);
  EXPECT_EQ(s.next(), origin + 10ms) << "the timer comes at the end of the period";
  ASSERT_TRUE(s.take(103, origin + 5ms, got));
  EXPECT_EQ(got.ended, 3U) << "what ended in the meantime is in it";
  EXPECT_EQ(got.span, 5ms);
}

TEST(end_sampler, a_new_batch_excludes_the_time_before_it) {
  end_sampler s(10ms);
  hill_climber::sample got{.ended = 0, .span = {}, .is_saturated = true};
  s.begin(100, origin);
  s.begin(500, origin + 1h);
  ASSERT_TRUE(s.take(502, origin + 1h + 10ms, got));
  EXPECT_EQ(got.ended, 2U);
  EXPECT_EQ(got.span, 10ms);
}

TEST(end_sampler, a_count_that_decreases_gives_zero_ends) {
  end_sampler s(10ms);
  hill_climber::sample got{.ended = 7, .span = {}, .is_saturated = true};
  s.begin(100, origin);
  ASSERT_TRUE(s.take(99, origin + 10ms, got));
  EXPECT_EQ(got.ended, 0U);
  ASSERT_TRUE(s.take(101, origin + 20ms, got));
  EXPECT_EQ(got.ended, 1U) << "the same end is not counted twice";
}

// ---- in a pool --------------------------------------------------------------------------------------------

void expect_refused(pool_options how, const char* text) {
  try {
    const thread_pool p(std::move(how));
    ADD_FAILURE() << text;
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), text);
  }
}

TEST(hill_climbing, bad_options_are_refused_by_field_and_range) {
  const char* const period = "pool_options::hill_climbing.period is not in 0 .. 60000 ms";
  const char* const noise = "pool_options::hill_climbing.noise_percent is not in 1 .. 50";
  expect_refused({.hill_climbing = {.period = -1ms}}, period);
  expect_refused({.hill_climbing = {.period = 60'001ms}}, period);
  expect_refused({.hill_climbing = {.noise_percent = 0}}, noise);
  expect_refused({.hill_climbing = {.noise_percent = 51}}, noise);
}

TEST(hill_climbing, is_off_by_default) {
  const thread_pool p({.max_threads = 300});
  EXPECT_EQ(p.stats().thread_goal, 300U);
}

// With a time limit jobs may end as stopped. If those did not count, the goal would rise to max_threads.
TEST(hill_climbing, counts_each_end_that_a_thread_has_brought_about) {
  thread_pool p({.max_threads = 1});
  pool_core* core = nullptr;
  p.submit([&] { core = work_here()->pool; }).wait();
  const auto ends = [&] {
    p.wait_idle();
    return core->count_of_ends();
  };
  ASSERT_EQ(ends(), 1U);
  auto failed = p.submit([] { throw std::runtime_error("no"); });
  EXPECT_EQ(ends(), 2U);
  EXPECT_TRUE(failed.fetch().has_exception());
  auto stopped = p.submit([] { this_work::sleep_for(1h); });
  until(stopped, work_status::running);
  EXPECT_TRUE(stopped.stop());
  EXPECT_EQ(ends(), 3U);
  auto forced = p.submit([] { this_work::sleep_for(1h); });
  until(forced, work_status::running);
  EXPECT_TRUE(forced.force_stop());
  EXPECT_EQ(ends(), 4U);
  EXPECT_EQ(forced.status(), work_status::force_stopped);
  blocker busy(p);
  auto cancelled = p.submit([] {});
  EXPECT_TRUE(cancelled.cancel());
  busy.let_go();
  EXPECT_EQ(ends(), 5U) << "the blocker, and not what no thread has run";
  int runs = 0;
  p.submit(
       [&] {
         if (++runs == 1) throw std::runtime_error("once");
       },
       {.retry = {.limit = 1}})
      .wait();
  EXPECT_EQ(ends(), 6U) << "the last attempt";
}

/// Returns false if that is not so within a minute: the test then lets its jobs go, fails and ends.
template <class F>
bool comes(F what) {
  const base::time_point late = base::now() + 60s;
  while (!what()) {
    if (base::now() > late) return false;
    std::this_thread::yield();
  }
  return true;
}

// All threads block and jobs wait: the goal rises from the number of processors up to the maximum.
TEST(hill_climbing, finds_threads_for_jobs_that_block_and_stays_within_the_bounds) {
  const unsigned start = base::usable_processors();
  const unsigned most = 2 * start;
  thread_pool p({.min_threads = 1, .max_threads = most, .hill_climbing = {.period = 1ms}});
  EXPECT_EQ(p.stats().thread_goal, start);
  gate go;
  std::atomic<unsigned> blocked{0};
  for (unsigned i = 0; i < 2 * most; ++i) {
    static_cast<void>(p.submit([&] {
      ++blocked;
      go.pass();
    }));
  }
  EXPECT_TRUE(comes([&] { return p.stats().thread_goal > start; }));
  EXPECT_TRUE(comes([&] { return blocked == most; }));
  EXPECT_EQ(p.stats().thread_goal, most) << "jobs wait, and none ends";
  go.open();
  p.wait_idle();
  EXPECT_LE(p.stats().thread_goal, most);
  EXPECT_EQ(p.stats().succeeded, 2 * most);
  p.resize(1, 1);
  EXPECT_EQ(p.stats().thread_goal, 1U);
  for (int i = 0; i < 2000; ++i) static_cast<void>(p.submit([] { dawdle(1000); }));
  expect_idle(p);
  EXPECT_EQ(p.stats().thread_goal, 1U);
}

}  // namespace
}  // namespace rota::pool::detail::hill_climber_test
