// The number of threads never falls below `min_threads`, even if many threads time out at the same moment.
#include "unit/pool/pool_support.hpp"

#include <limits>
#include <memory>

namespace floor_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

/// Checks the pool as each of its threads leaves, until the pool's end.
struct lookout {
  std::atomic<thread_pool*> whom{nullptr};
  std::atomic<unsigned> left{0};
  std::atomic<unsigned> fewest{std::numeric_limits<unsigned>::max()};

  void look() {
    thread_pool* const p = whom;
    if (p == nullptr) return;
    const unsigned now = p->stats().threads;
    unsigned seen = fewest;
    while (now < seen && !fewest.compare_exchange_weak(seen, now)) {
    }
    ++left;
  }
};

void occupy(thread_pool& p, unsigned threads) {
  std::latch all(threads);
  std::vector<work<void>> works;
  for (unsigned i = 0; i < threads; ++i) works.push_back(p.submit([&] { all.arrive_and_wait(); }));
  for (const auto& each : works) each.wait();
}

class floor_of : public ::testing::TestWithParam<std::chrono::nanoseconds> {};

TEST_P(floor_of, threads_is_exact_when_all_above_it_leave_at_once) {
  constexpr unsigned floor = 3;
  lookout seen;
  thread_pool p(
      {.min_threads = floor, .max_threads = 12, .keep_alive = GetParam(), .on_thread_end = [&](unsigned) {
         seen.look();
       }});
  EXPECT_EQ(p.stats().threads, floor) << "they are there from the beginning";
  seen.whom = &p;
  for (int round = 0; round < 50; ++round) {
    occupy(p, 12);
    until([&] { return p.stats().threads <= floor; });
    const pool_stats s = p.stats();
    ASSERT_EQ(s.threads, floor);
    ASSERT_EQ(s.threads_started - s.threads_retired, floor);
  }
  until([&] { return seen.left == p.stats().threads_retired; });
  EXPECT_GE(seen.fewest, floor);
  EXPECT_GE(seen.left, 9U);
  seen.whom = nullptr;
}
std::string name_of(const ::testing::TestParamInfo<std::chrono::nanoseconds>& time) {
  return "for_" + std::to_string(time.param.count()) + "_ns";
}
INSTANTIATE_TEST_SUITE_P(kept, floor_of, ::testing::Values(0ns, 1ns, 50'000ns, 1'000'000ns), name_of);

TEST(floor_of_threads, is_exact_when_a_resize_moves_it_while_threads_leave) {
  lookout seen;
  thread_pool p({.min_threads = 2, .max_threads = 8, .keep_alive = 1ns, .on_thread_end = [&](unsigned) {
                   seen.look();
                 }});
  seen.whom = &p;
  for (int round = 0; round < 50; ++round) {
    occupy(p, 8);
    p.resize(6, 8);
    ASSERT_GE(p.stats().threads, 6U);
    occupy(p, 8);
    until([&] { return p.stats().threads <= 6; });
    ASSERT_EQ(p.stats().threads, 6U);
    p.resize(2, 8);
    until([&] { return p.stats().threads <= 2; });
    ASSERT_EQ(p.stats().threads, 2U);
  }
  EXPECT_GE(seen.fewest, 2U);
  seen.whom = nullptr;
}

TEST(floor_of_threads, is_zero_by_default) {
  thread_pool p({.max_threads = 4, .keep_alive = 0ns});
  EXPECT_EQ(p.stats().threads, 0U);
  occupy(p, 4);
  until([&] { return p.stats().threads == 0; });
  EXPECT_EQ(p.submit([] { return 1; }).fetch().value(), 1);
}

TEST(floor_of_threads, is_kept_when_a_thread_is_lost) {
  gate end;
  thread_pool p({.min_threads = 2, .max_threads = 2, .force_grace = 0ns});
  auto bad = p.submit([&] { end.pass(); });
  until(bad, work_status::running);
  bad.force_stop();
  bad.wait();
  EXPECT_EQ(bad.status(), work_status::abandoned);
  EXPECT_EQ(p.stats().threads, 2U);
  EXPECT_EQ(p.stats().abandoned, 1U);
  occupy(p, 2);
  end.open();
  until([&] { return p.stats().abandoned == 0; });  // its thread uses locals of this frame
}

TEST(ceiling_of_threads, can_be_lowered_without_losing_queued_jobs) {
  constexpr int count = 10'000;
  thread_pool p({.max_threads = 20, .start = start_mode::suspended});
  std::atomic<int> ran{0};
  for (int i = 0; i < count; ++i) p.submit([&] { ++ran; });
  p.start();
  p.resize(0, 1);
  expect_idle(p);
  EXPECT_EQ(ran, count);
  until([&] { return p.stats().threads <= 1; });
}

}  // namespace
}  // namespace floor_test
