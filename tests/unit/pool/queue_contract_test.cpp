#include <rota/testing/queue_contract.hpp>

#include "user_queues.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rota::pool::queue_contract_test {
namespace {

using testing::check_queue;

template <class Q>
std::string faults_of(const testing::queue_contract& how = {}) {
  return to_string(check_queue<Q>(how));
}

/// Expects exactly these faults. Each text is the beginning of a message.
template <class Q>
void expect_faults(const std::vector<std::string>& wanted) {
  const std::vector<std::string> found = check_queue<Q>().faults;
  ASSERT_EQ(found.size(), wanted.size()) << to_string(check_queue<Q>());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(found[i].starts_with(wanted[i])) << found[i];
}

TEST(queue_contract, good_queues_pass) {
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(faults_of<sorted_deque>({.seed = seed}), "");
    EXPECT_EQ(faults_of<heap_queue>({.seed = seed}), "");
    EXPECT_EQ(faults_of<map_queue>({.seed = seed}), "");
  }
}

TEST(queue_contract, a_queue_may_be_made_by_a_function) {
  struct sized : sorted_deque {
    explicit sized(int) {}
  };
  const auto kind = custom_queue::of<sized>([] { return sized(3); });
  EXPECT_EQ(to_string(check_queue(kind)), "");
}

TEST(queue_contract, the_same_seed_reports_the_same_faults) {
  struct forgetful : map_queue {
    maybe_work get() {
      return ++gets % 50 == 0 ? (static_cast<void>(map_queue::get()), map_queue::get()) : map_queue::get();
    }
    int gets = 0;
  };
  EXPECT_EQ(faults_of<forgetful>({.seed = 5}), faults_of<forgetful>({.seed = 5}));
}

// --- queues with planted faults, each named after its fault

struct loses_the_hundredth : sorted_deque {
  void set(queued_work work) {
    if (++count % 100 != 0) sorted_deque::set(work);
  }
  int count = 0;
};
TEST(queue_contract_detects_that, a_work_is_lost) {
  const std::string said = faults_of<loses_the_hundredth>();
  EXPECT_NE(said.find("size() is wrong: 99 where 100 are in; works of one priority, call "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("get() gave nothing although works were in: 1 were in"), std::string::npos) << said;
  EXPECT_NE(said.find("a work was lost: work 100 of priority 3"), std::string::npos) << said;
}

/// Loses a work although its counts stay consistent.
struct loses_and_lies : loses_the_hundredth {
  void set(queued_work work) {
    loses_the_hundredth::set(work);
    ++in;
  }
  maybe_work get() { return counted(loses_the_hundredth::get()); }
  maybe_work steal() { return counted(loses_the_hundredth::steal()); }
  maybe_work discard() { return counted(loses_the_hundredth::discard()); }
  [[nodiscard]] std::size_t size() const { return in; }
  maybe_work counted(maybe_work work) {
    if (work.has_value()) --in;
    return work;
  }
  std::size_t in = 0;
};
TEST(queue_contract_detects_that, a_work_is_lost_although_the_size_is_right) {
  const std::string said = faults_of<loses_and_lies>();
  EXPECT_NE(said.find("a work was lost: work 100 of priority 3; works of one priority"), std::string::npos)
      << said;
}

struct gives_twice : map_queue {
  maybe_work steal() {
    const maybe_work work = map_queue::steal();
    if (work.has_value() && work->id == 7 && !again) {
      again = true;
      map_queue::set(*work);
    }
    return work;
  }
  bool again = false;
};
TEST(queue_contract_detects_that, a_work_comes_twice) {
  const std::string said = faults_of<gives_twice>();
  EXPECT_NE(said.find("steal() gave a work that was out already: work 7 of priority"), std::string::npos)
      << said;
}

struct gives_its_last_when_empty : map_queue {
  maybe_work get() {
    const maybe_work work = map_queue::get();
    if (work.has_value()) last = work;
    return last;
  }
  maybe_work last;
};
TEST(queue_contract_detects_that, an_empty_queue_gives_something) {
  expect_faults<gives_its_last_when_empty>({"get() gave a work that was out already: work 1"});
}

struct invents : sorted_deque {
  maybe_work get() { return size() == 0 ? queued_work(0, 0) : sorted_deque::get(); }
};
TEST(queue_contract_detects_that, a_work_is_invented) {
  expect_faults<invents>({"get() gave a work that was never put in: work 0"});
}

struct ignores_priorities {
  void set(queued_work work) { works.push_back(work); }
  maybe_work get() {
    if (works.empty()) return std::nullopt;
    const queued_work work = works.front();
    works.pop_front();
    return work;
  }
  maybe_work steal() { return get(); }
  maybe_work discard() { return get(); }
  [[nodiscard]] std::size_t size() const { return works.size(); }
  std::deque<queued_work> works;
};
TEST(queue_contract_detects_that, priorities_are_ignored) {
  expect_faults<ignores_priorities>({"get() did not take from the highest priority: work 1 of priority -100",
                                     "steal() did not take from the highest priority",
                                     "discard() did not take from the lowest priority"});
  EXPECT_EQ(faults_of<ignores_priorities>({.by_priority = false}), "") << "it may be meant";
}

struct discards_the_best : sorted_deque {
  maybe_work discard() { return get(); }
};
TEST(queue_contract_detects_that, discard_takes_the_highest_priority) {
  expect_faults<discards_the_best>({"discard() did not take from the lowest priority"});
}

struct thieves_get_the_lowest : sorted_deque {
  maybe_work steal() { return discard(); }
};
TEST(queue_contract_detects_that, a_thief_gets_the_lowest) {
  expect_faults<thieves_get_the_lowest>({"steal() did not take from the highest priority"});
}

/// Compares by subtraction, a frequent mistake: right only for small numbers.
struct subtracts : sorted_deque {
  void set(queued_work work) {
    const auto difference = [](int a, int b) {
      return static_cast<int>(static_cast<unsigned>(a) - static_cast<unsigned>(b));
    };
    auto place = works.begin();
    while (place != works.end() && difference(place->priority, work.priority) >= 0) ++place;
    works.insert(place, work);
  }
  maybe_work get() { return take(true); }
  maybe_work steal() { return take(true); }
  maybe_work discard() { return take(false); }
  [[nodiscard]] std::size_t size() const { return works.size(); }
  maybe_work take(bool first) {
    if (works.empty()) return std::nullopt;
    const queued_work work = first ? works.front() : works.back();
    first ? works.pop_front() : works.pop_back();
    return work;
  }
  std::deque<queued_work> works;
};
TEST(queue_contract_detects_that, priorities_are_compared_by_subtraction) {
  const std::string said = faults_of<subtracts>();
  EXPECT_NE(said.find("get() did not take from the highest priority"), std::string::npos) << said;
  EXPECT_NE(said.find("; priorities far apart, call "), std::string::npos) << said;
}

struct counts_sets : map_queue {
  void set(queued_work work) {
    ++sets;
    map_queue::set(work);
  }
  [[nodiscard]] std::size_t size() const { return sets; }
  std::size_t sets = 0;
};
TEST(queue_contract_detects_that, the_size_only_grows) {
  expect_faults<counts_sets>({"size() is wrong: 1 where 0 are in"});
}

struct shares_its_works : sorted_deque {
  static inline sorted_deque works;
  void set(queued_work work) { works.set(work); }
  maybe_work get() { return works.get(); }
  maybe_work steal() { return works.steal(); }
  maybe_work discard() { return works.discard(); }
  [[nodiscard]] std::size_t size() const { return works.size(); }
};
TEST(queue_contract_detects_that, two_queues_share_their_jobs) {
  const std::string said = faults_of<shares_its_works>();
  EXPECT_NE(said.find("; one of two queues, call "), std::string::npos) << said;
}

struct is_used_up : map_queue {
  void set(queued_work work) {
    if (!over) map_queue::set(work);
  }
  maybe_work get() {
    const maybe_work work = map_queue::get();
    over = !work.has_value() && ever;
    ever = true;
    return work;
  }
  bool over = false;
  bool ever = false;
};
TEST(queue_contract_detects_that, a_queue_cannot_be_filled_again) {
  const std::string said = faults_of<is_used_up>();
  EXPECT_NE(said.find("; filled again, call "), std::string::npos) << said;
}

struct makes_works_anew : map_queue {
  maybe_work get() {
    const maybe_work work = map_queue::get();
    if (!work.has_value()) return work;
    return queued_work(work->id, work->priority);
  }
};
TEST(queue_contract_detects_that, a_work_is_not_a_copy_of_the_inserted_one) {
  expect_faults<makes_works_anew>({"get() gave a work that is no copy of the one that was put in: work 1"});
}

struct clamps : map_queue {
  void set(queued_work work) {
    work.priority = std::clamp(work.priority, -1000, 1000);
    map_queue::set(work);
  }
};
TEST(queue_contract_detects_that, priorities_are_changed) {
  const std::string said = faults_of<clamps>();
  EXPECT_NE(
      said.find("get() gave a work with another priority: work 1 of priority 1000 had 2147483647; one work"),
      std::string::npos)
      << said;
}

struct refuses_thieves : map_queue {
  maybe_work steal() { return std::nullopt; }
};
TEST(queue_contract_detects_that, thieves_get_nothing) {
  const std::string said = faults_of<refuses_thieves>();
  EXPECT_TRUE(said.starts_with("steal() gave nothing although works were in: 1 were in; one work, call "))
      << said;
}

struct throws_when_large : map_queue {
  void set(queued_work work) {
    if (size() >= 100) throw std::length_error("too many");
    map_queue::set(work);
  }
};
TEST(queue_contract_detects_that, a_call_throws) {
  expect_faults<throws_when_large>({"set() threw: too many; rising priorities, call "});
}

}  // namespace
}  // namespace rota::pool::queue_contract_test
