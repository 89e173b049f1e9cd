// Stale reads: an older value where the orders in the code allow it, and nowhere else.
#include <rota/testing/explore.hpp>

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

namespace rota {
namespace {

using base::order;
using testing::check;
using testing::execution;
using testing::explore;

constexpr unsigned all = 100;  // more preemptions than any program here can have

template <class F>
testing::report with_stale_reads(F body) {
  return explore({.preemptions = all, .stale_reads = 2}, body);
}

struct two_words {
  base::atomic<int> x{0};
  base::atomic<int> y{0};
  int seen_x = -1;
  int seen_y = -1;
};

/// Each thread writes its word, then reads the other's.
testing::report buffer_stores(order storing, order loading, unsigned stale_reads) {
  return explore({.preemptions = all, .stale_reads = stale_reads}, [=](execution& e) {
    auto& w = e.make<two_words>();
    e.thread([&w, storing, loading] {
      w.x.store(1, storing);
      w.seen_y = w.y.load(loading);
    });
    e.thread([&w, storing, loading] {
      w.y.store(1, storing);
      w.seen_x = w.x.load(loading);
    });
    e.finally([&w] { check(w.seen_x == 1 || w.seen_y == 1, "one of the two sees the other"); });
  });
}

TEST(checker_stale, two_seq_cst_stores_before_two_seq_cst_loads_see_each_other) {
  // seq_cst: all four are needed.
  const auto r = buffer_stores(order::seq_cst, order::seq_cst, 2);
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_stale, weaker_stores_or_loads_miss_each_other) {
  // release, acquire: the faults.
  EXPECT_TRUE(buffer_stores(order::release, order::seq_cst, 1).failed);
  EXPECT_TRUE(buffer_stores(order::seq_cst, order::acquire, 1).failed);
  EXPECT_TRUE(buffer_stores(order::release, order::acquire, 1).failed);
}

TEST(checker_stale, a_stale_read_says_so_in_the_trace) {
  // release, acquire: the fault.
  const auto r = buffer_stores(order::release, order::acquire, 1);
  EXPECT_NE(r.trace.find("load (stale)"), std::string::npos) << r.trace;
}

TEST(checker_stale, values_are_sequentially_consistent_without_stale_reads) {
  // release, acquire: the fault, which is invisible without stale reads.
  const auto r = buffer_stores(order::release, order::acquire, 0);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_stale, a_read_modify_write_reads_the_last_value) {
  const auto r = with_stale_reads([](execution& e) {
    auto& w = e.make<two_words>();
    e.thread([&w] { w.seen_x = w.x.fetch_add(1, order::relaxed); });  // relaxed. One word has one order.
    e.thread([&w] { w.seen_y = w.x.fetch_add(1, order::relaxed); });  // relaxed. One word has one order.
    e.finally([&w] { check(w.seen_x + w.seen_y == 1, "one of them comes second"); });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

testing::report pass_message(order storing, order loading) {
  return with_stale_reads([=](execution& e) {
    auto& w = e.make<two_words>();
    e.thread([&w, storing] {
      w.x.store(42, order::relaxed);  // relaxed. The flag orders it.
      w.y.store(1, storing);
    });
    e.thread([&w, loading] {
      // relaxed. The flag orders it.
      if (w.y.load(loading) == 1) check(w.x.load(order::relaxed) == 42, "the message is whole");
    });
  });
}

TEST(checker_stale, what_happens_before_a_load_is_not_missed) {
  // release, acquire: the pair. relaxed: the faults.
  const auto r = pass_message(order::release, order::acquire);
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
  EXPECT_TRUE(pass_message(order::relaxed, order::acquire).failed);
  EXPECT_TRUE(pass_message(order::release, order::relaxed).failed);
}

TEST(checker_stale, a_thread_does_not_go_back_to_an_older_value) {
  const auto r = with_stale_reads([](execution& e) {
    auto& w = e.make<two_words>();
    e.thread([&w] { w.x.store(1, order::relaxed); });  // relaxed. One word has one order.
    e.thread([&w] {
      const int first = w.x.load(order::relaxed);              // relaxed. One word has one order.
      check(w.x.load(order::relaxed) >= first, "never back");  // relaxed. One word has one order.
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_stale, a_thread_sees_what_it_wrote_itself) {
  const auto r = with_stale_reads([](execution& e) {
    auto& w = e.make<two_words>();
    e.thread([&w] {
      w.x.store(1, order::relaxed);                         // relaxed. It is its own.
      check(w.x.load(order::relaxed) == 1, "it is there");  // relaxed. It is its own.
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_stale, value_seen_by_one_thread_is_seen_by_a_thread_ordered_after_it) {
  const auto r = with_stale_reads([](execution& e) {
    auto& w = e.make<two_words>();
    e.thread([&w] { w.x.store(1, order::relaxed); });  // relaxed. One word has one order.
    e.thread([&w] {
      // relaxed. As above. release. Pairs with the third thread.
      if (w.x.load(order::relaxed) == 1) w.y.store(1, order::release);
    });
    e.thread([&w] {
      // acquire. Pairs with the second thread. relaxed. One word has one order.
      if (w.y.load(order::acquire) == 1) check(w.x.load(order::relaxed) == 1, "never back");
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

/// The older value brings what was released with it, and no more.
TEST(checker_stale, a_stale_read_does_not_order_what_came_later) {
  struct message {
    base::atomic<int> flag{0};
    base::cell<int> data{0};
  };
  const auto r = with_stale_reads([](execution& e) {
    auto& m = e.make<message>();
    e.thread([&m] {
      m.data.set(1);
      m.flag.store(1, order::release);  // release. Pairs with the acquire.
      m.flag.store(2, order::relaxed);  // relaxed. Publishes nothing.
    });
    e.thread([&m] {
      if (m.flag.load(order::acquire) == 1) (void)m.data.get();  // acquire. Pairs with the release.
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

}  // namespace
}  // namespace rota
