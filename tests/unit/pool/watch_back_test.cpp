// Items of works that do not end well: which come back, how often, and where the others go.
#include "unit/pool/watch_support.hpp"

#include <optional>

namespace watch_back_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(watch_back, failed_item_returns_to_the_end_of_the_source) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::vector<std::string> order;  // used by one thread
  {
    const blocker busy(p);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  }
  const watch w = watch_source(p,
                               s,
                               [&](int& each, unsigned returned) {
                                 order.push_back(std::to_string(each) + '/' + std::to_string(returned));
                                 if (each == 1 && returned < 2) throw std::runtime_error("not yet");
                               },
                               {.most = 1});
  w.wait();
  EXPECT_EQ(order, (std::vector<std::string>{"1/0", "2/0", "3/0", "1/1", "1/2"}));
}

TEST(watch_back, item_returned_too_often_is_given_up_and_can_be_taken) {
  std::atomic<int> ends{0};
  thread_pool p({.max_threads = 2});
  source<parcel> s(10);
  std::atomic<unsigned> runs{0}, last{0};
  watch_options how;
  how.returns = 5;
  const watch w = watch_source(
      p,
      s,
      [&](parcel& each, unsigned returned) {
        if (each.number() != 7) return;
        ++runs;
        last = returned;
        throw std::runtime_error("always");
      },
      how);
  EXPECT_EQ(s.try_push(parcel(7, &ends)), push_status::pushed);
  EXPECT_EQ(s.try_push(parcel(8, &ends)), push_status::pushed);
  w.wait();
  EXPECT_EQ(runs, 6U);
  EXPECT_EQ(last, 5U);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(s.size(), 0U);
  ASSERT_EQ(s.given_up(), 1U);
  EXPECT_EQ(s.try_take_given_up()->number(), 7);
  EXPECT_FALSE(s.try_take_given_up().has_value());
  EXPECT_EQ(w.stats().given_up, 1U);
  EXPECT_EQ(w.stats().put_back, 5U);
  expect_settled(w);
}

TEST(watch_back, item_without_a_limit_returns_until_the_watch_is_stopped) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> runs{0};
  const watch w = watch_source(p,
                               s,
                               [&](int& /*each*/) {
                                 ++runs;
                                 throw std::runtime_error("always");
                               },
                               {.returns = watch_options::unlimited});
  EXPECT_EQ(s.try_push(7), push_status::pushed);
  until([&] { return runs > 100; });
  w.stop();
  w.wait();
  EXPECT_EQ(s.try_take(), 7);
  EXPECT_EQ(s.given_up(), 0U);
  expect_settled(w);
}

TEST(watch_back, stopped_item_returns_regardless_of_the_limit) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> begun{0};
  watch_options how;
  how.works.group = "g";
  const watch w = watch_source(
      p,
      s,
      [&](int& /*each*/) {
        if (++begun < 8) this_work::sleep_for(1h);
      },
      how);
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  for (int i = 1; i < 8; ++i) {
    until([&] { return begun == i; });
    p.stop("g");
  }
  w.wait();
  EXPECT_EQ(w.stats().put_back, 7U) << "more than `returns`";
  EXPECT_EQ(w.stats().succeeded, 1U);
}

TEST(watch_back, item_that_times_out_or_stops_itself_is_given_up) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  watch_options how;
  how.returns = 1;
  how.works.timeout = 1ms;
  const watch w = watch_source(
      p,
      s,
      [&](int& each) {
        if (each == 1) this_work::sleep_for(1h);
        throw work_stopped();
      },
      how);
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  EXPECT_EQ(s.try_push(2), push_status::pushed);
  w.wait();
  EXPECT_EQ(w.stats().given_up, 2U);
  EXPECT_EQ(w.stats().put_back, 2U);
  EXPECT_EQ(p.stats().stopped, 4U);
}

TEST(watch_back, item_is_destroyed_if_the_put_back_options_are_off) {
  std::atomic<int> ends{0};
  thread_pool p({.max_threads = 1});
  source<parcel> s(10);
  watch_options how{.put_back_failed = false, .put_back_stopped = false, .put_back_cancelled = false};
  how.works.group = "g";
  gate open;
  const watch w = watch_source(
      p,
      s,
      [&](parcel& each) {
        if (each.number() == 1) throw std::runtime_error("fails");
        if (each.number() == 2) throw work_stopped();
        open.pass();
      },
      how);
  for (int i = 1; i < 3; ++i) EXPECT_EQ(s.try_push(parcel(i, &ends)), push_status::pushed);
  w.wait();
  EXPECT_EQ(ends, 2);
  {
    const blocker busy(p);
    EXPECT_EQ(s.try_push(parcel(3, &ends)), push_status::pushed);
    EXPECT_EQ(p.cancel("g"), 1U);
    EXPECT_EQ(ends, 3);
  }
  EXPECT_EQ(w.stats().dropped, 3U);
  EXPECT_EQ(s.size() + s.given_up(), 0U);
  expect_settled(w);
}

TEST(watch_back, cancelled_item_returns_and_runs) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> runs{0};
  watch_options how;
  how.works.group = "g";
  how.most = 3;
  const watch w = watch_source(p, s, [&](int& /*each*/) { ++runs; }, how);
  {
    const blocker busy(p);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
    EXPECT_EQ(p.cancel("g"), 3U);
    EXPECT_GE(p.cancel_all(), 1U);  // visits each slot once, so it terminates
    EXPECT_EQ(w.stats().in_works, 3U);
    EXPECT_EQ(s.size(), 2U);
  }
  w.wait();
  EXPECT_EQ(runs, 5);
  EXPECT_GE(w.stats().put_back, 4U);
  expect_settled(w);
}

TEST(watch_back, job_is_retried_before_its_item_returns) {
  thread_pool p({.max_threads = 1});
  source<int> s(10);
  std::atomic<int> runs{0};
  for (const retry_where where : {retry_where::immediately, retry_where::requeued}) {
    runs = 0;
    watch_options how;
    how.returns = 1;
    how.works.retry = {.limit = 2, .where = where};
    const watch w = watch_source(
        p,
        s,
        [&](int& /*each*/) {
          if (++runs < 5) throw std::runtime_error("not yet");
        },
        how);
    EXPECT_EQ(s.try_push(1), push_status::pushed);
    w.wait();
    EXPECT_EQ(runs, 5);
    EXPECT_EQ(w.stats().put_back, 1U);
    EXPECT_EQ(w.stats().succeeded, 1U);
  }
}

TEST(watch_back, returned_item_needs_no_free_capacity) {
  thread_pool p({.max_threads = 1});
  source<int> s(1);
  gate open;
  std::atomic<int> runs{0};
  const watch w = watch_source(p,
                               s,
                               [&](int& /*each*/) {
                                 open.pass();
                                 if (++runs == 1) throw std::runtime_error("once");
                               },
                               {.most = 1});
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  EXPECT_EQ(s.try_push(2), push_status::pushed);
  EXPECT_EQ(s.try_push(3), push_status::full);
  open.open();
  w.wait();
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace watch_back_test
