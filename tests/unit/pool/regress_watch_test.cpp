// Watches: what counts as outstanding while there is something to do, and what is destroyed with a watch.
#include "unit/pool/user_queues.hpp"
#include "unit/pool/watch_support.hpp"

#include <memory>

namespace regress_watch_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

TEST(regress_watch, watch_is_outstanding_while_its_source_has_items) {
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

TEST(regress_watch, watch_is_not_outstanding_once_stopped_or_its_source_is_emptied) {
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
  until([&] { return p.stats().running == 1; });
  w.stop();
  EXPECT_FALSE(p.wait_idle(0s)) << "one runs";
  EXPECT_EQ(s.try_push(3), push_status::pushed);
  go.open();
  p.wait_idle();
  EXPECT_EQ(s.size(), 1U);
}

TEST(regress_watch, next_watch_is_outstanding_for_items_that_are_put_back) {
  thread_pool first({.max_threads = 1});
  thread_pool second({.max_threads = 1, .start = start_mode::suspended});
  source<int> s(8);
  gate go;
  const watch a = watch_source(first, s, [&](int) {
    go.pass();
    throw std::runtime_error("again");
  });
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  until([&] { return first.stats().running == 1; });
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

/// Blocks one call of set().
struct holds_up : sorted_deque {
  struct shared {
    std::atomic<bool> is_armed{false};
    std::atomic<bool> is_entered{false};
    gate go;
  };
  static inline shared* by = nullptr;
  void set(queued_work work) {
    sorted_deque::set(work);
    if (by == nullptr || !by->is_armed.exchange(false)) return;
    by->is_entered = true;
    by->go.pass();
  }
};

/// Sets a flag in its destructor.
struct tells {
  explicit tells(std::atomic<bool>& gone) : gone_(&gone) {}
  tells(tells&& other) noexcept : gone_(std::exchange(other.gone_, nullptr)) {}
  tells(const tells&) = delete;
  tells& operator=(const tells&) = delete;
  tells& operator=(tells&&) = delete;
  ~tells() {
    if (gone_ != nullptr) *gone_ = true;
  }

 private:
  std::atomic<bool>* gone_;
};

// The second watch turns the returned item into a work, on a thread that is still inside of the first watch.
TEST(regress_watch, body_is_destroyed_with_its_watch) {
  holds_up::shared at_the_next;
  holds_up::by = &at_the_next;
  {
    std::atomic<bool> gone{false};
    source<int> s(8);
    gate go;
    thread_pool second({.max_threads = 1, .custom = custom_queue::of<holds_up>()});
    thread_pool first({.max_threads = 1});
    watch a = watch_source(first, s, [&go, last = tells(gone)](int) {
      go.pass();
      throw std::runtime_error("again");
    });
    EXPECT_EQ(s.try_push(1), push_status::pushed);
    until([&] { return first.stats().running == 1; });
    a.stop();
    std::atomic<int> runs{0};
    const watch b = watch_source(second, s, [&](int) { ++runs; });
    at_the_next.is_armed = true;
    go.open();
    until([&] { return at_the_next.is_entered.load(); });
    a = watch();
    EXPECT_TRUE(gone);
    at_the_next.go.open();
    b.wait();
    EXPECT_EQ(runs, 1);
  }
  holds_up::by = nullptr;
}

// An abandoned work still runs the body, which is destroyed when that work returns.
TEST(regress_watch, body_lives_until_an_abandoned_job_leaves_it) {
  struct kept {
    std::atomic<bool> gone{false};
    std::atomic<bool> begun{false};
    gate go;
  };
  const auto all = std::make_shared<kept>();
  thread_pool p({.max_threads = 1, .force_grace = 0ns});
  source<int> s(8);
  watch w = watch_source(p, s, [all, last = tells(all->gone)](int) {
    all->begun = true;
    all->go.pass();
  });
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  until([&] { return all->begun.load(); });
  w.force_stop();
  w = watch();
  EXPECT_FALSE(all->gone);
  all->go.open();
  until([&] { return all->gone.load(); });
  until([&] { return p.stats().abandoned == 0; });
}

}  // namespace
}  // namespace regress_watch_test
