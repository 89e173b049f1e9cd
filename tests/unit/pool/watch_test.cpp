// Sources that a pool watches: which items run, which come back, which wait, and what observers are told.
#include "unit/pool/watch_support.hpp"

#include <rota/task.hpp>
#include <rota/this_task.hpp>

#include <optional>
#include <set>

namespace watch_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

// ---- what is run ------------------------------------------------------------------------------------------

TEST(pool_watch, runs_present_and_later_items_once_each) {
  std::atomic<int> ends{0};
  std::vector<std::atomic<int>> runs(100);
  thread_pool p({.max_threads = 3});
  source<parcel> s(source<parcel>::unbounded);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(s.try_push(parcel(i, &ends)), push_status::pushed);
  const watch w = watch_source(p, s, [&](parcel& each) { ++runs[static_cast<std::size_t>(each.number())]; });
  for (int i = 50; i < 100; ++i) EXPECT_EQ(s.try_push(parcel(i, &ends)), push_status::pushed);
  w.wait();
  for (const auto& each : runs) EXPECT_EQ(each, 1);
  EXPECT_EQ(ends, 100) << "also the items are gone";
  EXPECT_EQ(w.stats().succeeded, 100U);
  expect_settled(w);
  EXPECT_TRUE(w.is_watching());
  EXPECT_EQ(s.size(), 0U);
}

TEST(pool_watch, each_item_is_a_work_of_its_own) {
  thread_pool p({.max_threads = 2});
  recorder heard(p);
  source<int> s(10);
  std::mutex lock;
  std::set<std::uint64_t> ids;
  std::size_t callbacks = 0;
  watch_options how;
  how.works.group = "items";
  how.works.priority = 3;
  how.works.callback = [&](const work_end& end) {
    const std::lock_guard guard(lock);
    EXPECT_EQ(end.group, "items");
    EXPECT_EQ(end.status, work_status::succeeded);
    ++callbacks;
  };
  const watch w = watch_source(
      p,
      s,
      [&](int& /*each*/) {
        const std::lock_guard guard(lock);
        ids.insert(this_work::id().value);
      },
      how);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  p.wait("items");
  EXPECT_EQ(ids.size(), 10U) << "a group is not left before the next item has joined it";
  EXPECT_EQ(callbacks, 10U);
  for (const std::uint64_t id : ids) EXPECT_EQ(heard.ends_of({id}).size(), 1U);
  expect_idle(p);
  EXPECT_EQ(p.stats().succeeded, 10U);
}

TEST(pool_watch, a_pool_is_not_idle_before_the_source_is_empty) {
  thread_pool p({.max_threads = 2});
  source<int> s(1000);
  std::atomic<int> done{0};
  const watch w = watch_source(p, s, [&](int& /*each*/) { ++done; }, {.most = 1});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  p.wait_idle();
  EXPECT_EQ(done, 1000);
}

TEST(pool_watch, a_body_may_be_a_coroutine) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> sum{0};
  const watch w = watch_source(p, s, [&](int& each) -> task<void> {
    co_await yield();
    if (each == 3) throw std::runtime_error("three");
    sum += each;
    co_await yield();
  });
  for (int i = 1; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  w.wait();
  EXPECT_EQ(sum, 1 + 2 + 4);
  EXPECT_EQ(s.try_take_given_up(), 3);
  EXPECT_EQ(w.stats().put_back, 3U);
  expect_settled(w);
}

TEST(pool_watch, items_in_jobs_do_not_exceed_the_limit) {
  thread_pool p({.max_threads = 4});
  source<int> s(5);
  gate open;
  std::atomic<int> begun{0};
  const watch w = watch_source(p,
                               s,
                               [&](int& /*each*/) {
                                 ++begun;
                                 open.pass();
                               },
                               {.most = 2});
  for (int i = 0; i < 7; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  EXPECT_EQ(s.try_push(7), push_status::full) << "two are out, and five wait";
  EXPECT_EQ(w.stats().in_works, 2U);
  EXPECT_EQ(s.size(), 5U);
  until([&] { return begun == 2; });
  EXPECT_FALSE(w.wait_for(1ms));
  open.open();
  EXPECT_TRUE(w.wait_for(1h));
  EXPECT_EQ(begun, 7);
}

TEST(pool_watch, takes_more_when_the_pool_has_grown) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  gate open;
  const watch w = watch_source(p, s, [&](int& /*each*/) { open.pass(); });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  EXPECT_EQ(w.stats().in_works, 1U);
  p.resize(0, 4);
  EXPECT_EQ(s.try_push(4), push_status::pushed);
  EXPECT_EQ(w.stats().in_works, 3U) << "for what has come in one, and one more";
  EXPECT_EQ(s.try_push(5), push_status::pushed);
  EXPECT_EQ(w.stats().in_works, 4U);
  p.resize(0, 1);
  open.open();
  w.wait();
  EXPECT_EQ(w.stats().succeeded, 6U);
}

TEST(pool_watch, body_that_pushes_an_item_does_not_recurse) {
  constexpr int last = 50'000;
  thread_pool p({.max_threads = 1});
  source<int> s(source<int>::unbounded);
  // Addresses of the only thread's stack.
  std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
  const watch w = watch_source(p, s, [&](int& each) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest = std::min(lowest, here);
    highest = std::max(highest, here);
    if (each == last) return;
    EXPECT_EQ(s.try_push(each + 1), push_status::pushed);
  });
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  w.wait();
  EXPECT_EQ(w.stats().succeeded, static_cast<std::uint64_t>(last));
  EXPECT_LT(highest - lowest, 4096U);
}

TEST(pool_watch, pushes_and_takes_of_many_threads_lose_nothing) {
  constexpr int each_pushes = 2000;
  std::vector<std::atomic<int>> seen(4 * each_pushes);
  thread_pool p({.max_threads = 3});
  source<int> s(50);
  const watch w = watch_source(p, s, [&](int& each) { ++seen[static_cast<std::size_t>(each)]; }, {.most = 5});
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&, t] {
      for (int i = t * each_pushes; i < (t + 1) * each_pushes; ++i) {
        while (s.try_push(i) == push_status::full) {
          if (const std::optional<int> taken = s.try_take()) ++seen[static_cast<std::size_t>(*taken)];
        }
      }
    });
  }
  for (std::thread& each : all) each.join();
  w.wait();
  for (const auto& each : seen) EXPECT_EQ(each, 1);
  expect_settled(w);
}

// ---- two of them ------------------------------------------------------------------------------------------

TEST(pool_watch, second_watch_of_a_source_is_refused) {
  thread_pool p({.max_threads = 1}), other({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> first{0}, second{0};
  watch w = watch_source(p, s, [&](int& /*each*/) { ++first; });
  EXPECT_TRUE(s.is_watched());
  const auto again = [&] { return watch_source(other, s, [&](int& /*each*/) { ++second; }); };
  try {
    static_cast<void>(again());
    ADD_FAILURE();
  } catch (const std::invalid_argument& why) {
    EXPECT_STREQ(why.what(), "watch_source: the source is watched already");
  }
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  w.wait();
  EXPECT_EQ(first, 1) << "the first goes on";
  w.stop();
  EXPECT_FALSE(s.is_watched());
  EXPECT_EQ(s.try_push(2), push_status::pushed);
  const watch next = again();
  next.wait();
  EXPECT_EQ(second, 1);
  EXPECT_EQ(first, 1);
}

TEST(pool_watch, two_watches_of_a_pool_are_independent) {
  thread_pool p({.max_threads = 2});
  source<int> a(100), b(100);
  std::atomic<int> done{0}, tries{0};
  const watch of_a = watch_source(p, a, [&](int& /*each*/) {
    ++tries;
    throw std::runtime_error("a");
  });
  const watch of_b = watch_source(p, b, [&](int& /*each*/) { ++done; });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.try_push(i), push_status::pushed);
    EXPECT_EQ(b.try_push(i), push_status::pushed);
  }
  of_b.wait();
  of_a.wait();
  EXPECT_EQ(done, 100);
  EXPECT_EQ(tries, 400) << "once, and three times more";
  EXPECT_EQ(of_a.stats().given_up, 100U);
  EXPECT_EQ(a.given_up(), 100U);
  EXPECT_EQ(of_b.stats().put_back, 0U);
  expect_settled(of_a);
  expect_settled(of_b);
  // No thread that was notified of a returned item is still searching for it.
  EXPECT_EQ(p.stats().running, 0U);
}

TEST(pool_watch, failures_of_other_jobs_do_not_affect_the_watch) {
  thread_pool p({.max_threads = 2});
  source<int> s(10);
  std::atomic<int> runs{0};
  const watch w = watch_source(p, s, [&](int& each) {
    ++runs;
    if (each == 2) {
      each = 20;
      throw std::runtime_error("the item, once");
    }
  });
  auto fails = p.submit([] { throw std::runtime_error("another"); });
  auto stops = p.submit([] { throw work_stopped(); });
  fails.wait();
  stops.wait();
  {
    const blocker busy(p);
    auto never = p.submit([] {}, {.after = {busy.handle().id()}});
    EXPECT_TRUE(never.cancel());
    for (int i = 1; i < 4; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  }
  w.wait();
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(w.stats().put_back, 1U);
  EXPECT_EQ(w.stats().succeeded, 3U);
  EXPECT_EQ(p.stats().failed, 2U);
  expect_idle(p);
  expect_settled(w);
}

// ---- waiting ----------------------------------------------------------------------------------------------

TEST(pool_watch, job_may_wait_for_a_watch_but_not_for_its_own) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::optional<watch> w;
  std::atomic<bool> refused{false};
  w.emplace(watch_source(p, s, [&](int& each) {
    if (each != 1) return;
    try {
      w->wait();
    } catch (const error& why) {
      refused = why.code() == errc::would_deadlock;
    }
  }));
  auto waiter = p.submit([&] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    w->wait();
    return w->stats().succeeded;
  });
  EXPECT_EQ(waiter.fetch().value(), 3U) << "the pool has one thread, which it left to them";
  EXPECT_TRUE(refused);
}

TEST(pool_watch, force_stop_ends_a_wait_for_the_watch) {
  thread_pool p({.max_threads = 2});
  source<int> s(10);
  gate open;
  const watch w = watch_source(p, s, [&](int& /*each*/) { open.pass(); });
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  std::atomic<bool> begun{false};
  auto waiter = p.submit([&] {
    begun = true;
    w.wait();
  });
  until([&] { return begun.load(); });
  EXPECT_TRUE(waiter.force_stop());
  waiter.wait();
  EXPECT_EQ(waiter.status(), work_status::force_stopped);
  open.open();
}

TEST(pool_watch, wait_returns_when_another_thread_takes_the_last_item) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> runs{0};
  const watch w = watch_source(p, s, [&](int& /*each*/) { ++runs; }, {.most = 1});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(s.try_push(1), push_status::pushed);
    EXPECT_EQ(s.try_push(2), push_status::pushed);
    sleeper waits([&] { w.wait(); });
    if (s.try_take()) ++runs;
    waits.join();
  }
  EXPECT_EQ(runs, 2000);
}

TEST(pool_watch, empty_handle_ignores_all_calls) {
  watch none;
  none.stop();
  none.stop_running();
  none.force_stop();
  none.wait();
  EXPECT_FALSE(none.is_watching());
  EXPECT_EQ(none.stats().taken, 0U);
  thread_pool p({.max_threads = 1});
  source<int> s(1);
  watch some = watch_source(p, s, [](int& /*each*/) {});
  none = std::move(some);
  EXPECT_TRUE(none.is_watching());
  EXPECT_FALSE(some.is_watching());  // NOLINT(bugprone-use-after-move): that is what is tried
  none = watch();
  EXPECT_FALSE(s.is_watched());
}

TEST(pool_watch, options_that_make_no_sense_are_refused) {
  thread_pool p({.max_threads = 1});
  source<int> s(1);
  const auto refuses = [&](auto change) {
    watch_options how;
    change(how);
    EXPECT_THROW(static_cast<void>(watch_source(p, s, [](int& /*each*/) {}, how)), std::invalid_argument);
    EXPECT_FALSE(s.is_watched());
  };
  refuses([](watch_options& how) { how.works.name = "one"; });
  refuses([](watch_options& how) { how.works.id = work_id{1}; });
  refuses([](watch_options& how) { how.works.after = {work_id{1}}; });
  refuses([](watch_options& how) { how.works.timeout.limit = -1ns; });
  refuses([](watch_options& how) { how.works.retry.backoff = -1ns; });
  refuses([](watch_options& how) { how.works.nice = 99; });
}

}  // namespace
}  // namespace watch_test
