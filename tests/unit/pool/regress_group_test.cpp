// Groups: a work that is cancelled while it waits for a place takes no place, and all counts return to zero.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>

namespace regress_group_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(regress_group, cancelled_waiting_job_takes_no_place_in_its_group) {
  thread_pool p({.max_threads = 2});
  p.limit_group("one", 1);
  gate go;
  auto first = p.submit([&] { go.pass(); }, {.group = "one"});
  auto second = p.submit([] {}, {.group = "one"});
  auto third = p.submit([] { return 3; }, {.group = "one"});
  EXPECT_EQ(second.status(), work_status::suspended);
  EXPECT_TRUE(second.cancel());
  go.open();
  EXPECT_EQ(third.fetch().value(), 3);
  expect_idle(p);
}

TEST(regress_group, cancelled_waiting_jobs_are_destroyed_at_once) {
  thread_pool p({.max_threads = 1});
  p.limit_group("one", 1);
  gate go;
  auto first = p.submit([&] { go.pass(); }, {.group = "one"});
  until(first, work_status::running);
  const auto seen = std::make_shared<int>(0);
  for (int i = 0; i < 100; ++i) static_cast<void>(p.submit([seen] { ++*seen; }, {.group = "one"}));
  EXPECT_EQ(seen.use_count(), 101);
  EXPECT_EQ(p.cancel("one"), 100U);
  EXPECT_EQ(seen.use_count(), 1) << "their functions are gone";
  EXPECT_EQ(p.members("one").size(), 1U);
  go.open();
  first.wait();
  expect_idle(p);
  EXPECT_EQ(p.stats().cancelled, 100U);
}

TEST(regress_group, raising_the_limit_starts_waiting_jobs) {
  thread_pool p({.max_threads = 4});
  p.limit_group("g", 1);
  gate go;
  std::atomic<int> inside{0};
  std::vector<work<void>> all;
  for (int i = 0; i < 4; ++i) all.push_back(p.submit([&] { ++inside, go.pass(); }, {.group = "g"}));
  until([&] { return inside == 1; });
  EXPECT_TRUE(all[1].cancel());
  p.limit_group("g", 3);
  until([&] { return inside == 3; });
  go.open();
  expect_idle(p);
  EXPECT_EQ(inside, 3);
}

TEST(regress_group, running_jobs_never_exceed_the_group_limit) {
  thread_pool p({.max_threads = 4});
  p.limit_group("two", 2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  for (int i = 0; i < 2000; ++i) {
    auto w = p.submit(
        [&] {
          const int now = ++inside;
          int seen = most;
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
          std::this_thread::yield();
          --inside, ++done;
        },
        {.group = "two"});
    if (i % 3 == 0) w.cancel();
  }
  expect_idle(p);
  EXPECT_LE(most, 2);
  EXPECT_EQ(static_cast<std::uint64_t>(done), p.stats().succeeded);
  EXPECT_EQ(p.stats().succeeded + p.stats().cancelled, 2000U);
}

TEST(regress_group, relation_that_closes_a_cycle_is_refused) {
  thread_pool p({.max_threads = 1});
  EXPECT_THROW(p.relate("a", "a"), error);
  p.relate("a", "b");
  p.relate("b", "c");
  p.relate("a", "c");
  try {
    p.relate("c", "a");
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::cycle);
  }
  // A diamond is not a cycle. Each member counts once.
  auto w = p.submit([] {}, {.group = "c"});
  p.wait("a");
  EXPECT_TRUE(p.members("a").empty());
}

// The number of paths between lowest and highest is exponential: each group must be visited only once.
TEST(regress_group, group_reached_by_many_paths_is_visited_once) {
  constexpr int layers = 60;
  const auto name = [](int layer, int which) { return std::to_string(layer) + '.' + std::to_string(which); };
  thread_pool p({.max_threads = 1, .pause = pause_mode::queued_too});
  for (int i = 0; i + 1 < layers; ++i) {
    for (const int high : {0, 1}) {
      for (const int low : {0, 1}) p.relate(name(i, high), name(i + 1, low));
    }
  }
  const std::string top = name(0, 0);
  const std::string lowest = name(layers - 1, 1);
  EXPECT_THROW(p.relate(lowest, top), error);
  p.pause(top);
  auto w = p.submit([] {}, {.group = lowest});
  until(w, work_status::suspended);
  EXPECT_EQ(p.members(top), std::vector<work_id>{w.id()});
  sleeper waits([&] { p.wait(top); });
  waits.until_asleep();
  p.resume(top);
  waits.join();
  EXPECT_TRUE(p.members(top).empty());
  auto inside = p.submit([&] { p.wait(top); }, {.group = lowest});
  EXPECT_TRUE(inside.fetch().has_exception()) << "a work waits for a group that it is in";
  p.unrelate(top, name(1, 0));
  expect_idle(p);
}

TEST(regress_group, a_stop_of_the_pool_leaves_groups_as_they_are) {
  thread_pool p({.max_threads = 1});
  p.relate("parent", "child");
  blocker busy(p);
  auto taken = p.submit([] {}, {.group = "child"});
  EXPECT_EQ(p.stop_all(), 2U);
  EXPECT_EQ(taken.status(), work_status::cancelled);
  busy.let_go();
  p.wait_idle();
  blocker again(p);
  auto kept = p.submit([] {}, {.group = "child"});
  EXPECT_EQ(p.members("parent"), std::vector<work_id>{kept.id()});
  EXPECT_EQ(p.cancel("parent"), 1U);
}

TEST(regress_group, a_relation_that_has_ended_no_longer_counts) {
  thread_pool p({.max_threads = 1});
  p.relate("parent", "child");
  p.unrelate("parent", "child");
  blocker busy(p);
  auto w = p.submit([] {}, {.group = "child"});
  EXPECT_EQ(p.cancel("parent"), 0U);
  EXPECT_EQ(p.cancel("child"), 1U);
}

TEST(regress_group, wait_for_a_group_includes_jobs_that_join_meanwhile) {
  thread_pool p({.max_threads = 2});
  p.relate("parent", "child");
  std::atomic<int> done{0};
  static_cast<void>(p.submit(
      [&] {
        for (int i = 0; i < 100; ++i) static_cast<void>(p.submit([&] { ++done; }, {.group = "child"}));
        ++done;
      },
      {.group = "parent"}));
  p.wait("parent");
  EXPECT_EQ(done, 101);
}

TEST(regress_group, a_work_does_not_wait_for_a_group_that_it_is_in) {
  thread_pool p({.max_threads = 1});
  p.relate("parent", "child");
  for (const char* which : {"child", "parent"}) {
    auto w = p.submit([&p, which] { p.wait(which); }, {.group = "child"});
    try {
      w.fetch().value();
      ADD_FAILURE();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::would_deadlock);
    }
  }
}

TEST(regress_long, long_running_jobs_are_counted_beyond_max_threads) {
  thread_pool p({.max_threads = 1, .keep_alive = 0s});
  blocker busy(p);
  {
    blocker long_one(p, {.where = placement::local, .long_running = true});
    const pool_stats s = p.stats();
    EXPECT_EQ(s.running, 2U);
    EXPECT_EQ(s.long_running, 1U);
    EXPECT_EQ(s.threads, 2U);
  }
  until([&] { return p.stats().threads == 1; });
  EXPECT_EQ(p.stats().long_running, 0U);
  EXPECT_EQ(p.stats().running, 1U);
  busy.let_go();
  expect_idle(p);
}

// Each raises the number of threads by one until it is over, also if it is cancelled before it begins.
TEST(regress_long, long_running_jobs_raise_the_thread_limit_only_until_they_end) {
  thread_pool p({.max_threads = 1, .keep_alive = 0s});
  for (int i = 0; i < 3000; ++i) {
    auto w = p.submit([] {}, {.long_running = true});
    if (i % 2 == 0) w.cancel();
  }
  expect_idle(p);
  std::atomic<int> inside{0};
  gate go;
  for (int i = 0; i < 3; ++i) static_cast<void>(p.submit([&] { ++inside, go.pass(); }));
  until([&] { return inside == 1; });
  until([&] { return p.stats().threads == 1; });
  EXPECT_EQ(inside, 1) << "one thread, as before";
  go.open();
  expect_idle(p);
}

}  // namespace
}  // namespace regress_group_test
