// Watches: what is outstanding as long as there is something to do, and what has gone when one has.
#include "unit/pool/watch_support.hpp"

namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(regress_watch, is_outstanding_while_it_has_something_to_do_and_no_work) {
  thread_pool p({.max_threads = 1});
  recorder heard(p);
  source<int> s(8);
  watch_options how;
  how.most = 1;
  how.works.group = "g";
  gate go;
  const watch w = watch_source(p, s, [&](int) { go.pass(); }, how);
  EXPECT_EQ(p.stats().outstanding, 0U);
  EXPECT_TRUE(p.wait_idle(0s)) << "the source is empty";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(s.try_push(i), push_status::pushed);
  EXPECT_EQ(p.stats().outstanding, 2U) << "a work, and the watch";
  EXPECT_EQ(p.members("g").size(), 1U);
  EXPECT_FALSE(p.wait_for("g", 0s));
  go.open();
  p.wait("g");
  p.wait_idle();
  EXPECT_EQ(w.stats().succeeded, 3U);
  EXPECT_EQ(p.stats().submitted, 3U) << "the watch is no work";
  expect_idle(p);
}

TEST(regress_watch, lets_go_when_it_is_stopped_or_its_source_is_emptied_by_somebody_else) {
  thread_pool p({.max_threads = 1});
  source<int> s(8);
  gate go;
  watch_options how;
  how.most = 1;
  const watch w = watch_source(p, s, [&](int) { go.pass(); }, how);
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  EXPECT_EQ(s.try_push(2), push_status::pushed);
  EXPECT_EQ(s.try_take(), 2);
  EXPECT_FALSE(p.wait_idle(0s));
  w.stop();
  EXPECT_FALSE(p.wait_idle(0s)) << "one runs";
  EXPECT_EQ(s.try_push(3), push_status::pushed);
  go.open();
  p.wait_idle();
  EXPECT_EQ(s.size(), 1U);
}

TEST(regress_watch, the_next_one_is_outstanding_for_what_comes_back) {
  thread_pool first({.max_threads = 1});
  thread_pool second({.max_threads = 1, .start = start_mode::suspended});
  source<int> s(8);
  gate go;
  const watch a = watch_source(first, s, [&](int) {
    go.pass();
    throw std::runtime_error("again");
  });
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  a.stop();
  std::atomic<int> runs{0};
  const watch b = watch_source(second, s, [&](int) { ++runs; });
  EXPECT_TRUE(second.wait_idle(0s));
  go.open();
  first.wait_idle();
  EXPECT_FALSE(second.wait_idle(0s));
  second.start();
  second.wait_idle();
  EXPECT_EQ(runs, 1);
}

}  // namespace
