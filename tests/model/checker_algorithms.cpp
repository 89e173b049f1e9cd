// Well-known algorithms, and the well-known faults in them.
#include <rota/testing/explore.hpp>
#include "base/mutex.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rota {
namespace {

using base::order;
using testing::check;
using testing::execution;
using testing::explore;

bool mentions(const testing::report& r, std::string_view words) {
  return r.what.find(words) != std::string::npos;
}

// Store buffering: each stores its own word and reads the other's. Sequentially consistent memory, which this
// is, shows three of the four results; both 0 would need a store buffer.
TEST(checker_algorithms, store_buffering_shows_three_results_of_four) {
  std::array<int, 4> seen{};
  struct words {
    std::array<base::atomic<int>, 2> mine;
    std::array<int, 2> read{};
  };
  const auto r = explore({}, [&seen](execution& e) {
    auto& w = e.make<words>();
    for (std::size_t i = 0; i < 2; ++i) {
      e.thread([&w, i] {
        w.mine[i].store(1, order::seq_cst);              // seq_cst. One of four.
        w.read[i] = w.mine[1 - i].load(order::seq_cst);  // seq_cst. One of four.
      });
    }
    e.finally([&] { ++seen[static_cast<std::size_t>(2 * w.read[0] + w.read[1])]; });
  });
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(seen[0], 0);
  for (const std::size_t result : {1U, 2U, 3U}) EXPECT_GT(seen[result], 0) << result;
}

enum class lock_fault { none, no_flag, no_turn, looks_first };

// Peterson's lock for two.
void two_in_peterson(execution& e, lock_fault fault) {
  struct state {
    std::array<base::atomic<int>, 2> wants;
    base::atomic<std::size_t> turn{0};
    base::cell<int> inside{0};
  };
  auto& s = e.make<state>();
  for (std::size_t me = 0; me < 2; ++me) {
    e.thread([&s, me, fault] {
      const std::size_t other = 1 - me;
      // seq_cst, all: Peterson's argument needs one order of the three words.
      const auto blocked = [&] {
        return s.wants[other].load(order::seq_cst) == 1 &&
               (fault == lock_fault::no_turn || s.turn.load(order::seq_cst) == other);
      };
      if (fault == lock_fault::looks_first) {
        while (blocked()) base::cpu_relax();
      }
      if (fault != lock_fault::no_flag) s.wants[me].store(1, order::seq_cst);  // seq_cst. One of four.
      s.turn.store(other, order::seq_cst);                                     // seq_cst. One of four.
      if (fault != lock_fault::looks_first) {
        while (blocked()) base::cpu_relax();
      }
      s.inside.set(s.inside.get() + 1);
      s.wants[me].store(0, order::seq_cst);  // seq_cst. One of four.
    });
  }
  e.finally([&s] { check(s.inside.get() == 2, "both were inside"); });
}

TEST(checker_algorithms, petersons_lock_excludes) {
  const auto r = explore({.preemptions = 4}, [](execution& e) { two_in_peterson(e, lock_fault::none); });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_algorithms, petersons_lock_without_flags_does_not_exclude) {
  const auto r = explore({}, [](execution& e) { two_in_peterson(e, lock_fault::no_flag); });
  EXPECT_TRUE(mentions(r, "data race")) << to_string(r);
}

TEST(checker_algorithms, petersons_lock_without_a_turn_locks_both_out) {
  const auto r = explore({.steps = 2'000}, [](execution& e) { two_in_peterson(e, lock_fault::no_turn); });
  EXPECT_TRUE(mentions(r, "livelock")) << to_string(r);
  EXPECT_EQ(r.preemptions, 1U);
}

TEST(checker_algorithms, lock_that_checks_before_it_sets_its_flag_does_not_exclude) {
  const auto r = explore({}, [](execution& e) { two_in_peterson(e, lock_fault::looks_first); });
  EXPECT_TRUE(mentions(r, "data race")) << to_string(r);
}

// A spin lock by exchange; the faults are in its orders.
testing::report two_in_spin_lock(order taking, order giving) {
  struct state {
    base::atomic<int> held{0};
    base::cell<int> inside{0};
  };
  return explore({.preemptions = 3}, [=](execution& e) {
    auto& s = e.make<state>();
    for (int i = 0; i < 2; ++i) {
      e.thread([&s, taking, giving] {
        while (s.held.exchange(1, taking) != 0) base::cpu_relax();
        s.inside.set(s.inside.get() + 1);
        s.held.store(0, giving);
      });
    }
  });
}

TEST(checker_algorithms, a_spin_lock_needs_both_its_orders) {
  // acquire, release: right. relaxed: the faults.
  EXPECT_FALSE(two_in_spin_lock(order::acquire, order::release).failed);
  EXPECT_TRUE(mentions(two_in_spin_lock(order::relaxed, order::release), "data race"));
  EXPECT_TRUE(mentions(two_in_spin_lock(order::acquire, order::relaxed), "data race"));
}

// Treiber's stack over a fixed array with reused nodes: the classic ABA. A count in the head mends it.
struct stack {
  static constexpr std::uint64_t none = 0xFF;
  std::uint64_t count_step;
  base::atomic<std::uint64_t> head{none};  // low byte: the index; above it: the count
  std::array<base::atomic<std::uint64_t>, 3> next;

  explicit stack(bool counted) : count_step(counted ? 0x100 : 0) {
    for (std::uint64_t i = 0; i < 3; ++i) push(2 - i);
  }

  void push(std::uint64_t index) {
    std::uint64_t seen = head.load(order::relaxed);  // relaxed. A guess.
    do {
      next[index].store(seen & 0xFF, order::relaxed);  // relaxed. The exchange publishes it.
      // acq_rel. release: the node's next. acquire: the nodes below. failure: relaxed. A guess again.
    } while (!head.compare_exchange_strong(
        seen, ((seen & ~0xFFULL) + count_step) | index, order::acq_rel, order::relaxed));
  }

  std::uint64_t pop() {
    std::uint64_t seen = head.load(order::acquire);  // acquire. Pairs with push().
    for (;;) {
      if ((seen & 0xFF) == none) return none;
      const std::uint64_t below =
          next[seen & 0xFF].load(order::relaxed);  // relaxed. The exchange decides if it holds.
      // acq_rel, failure: acquire. Pairs with push().
      if (head.compare_exchange_strong(
              seen, ((seen & ~0xFFULL) + count_step) | below, order::acq_rel, order::acquire)) {
        return seen & 0xFF;
      }
    }
  }
};

testing::report pop_and_push_again(bool counted) {
  return explore({}, [=](execution& e) {
    auto& s = e.make<stack>(counted);
    auto& taken = e.make<std::array<int, 3>>();
    const auto pop = [&s, &taken] {
      const auto index = s.pop();
      if (index != stack::none) ++taken[index];
      return index;
    };
    e.thread("popper", [pop] { pop(); });
    e.thread("recycler", [pop, &s, &taken] {
      const auto first = pop();
      pop();
      if (first == stack::none) return;
      --taken[first];
      s.push(first);
    });
    e.finally([pop, &taken] {
      while (pop() != stack::none) {
      }
      for (const int times : taken) check(times == 1, "each node is out once");
    });
  });
}

TEST(checker_algorithms, a_stack_that_uses_its_nodes_again_has_aba) {
  const auto r = pop_and_push_again(false);
  EXPECT_EQ(r.what, "check failed: each node is out once") << to_string(r);
  EXPECT_EQ(r.preemptions, 1U);
}

TEST(checker_algorithms, a_counted_head_has_no_aba) {
  const auto r = pop_and_push_again(true);
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

// A depth of two: one order of two steps in two threads, among many that do not matter.
TEST(checker_algorithms, random_priorities_find_a_deep_bug_that_a_bound_of_zero_misses) {
  const auto body = [](execution& e) {
    auto& stage = e.make<base::atomic<int>>(0);
    e.thread([&stage] {
      for (int i = 0; i < 10; ++i) {
        // relaxed, all. Only values matter.
        if (stage.load(order::relaxed) == 0) stage.store(0, order::relaxed);
      }
      stage.store(1, order::relaxed);                            // relaxed.
      check(stage.load(order::relaxed) == 1, "nobody between");  // relaxed.
    });
    e.thread([&stage] {
      for (int i = 0; i < 10; ++i) (void)stage.load(order::relaxed);  // relaxed.
      // relaxed, both.
      if (stage.load(order::relaxed) == 1) stage.store(2, order::relaxed);
    });
  };
  EXPECT_FALSE(explore({.preemptions = 0}, body).failed);
  const auto pct = explore({.search = testing::search_kind::pct, .depth = 3, .max_runs = 5'000}, body);
  EXPECT_TRUE(pct.failed) << "in " << pct.runs << " runs";
  const auto random = explore({.search = testing::search_kind::random, .max_runs = 5'000}, body);
  EXPECT_TRUE(random.failed) << "in " << random.runs << " runs";
}

}  // namespace
}  // namespace rota
