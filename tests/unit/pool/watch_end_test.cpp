// Watches that are stopped, pools and sources that end: where the items are afterwards.
#include "unit/pool/watch_support.hpp"

#include <optional>

namespace watch_end_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

/// Takes all items out.
std::vector<int> left_in(source<int>& s) {
  std::vector<int> all;
  while (const std::optional<int> each = s.try_take()) all.push_back(*each);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(watch_end, stop_takes_queued_items_back_and_leaves_running_ones) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  gate open;
  std::atomic<int> begun{0};
  watch_options how{.most = 3, .put_back_cancelled = false};
  const watch w = watch_source(
      p,
      s,
      [&](int& /*each*/) {
        ++begun;
        open.pass();
      },
      how);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  until([&] { return begun == 1; });
  w.stop();
  w.stop();
  EXPECT_FALSE(w.is_watching());
  EXPECT_EQ(w.stats().in_works, 1U);
  EXPECT_EQ(w.stats().put_back, 2U) << "whatever its options say: nobody else took them back";
  EXPECT_EQ(s.try_push(5), push_status::pushed);
  EXPECT_EQ(s.size(), 5U);
  open.open();
  w.wait();
  EXPECT_EQ(w.stats().succeeded, 1U);
  expect_settled(w);
  EXPECT_EQ(left_in(s), (std::vector{1, 2, 3, 4, 5}));
  EXPECT_EQ(p.stats().cancelled, 2U);
}

TEST(watch_end, stop_running_and_force_stop_put_running_items_back) {
  for (const bool force : {false, true}) {
    thread_pool p({.max_threads = 2});
    source<int> s(10);
    std::atomic<int> begun{0};
    const watch w = watch_source(p,
                                 s,
                                 [&](int& /*each*/) {
                                   ++begun;
                                   this_work::sleep_for(1h);
                                 },
                                 {.most = 3});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    until([&] { return begun == 2; });
    w.stop();
    EXPECT_EQ(w.stats().in_works, 2U);
    force ? w.force_stop() : w.stop_running();
    w.wait();
    EXPECT_EQ(w.stats().put_back, 3U);
    expect_settled(w);
    EXPECT_EQ(left_in(s), (std::vector{0, 1, 2, 3, 4}));
    EXPECT_EQ(force ? p.stats().force_stopped : p.stats().stopped, 2U);
  }
}

TEST(watch_end, the_item_of_an_abandoned_work_stays_with_its_thread) {
  std::atomic<int> ends{0};
  gate open;
  std::atomic<int> begun{0};
  std::atomic<int> number{0};
  source<parcel> s(10);
  {
    thread_pool p({.max_threads = 1, .force_grace = 1ms});
    {
      const watch w = watch_source(p, s, [&](parcel& each) {
        ++begun;
        if (each.number() == 2) return;
        open.pass();
        number = each.number();
      });
      EXPECT_EQ(s.try_push(parcel(1, &ends)), push_status::pushed);
      until([&] { return begun == 1; });
      EXPECT_EQ(p.force_stop_all(), 1U);
      // Not before: if the grace passes inside of that call, it stops the job of the next item, too.
      EXPECT_EQ(s.try_push(parcel(2, &ends)), push_status::pushed);
      w.wait();
      EXPECT_EQ(w.stats().abandoned, 1U);
      EXPECT_EQ(w.stats().succeeded, 1U) << "another thread took the next";
      expect_settled(w);
    }
    EXPECT_EQ(ends, 1);
    EXPECT_FALSE(s.is_watched());
  }
  EXPECT_EQ(number, 0);
  open.open();
  until([&] { return ends == 2; });
  EXPECT_EQ(number, 1) << "the watch has gone, and the pool; the item was there";
  EXPECT_EQ(s.size() + s.given_up(), 0U);
}

TEST(watch_end, destructor_waits_for_running_items) {
  thread_pool p({.max_threads = 2});
  source<int> s(100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  std::size_t done = 0;
  {
    std::atomic<std::size_t> ended{0};
    {
      const watch w = watch_source(p, s, [&ended](int& /*each*/) {
        dawdle(1000);
        ++ended;
      });
    }
    done = ended;
  }
  EXPECT_EQ(s.size(), 100 - done);
  expect_idle(p);
}

TEST(watch_end, watch_may_be_stopped_by_one_of_its_own_jobs) {
  thread_pool p({.max_threads = 1});
  source<int> s(100);
  std::optional<watch> w;
  std::atomic<int> runs{0};
  w.emplace(watch_source(p, s, [&](int& each) {
    ++runs;
    if (each == 3) w->stop_running();
  }));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  until([&] { return !w->is_watching(); });
  w->wait();
  expect_settled(*w);
  EXPECT_EQ(static_cast<std::size_t>(runs), 10 - s.size());
}

TEST(watch_end, watch_destroyed_inside_one_of_its_own_jobs_aborts) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        thread_pool p({.max_threads = 1});
        source<int> s(1);
        std::optional<watch> w;
        gate open;
        w.emplace(watch_source(p, s, [&](int& /*each*/) {
          open.pass();
          w.reset();
        }));
        static_cast<void>(s.try_push(1));
        open.open();
        w->wait();
      },
      "a watch ends inside of one of its own works");
}

// ---- the pool ---------------------------------------------------------------------------------------------

TEST(watch_end, a_full_queue_neither_refuses_nor_loses_an_item) {
  for (const rejection how : {rejection::abort,
                              rejection::caller_runs,
                              rejection::discard_newest,
                              rejection::discard_queued,
                              rejection::block}) {
    std::atomic<int> runs{0};
    thread_pool p({.max_threads = 1, .queue_limit = 1, .on_full = how});
    source<int> s(10);
    const watch w = watch_source(p,
                                 s,
                                 [&](int& each) {
                                   if (++runs < 3) throw std::runtime_error(std::to_string(each));
                                 },
                                 {.most = 4});
    std::atomic<int> others{0};
    {
      const blocker busy(p);
      for (int i = 0; i < 6; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
      EXPECT_EQ(w.stats().in_works, 4U);
      if (how == rejection::abort) {
        EXPECT_THROW(p.submit([&] { ++others; }), error) << "they count for others";
      }
      if (how == rejection::discard_queued) {
        const auto mine = p.submit([&] { ++others; }, {.priority = 5});
        EXPECT_EQ(mine.status(), work_status::discarded) << "none of theirs goes for it";
      }
    }
    w.wait();
    EXPECT_EQ(runs, 8) << to_string(work_status::discarded) << static_cast<int>(how);
    EXPECT_EQ(w.stats().succeeded, 6U);
    expect_settled(w);
    EXPECT_EQ(others, 0);
  }
}

TEST(watch_end, paused_or_suspended_pool_runs_items_later) {
  std::atomic<int> runs{0};
  thread_pool p({.max_threads = 2, .start = start_mode::suspended, .pause = pause_mode::queued_too});
  source<int> s(10);
  const watch w = watch_source(p, s, [&](int& /*each*/) { ++runs; });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  EXPECT_EQ(w.stats().in_works, 2U);
  EXPECT_EQ(runs, 0);
  p.start();
  w.wait();
  EXPECT_EQ(runs, 5);
  p.pause_all();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  EXPECT_FALSE(w.wait_for(1ms));
  w.stop();
  w.wait();
  EXPECT_EQ(s.size(), 5U) << "a stop takes them back also from there";
  const watch next = watch_source(p, s, [&](int& /*each*/) { ++runs; });
  p.resume_all();
  next.wait();
  EXPECT_EQ(runs, 10);
}

TEST(watch_end, group_limit_applies_to_items) {
  std::atomic<int> now{0}, most{0};
  thread_pool p({.max_threads = 4});
  p.limit_group("one", 1);
  source<int> s(100);
  watch_options how;
  how.works.group = "one";
  const watch w = watch_source(
      p,
      s,
      [&](int& /*each*/) {
        most = std::max(most.load(), ++now);
        --now;
      },
      how);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  w.wait();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(w.stats().succeeded, 100U);
}

TEST(watch_end, watch_ends_with_its_pool) {
  source<int> s(source<int>::unbounded);
  std::atomic<int> runs{0};
  std::optional<watch> w;
  {
    thread_pool p({.max_threads = 1});
    std::atomic<int> begun{0};
    w.emplace(watch_source(p,
                           s,
                           [&](int& /*each*/) {
                             ++begun;
                             ++runs;
                             this_work::sleep_for(1h);
                           },
                           {.most = 3, .put_back_cancelled = false}));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    until([&] { return begun == 1; });
    const pool_report report = p.shutdown(1h);
    EXPECT_EQ(report.cancelled, 2U);
    EXPECT_EQ(report.ended, 1U);
    EXPECT_FALSE(w->is_watching());
    EXPECT_FALSE(s.is_watched());
    EXPECT_THROW(static_cast<void>(watch_source(p, s, [](int& /*each*/) {})), error);
  }
  w->wait();
  expect_settled(*w);
  EXPECT_EQ(s.try_push(5), push_status::pushed) << "nobody looks for the pool that is gone";
  EXPECT_EQ(s.size(), 6U);
  thread_pool other({.max_threads = 2});
  std::atomic<int> again{0};
  const watch next = watch_source(other, s, [&](int& /*each*/) { ++again; });
  next.wait();
  EXPECT_EQ(again, 6);
  EXPECT_EQ(runs, 1);
}

TEST(watch_end, no_item_is_lost_when_the_pool_ends_during_pushes) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<int>> runs(200);
    source<int> s(source<int>::unbounded);
    auto p = std::make_optional<thread_pool>(pool_options{.max_threads = 2});
    const watch w = watch_source(*p, s, [&](int& each) { ++runs[static_cast<std::size_t>(each)]; });
    std::thread pushes([&] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    });
    dawdle(round * 200);
    p.reset();
    pushes.join();
    w.wait();
    expect_settled(w);
    for (const int each : left_in(s)) ++runs[static_cast<std::size_t>(each)];
    for (const auto& each : runs) EXPECT_EQ(each, 1);
  }
}

TEST(watch_end, watch_without_items_is_not_counted_or_stopped_as_a_job) {
  thread_pool p({.max_threads = 1});
  source<int> s(1);
  const watch w = watch_source(p, s, [](int& /*each*/) {});
  EXPECT_EQ(p.stop_all() + p.cancel_all() + p.force_stop_all(), 0U);
  EXPECT_TRUE(p.waiting().empty());
  expect_idle(p);
}

// ---- the source -------------------------------------------------------------------------------------------

TEST(watch_end, a_source_that_is_closed_is_emptied) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> runs{0};
  const watch w = watch_source(p, s, [&](int& each) {
    if (++runs == 2) throw std::runtime_error(std::to_string(each));
  });
  {
    const blocker busy(p);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    s.close();
    EXPECT_EQ(s.try_push(5), push_status::closed);
  }
  w.wait();
  EXPECT_EQ(runs, 6) << "what comes back comes in all the same";
  expect_settled(w);
}

TEST(watch_end, source_may_be_destroyed_before_its_watch) {
  std::atomic<int> ends{0};
  std::atomic<int> runs{0};
  thread_pool p({.max_threads = 1});
  auto s = std::make_optional<source<parcel>>(10U);
  std::optional<watch> w(watch_source(p,
                                      *s,
                                      [&](parcel& /*each*/) {
                                        if (++runs < 3) throw std::runtime_error("not yet");
                                      },
                                      {.most = 1}));
  {
    const blocker busy(p);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s->try_push(parcel(i, &ends)), push_status::pushed);
    s.reset();
    EXPECT_EQ(ends, 0);
  }
  w->wait();
  EXPECT_EQ(runs, 7);
  EXPECT_EQ(ends, 5);
  expect_settled(*w);
}

TEST(watch_end, items_are_destroyed_when_the_source_and_its_watch_are_gone) {
  std::atomic<int> ends{0};
  thread_pool p({.max_threads = 1});
  {
    const blocker busy(p);
    auto s = std::make_optional<source<parcel>>(10U);
    const watch w = watch_source(p, *s, [](parcel& /*each*/) {}, {.most = 2});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s->try_push(parcel(i, &ends)), push_status::pushed);
    s.reset();
    w.stop();
    EXPECT_EQ(w.stats().put_back, 2U);
  }
  EXPECT_EQ(ends, 5);
}

TEST(watch_end, next_watch_runs_items_that_the_stopped_watch_puts_back) {
  for (int round = 0; round < 100; ++round) {
    thread_pool p({.max_threads = 2});
    source<int> s(100);
    std::vector<std::atomic<int>> runs(20);
    const auto body = [&](int& each) { ++runs[static_cast<std::size_t>(each)]; };
    std::optional<watch> first(watch_source(p, s, body, {.most = 10}));
    std::thread stops([&] {
      dawdle(round * 100);
      first->stop();
    });
    for (int i = 0; i < 20; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    until([&] { return !s.is_watched(); });
    const watch second = watch_source(p, s, body, {.most = 1});
    stops.join();
    first->wait();
    second.wait();
    for (const auto& each : runs) EXPECT_EQ(each, 1);
    EXPECT_EQ(first->stats().succeeded + second.stats().succeeded, 20U);
  }
}

}  // namespace
}  // namespace watch_end_test
