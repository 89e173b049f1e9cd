// Sums and means of the times that a pool measures.
#include "pool/time_record.hpp"
#include "unit/pool/pool_support.hpp"

namespace time_record_test {
namespace {

using namespace rota::pool;
using namespace rota::pool::test;

TEST(time_record, sums_and_means_are_exact) {
  detail::time_record record;
  EXPECT_EQ(record.summary().total, 0ns);
  EXPECT_EQ(record.summary().mean, 0ns) << "nothing was timed";
  record.add(3ns);
  record.add(1'000'001ns);
  record.add(2ns);
  const time_summary s = record.summary();
  EXPECT_EQ(s.count, 3U);
  EXPECT_EQ(s.total, 1'000'006ns);
  EXPECT_EQ(s.mean, 333'335ns);
  EXPECT_EQ(s.longest, 1'000'001ns);
  record.add(-5ns);  // a clock that goes back
  EXPECT_EQ(record.summary().total, 1'000'006ns);
  EXPECT_EQ(record.summary().mean, 250'001ns);
}

/// A pool with one thread runs its works one after the other, so the sum is at most its uptime.
TEST(time_record, the_run_times_of_one_thread_fit_into_the_uptime) {
  thread_pool p({.max_threads = 1, .time_one_in = 1});
  for (int i = 0; i < 20; ++i) p | [i] { dawdle(i * 1000); };
  p.wait_idle();
  const pool_stats s = p.stats();
  EXPECT_EQ(s.run_time.count, 20U);
  EXPECT_EQ(s.queue_time.count, 20U);
  EXPECT_GT(s.run_time.total, 0ns);
  EXPECT_LE(s.run_time.longest, s.run_time.total);
  EXPECT_LE(s.run_time.total, s.run_time.longest * 20);
  EXPECT_EQ(s.run_time.mean, s.run_time.total / 20);
  EXPECT_EQ(s.queue_time.mean, s.queue_time.total / 20);
  EXPECT_LE(s.run_time.total, s.uptime);
  p.shutdown(0s);
  EXPECT_GE(p.stats().uptime, s.uptime);
}

}  // namespace
}  // namespace time_record_test
