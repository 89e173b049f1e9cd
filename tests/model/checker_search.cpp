// The search of the checker: exactly the interleavings within the bound, none twice, the same each time.
#include <rota/testing/explore.hpp>
#include "base/futex.hpp"
#include "base/mutex.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace rota {
namespace {

using base::order;
using testing::execution;
using testing::explore;
using testing::memory_mode;
using testing::options;
using testing::search_kind;

constexpr unsigned all = 100;  // more preemptions than any program here can have

// `threads` threads with `steps` operations each.
testing::report count_runs(unsigned threads,
                           unsigned steps,
                           unsigned preemptions,
                           std::uint64_t max_runs = 100'000) {
  return explore({.preemptions = preemptions, .max_runs = max_runs}, [=](execution& e) {
    auto& word = e.make<base::atomic<unsigned>>(0U);
    for (unsigned i = 0; i < threads; ++i) {
      e.thread([&word, steps] {
        // relaxed. Nothing but the number of steps matters.
        for (unsigned step = 0; step < steps; ++step) word.fetch_add(1, order::relaxed);
      });
    }
    // relaxed. Everything is over.
    e.finally([=, &word] { testing::check(word.load(order::relaxed) == threads * steps, "all have run"); });
  });
}

// Of a^n b^n there are C(2n, n) interleavings. The last bound sees all of them, the ones before those with at
// most that many changes of thread, not counting the change when a thread ends.
TEST(checker_search, two_threads_of_two_steps_have_six_interleavings) {
  const auto r = count_runs(2, 2, all);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.runs_at, (std::vector<std::uint64_t>{2, 4, 6}));
}

TEST(checker_search, two_threads_of_three_steps_have_twenty_interleavings) {
  const auto r = count_runs(2, 3, all);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.runs_at, (std::vector<std::uint64_t>{2, 6, 14, 18, 20}));
}

TEST(checker_search, two_threads_of_five_steps_have_252_interleavings) {
  const auto r = count_runs(2, 5, all);
  EXPECT_EQ(r.runs_at.back(), 252U);
}

TEST(checker_search, three_threads_of_two_steps_have_ninety_interleavings) {
  const auto r = count_runs(3, 2, all);
  EXPECT_EQ(r.runs_at.front(), 6U);  // without preemptions: the orders of the threads
  EXPECT_EQ(r.runs_at.back(), 90U);
}

TEST(checker_search, search_stops_at_a_bound_of_one) {
  const auto r = count_runs(2, 3, 1);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.runs_at, (std::vector<std::uint64_t>{2, 6}));
  EXPECT_EQ(r.preemptions, 1U);
}

TEST(checker_search, a_search_that_is_cut_is_not_complete) {
  const auto r = count_runs(3, 2, all, 10);
  EXPECT_EQ(r.runs_at, (std::vector<std::uint64_t>{6, 4}));
  EXPECT_FALSE(r.complete);
}

TEST(checker_search, every_interleaving_is_run_exactly_once) {
  std::set<std::vector<int>> seen;
  const auto r = explore({.preemptions = all, .replay_every = 0}, [&seen](execution& e) {
    auto& word = e.make<base::atomic<int>>(0);
    auto& order_seen = e.make<std::vector<int>>();
    for (int i = 0; i < 3; ++i) {
      e.thread([&, i] {
        for (int step = 0; step < 2; ++step) {
          word.store(i, order::relaxed);  // relaxed. A step.
          order_seen.push_back(i);
        }
      });
    }
    e.finally([&] { seen.insert(order_seen); });
  });
  EXPECT_EQ(r.runs_at.back(), 90U);
  EXPECT_EQ(seen.size(), 90U);
}

TEST(checker_search, all_values_of_a_choice_are_tried) {
  std::multiset<unsigned> seen;
  const auto r = explore({.replay_every = 0}, [&seen](execution& e) {
    e.thread([&seen] { seen.insert(10 * testing::choose(3) + testing::choose(2)); });
  });
  EXPECT_EQ(r.runs, 6U);
  EXPECT_EQ(seen, (std::multiset<unsigned>{0, 1, 10, 11, 20, 21}));
}

// Two increments that are a load and a store: the first bug of every course.
void lose_an_increment(execution& e) {
  auto& word = e.make<base::atomic<int>>(0);
  for (int i = 0; i < 2; ++i) {
    e.thread([&word] {
      const int seen = word.load(order::relaxed);  // relaxed. The fault is elsewhere.
      word.store(seen + 1, order::relaxed);        // relaxed. The fault is elsewhere.
    });
  }
  e.finally(
      [&word] { testing::check(word.load(order::relaxed) == 2, "both count"); });  // relaxed. All is over.
}

TEST(checker_search, a_bug_is_found_at_the_smallest_bound_that_shows_it) {
  const auto none = explore({.preemptions = 0}, lose_an_increment);
  EXPECT_FALSE(none.failed);
  const auto r = explore({.preemptions = 3}, lose_an_increment);
  EXPECT_TRUE(r.failed);
  EXPECT_EQ(r.preemptions, 1U);
  EXPECT_EQ(r.what, "check failed: both count");
}

class replay_variable {
 public:
  explicit replay_variable(const std::string& value) { ::setenv("ROTA_MODEL_REPLAY", value.c_str(), 1); }
  replay_variable(const replay_variable&) = delete;
  replay_variable& operator=(const replay_variable&) = delete;
  ~replay_variable() { ::unsetenv("ROTA_MODEL_REPLAY"); }
};

void expect_same_again(const testing::options& o) {
  const auto first = explore(o, lose_an_increment);
  ASSERT_TRUE(first.failed);
  const replay_variable set(first.replay);
  const auto again = explore(o, lose_an_increment);
  EXPECT_TRUE(again.failed);
  EXPECT_EQ(again.runs, 1U);
  EXPECT_EQ(again.what, first.what);
  EXPECT_EQ(again.trace, first.trace);
  EXPECT_EQ(again.replay, first.replay);
}

TEST(checker_search, a_replay_string_runs_the_same_failure_again) {
  expect_same_again({.name = "increment"});
}

TEST(checker_search, a_random_walk_is_replayed_too) {
  expect_same_again({.search = search_kind::random, .max_runs = 1000, .seed = 7});
}

TEST(checker_search, a_priority_schedule_is_replayed_too) {
  expect_same_again({.search = search_kind::pct, .max_runs = 1000, .seed = 7});
}

TEST(checker_search, replay_string_of_another_exploration_is_ignored) {
  const auto other = explore({.name = "increment"}, lose_an_increment);
  const replay_variable set(other.replay);
  const auto r = explore({.name = "nothing"}, [](execution& e) { e.thread([] {}); });
  EXPECT_FALSE(r.failed);
  EXPECT_TRUE(r.complete);
}

TEST(checker_search, a_malformed_replay_string_is_reported) {
  for (const char* text : {"", "12", "12345", "xyzxyz", "12345678zz"}) {
    const replay_variable set(text);
    const auto r = explore({}, [](execution& e) { e.thread([] {}); });
    EXPECT_TRUE(r.failed);
    EXPECT_NE(r.what.find("malformed"), std::string::npos) << r.what;
  }
}

TEST(checker_search, an_option_out_of_range_is_refused_by_name) {
  const auto refused = [](const options& o) { return explore(o, lose_an_increment).what; };
  EXPECT_EQ(refused({.max_runs = 0}), "options.max_runs: 0 is not in 1..");
  EXPECT_EQ(refused({.steps = 0}), "options.steps: 0 is not in 1..");
  EXPECT_EQ(refused({.search = search_kind::pct, .depth = 0}), "options.depth: 0 is not in 1..250");
  EXPECT_EQ(refused({.depth = 251}), "options.depth: 251 is not in 1..250");
  EXPECT_EQ(refused({.search = search_kind::few, .preemptions = 251}),
            "options.preemptions: 251 is not in 0..250");
  EXPECT_EQ(refused({.memory = memory_mode::tso, .stale_reads = 1}),
            "options.stale_reads: must be 0 with memory_mode::tso");
}

TEST(checker_search, trace_names_the_thread_the_operation_and_the_line) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<int>>(4);
    e.thread("adder", [&word] { word.fetch_add(3, order::acq_rel); });  // acq_rel. To be read in the trace.
    e.finally([] { testing::fail("on purpose"); });
  });
  EXPECT_NE(r.trace.find("T1 adder"), std::string::npos) << r.trace;
  EXPECT_NE(r.trace.find("model/checker_search.cpp:"), std::string::npos) << r.trace;
  EXPECT_NE(r.trace.find("fetch_add word 1: 4 -> 7, acq_rel"), std::string::npos) << r.trace;
}

TEST(checker_search, the_state_is_printed_below_the_trace) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<int>>(4);
    // relaxed. The dump stands outside of the execution.
    e.on_failure([&word] { return "word is " + std::to_string(word.load(order::relaxed)); });
    e.thread([] { testing::fail("on purpose"); });
  });
  EXPECT_NE(r.trace.find("word is 4"), std::string::npos) << r.trace;
}

TEST(checker_search, state_that_cannot_be_printed_is_reported) {
  const auto r = explore({}, [](execution& e) {
    e.on_failure([]() -> std::string { testing::fail("broken state"); });
    e.thread([] { testing::fail("on purpose"); });
  });
  EXPECT_EQ(r.what, "check failed: on purpose");
  EXPECT_NE(r.trace.find("broken state"), std::string::npos) << r.trace;
}

// A random walk finds a failure with needless preemptions; one is enough here.
TEST(checker_search, a_failing_schedule_is_made_smaller) {
  const auto body = [](execution& e) {
    auto& noise = e.make<base::atomic<int>>(0);
    for (int i = 0; i < 2; ++i) {
      e.thread([&noise] {
        for (int step = 0; step < 10; ++step) noise.fetch_add(1, order::relaxed);  // relaxed. Noise.
      });
    }
    lose_an_increment(e);
  };
  testing::options o{.search = search_kind::random, .max_runs = 1000, .seed = 3};
  const auto small = explore(o, body);
  o.minimise_runs = 0;
  const auto first = explore(o, body);
  EXPECT_TRUE(first.failed && small.failed);
  EXPECT_GT(first.preemptions, 3U);
  EXPECT_EQ(small.preemptions, 1U);
}

// Too large for a search of everything smaller: only a reduction helps.
TEST(checker_search, a_large_failing_schedule_is_made_smaller_piece_by_piece) {
  const auto body = [](execution& e) {
    auto& noise = e.make<base::atomic<int>>(0);
    for (int i = 0; i < 6; ++i) {
      e.thread([&noise] {
        for (int step = 0; step < 40; ++step) noise.fetch_add(1, order::relaxed);  // relaxed. Noise.
      });
    }
    lose_an_increment(e);
  };
  testing::options o{.search = search_kind::random, .max_runs = 1000, .seed = 3};
  const auto small = explore(o, body);
  o.minimise_runs = 0;
  const auto first = explore(o, body);
  EXPECT_TRUE(first.failed && small.failed);
  EXPECT_LE(small.preemptions, first.preemptions / 10);
}

TEST(checker_search, replay_choices_that_do_not_fit_the_program_are_reported) {
  const auto body = [](execution& e) {
    for (int i = 0; i < 2; ++i) e.thread([] {});
  };
  const auto fits = explore({.name = "fits"}, body);
  ASSERT_FALSE(fits.failed);
  const replay_variable set(explore({.name = "two"}, lose_an_increment).replay.substr(0, 6) + "07");
  const auto r = explore({.name = "two"}, body);
  EXPECT_TRUE(r.failed);
  EXPECT_NE(r.what.find("do not fit"), std::string::npos) << r.what;
}

TEST(checker_search, a_number_of_steps_that_changes_from_run_to_run_is_detected) {
  int calls = 0;
  const auto r = explore({}, [&calls](execution& e) {
    auto& word = e.make<base::atomic<int>>(0);
    const int steps = ++calls;
    e.thread([&word, steps] {
      for (int i = 0; i < steps; ++i) word.store(i, order::relaxed);  // relaxed. A step.
    });
  });
  EXPECT_TRUE(r.failed);
  EXPECT_NE(r.what.find("nondeterminism"), std::string::npos) << r.what;
}

TEST(checker_search, a_branch_that_changes_from_run_to_run_is_detected) {
  int calls = 0;
  const auto r = explore({.preemptions = 0}, [&calls](execution& e) {
    auto& word = e.make<base::atomic<int>>(0);
    e.thread([&] {
      if (++calls % 2 == 0) {
        word.store(1, order::relaxed);  // relaxed. A step.
      } else {
        (void)word.load(order::relaxed);  // relaxed. Another step.
      }
    });
    e.thread([&word] { word.store(2, order::relaxed); });  // relaxed. A step.
  });
  EXPECT_TRUE(r.failed);
  EXPECT_NE(r.what.find("nondeterminism"), std::string::npos) << r.what;
}

TEST(checker_search, randomness_of_its_own_in_a_program_is_detected) {
  std::random_device device;
  const auto r = explore({.preemptions = 3, .replay_every = 1}, [&device](execution& e) {
    auto& word = e.make<base::atomic<unsigned>>(0U);
    for (int i = 0; i < 3; ++i) {
      e.thread([&] {
        // relaxed. Steps.
        for (unsigned n = device() % 64; n > 0; --n) word.store(n, order::relaxed);
      });
    }
  });
  EXPECT_TRUE(r.failed);
  EXPECT_NE(r.what.find("nondeterminism"), std::string::npos) << r.what;
}

TEST(checker_search, failure_that_is_not_reproduced_is_reported) {
  int calls = 0;
  const auto r = explore({}, [&calls](execution& e) {
    e.thread([&calls] { testing::check(++calls != 1, "the first time only"); });
  });
  EXPECT_TRUE(r.failed);
  EXPECT_NE(r.what.find("not reproduced"), std::string::npos) << r.what;
}

}  // namespace
}  // namespace rota
