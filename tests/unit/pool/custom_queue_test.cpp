#include "pool/custom_work_queue.hpp"

#include "base/random.hpp"

#include "queue_support.hpp"
#include "user_queues.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace rota::pool::detail::custom_queue_test {
namespace {

using ids = std::vector<std::uint64_t>;

static_assert(std::is_trivially_copyable_v<queued_work>);
static_assert(std::is_trivially_copyable_v<custom_queue>);
static_assert(queue_of_works<sorted_deque> && queue_of_works<heap_queue> && queue_of_works<map_queue>);
static_assert(!queue_of_works<std::vector<queued_work>>);
static_assert(!custom_queue(), "none is chosen by default");

/// Which calls of moody_queue throw or return nothing. One queue at a time is under test.
struct moods {
  bool set_throws = false;
  bool set_throws_late = false;
  bool get_throws = false;
  bool steal_throws = false;
  bool discard_throws = false;
  bool size_throws = false;
  bool gives_nothing = false;
  bool steal_gives_nothing = false;
};
moods mood;

struct moody_queue : sorted_deque {
  static void may_throw(bool it_does) {
    if (it_does) throw std::runtime_error("in a bad mood");
  }
  void set(queued_work work) {
    may_throw(mood.set_throws);
    sorted_deque::set(work);
    may_throw(mood.set_throws_late);
  }
  maybe_work get() {
    may_throw(mood.get_throws);
    if (mood.gives_nothing) return std::nullopt;
    return sorted_deque::get();
  }
  maybe_work steal() {
    may_throw(mood.steal_throws);
    if (mood.steal_gives_nothing) return std::nullopt;
    return sorted_deque::steal();
  }
  maybe_work discard() {
    may_throw(mood.discard_throws);
    return sorted_deque::discard();
  }
  [[nodiscard]] std::size_t size() const {
    may_throw(mood.size_throws);
    return sorted_deque::size();
  }
};

class custom_queue_test : public ::testing::Test {
 protected:
  custom_queue_test() { mood = {}; }

  items made_;
  custom_work_queue queue_{custom_queue::of<moody_queue>()};
};

TEST_F(custom_queue_test, items_come_out_in_the_order_of_the_custom_queue) {
  for (const int priority : {1, 3, 2}) queue_.set(made_.make(priority));
  EXPECT_EQ(queue_.size(), 3U);
  EXPECT_EQ(queue_.steal({}), &made_[2]);
  EXPECT_EQ(made_[2].in, nullptr);
  EXPECT_EQ(queue_.discard(), &made_[1]);
  EXPECT_EQ(queue_.get({}), &made_[3]);
  EXPECT_EQ(queue_.get({}), nullptr);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(custom_queue_test, each_worker_has_a_queue_of_its_own) {
  custom_work_queue other(custom_queue::of<moody_queue>());
  queue_.set(made_.make(0));
  EXPECT_EQ(other.get({}), nullptr);
  EXPECT_EQ(drain(queue_, way::get), (ids{1}));
}

TEST_F(custom_queue_test, a_set_that_throws_loses_nothing) {
  queue_.set(made_.make(5));
  mood.set_throws = true;
  for (const int priority : {1, 2, 2}) queue_.set(made_.make(priority));
  mood.set_throws = false;
  queue_.set(made_.make(9));
  EXPECT_EQ(queue_.size(), 5U);
  EXPECT_EQ(queue_.taken_over(), 3U);
  EXPECT_EQ(drain(queue_, way::get), (ids{3, 4, 2, 5, 1})) << "what the queue refused comes first";
}

TEST_F(custom_queue_test, what_the_queue_refused_can_be_stolen_discarded_and_removed) {
  mood.set_throws = true;
  for (int i = 0; i < 3; ++i) queue_.set(made_.make(0));
  queue_.remove(made_[2]);
  EXPECT_EQ(made_[2].in, nullptr);
  EXPECT_EQ(queue_.steal({}), &made_[1]);
  EXPECT_EQ(queue_.discard(), &made_[3]);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(custom_queue_test, a_set_that_throws_after_it_stored_the_job_keeps_it_once) {
  mood.set_throws_late = true;
  for (const int priority : {1, 2}) queue_.set(made_.make(priority));
  EXPECT_EQ(queue_.taken_over(), 0U);
  EXPECT_EQ(drain(queue_, way::get), (ids{2, 1}));
}

TEST_F(custom_queue_test, nothing_is_lost_if_the_size_throws_too) {
  mood.set_throws = mood.size_throws = true;
  for (const int priority : {1, 2}) queue_.set(made_.make(priority));
  mood.set_throws = false;
  queue_.set(made_.make(3));
  EXPECT_EQ(queue_.size(), 3U);
  EXPECT_EQ(queue_.taken_over(), 2U);
  EXPECT_EQ(drain(queue_, way::get), (ids{2, 1, 3}));
}

TEST_F(custom_queue_test, a_get_that_throws_loses_nothing) {
  for (const int priority : {1, 3, 2}) queue_.set(made_.make(priority));
  mood.get_throws = true;
  EXPECT_EQ(queue_.get({}), &made_[2]);
  mood.get_throws = false;
  EXPECT_EQ(queue_.size(), 2U);
  queue_.set(made_.make(9));
  EXPECT_EQ(drain(queue_, way::get), (ids{3, 1, 4})) << "the three names that come out late are passed over";
}

TEST_F(custom_queue_test, a_get_that_gives_nothing_loses_nothing) {
  for (const int priority : {1, 3, 2}) queue_.set(made_.make(priority));
  mood.gives_nothing = true;
  EXPECT_EQ(drain(queue_, way::get), (ids{2, 3, 1}));
  EXPECT_EQ(queue_.taken_over(), 3U);
}

TEST_F(custom_queue_test, a_steal_that_throws_or_gives_nothing_loses_nothing) {
  for (const bool throws : {false, true}) {
    const std::uint64_t before = queue_.taken_over();
    mood.steal_throws = throws;
    mood.steal_gives_nothing = !throws;
    std::vector<queue_item*> in;
    for (const int priority : {1, 3, 2}) {
      in.push_back(&made_.make(priority));
      queue_.set(*in.back());
    }
    EXPECT_EQ(queue_.steal({}), in[1]);
    EXPECT_EQ(queue_.steal({}), in[2]);
    EXPECT_EQ(queue_.taken_over(), before + 3);
    EXPECT_EQ(queue_.get({}), in[0]) << "what is left is its worker's, too";
    EXPECT_EQ(queue_.steal({}), nullptr);
    EXPECT_EQ(queue_.size(), 0U);
  }
}

TEST_F(custom_queue_test, a_discard_that_throws_gives_nothing_this_time) {
  queue_.set(made_.make(1));
  mood.discard_throws = true;
  EXPECT_EQ(queue_.discard(), nullptr);
  EXPECT_EQ(queue_.size(), 1U);
  mood = {};
  EXPECT_EQ(queue_.discard(), &made_[1]);
}

TEST_F(custom_queue_test, a_refused_job_leaves_no_name_behind) {
  mood.set_throws = true;
  for (int i = 0; i < 10; ++i) queue_.set(made_.make(0));
  EXPECT_EQ(queue_.names(), 0U);
  EXPECT_EQ(drain(queue_, way::get).size(), 10U);
}

TEST_F(custom_queue_test, a_removed_item_is_skipped) {
  for (int i = 0; i < 4; ++i) queue_.set(made_.make(0));
  queue_.remove(made_[1]);
  queue_.remove(made_[3]);
  EXPECT_EQ(queue_.size(), 2U);
  EXPECT_EQ(queue_.get({}), &made_[2]);
  queue_.set(made_[1]);  // inserted again: no trace of its first insertion is left
  EXPECT_EQ(drain(queue_, way::get), (ids{4, 1}));
}

TEST_F(custom_queue_test, a_removed_item_may_be_inserted_again_before_it_is_skipped) {
  for (int i = 0; i < 3; ++i) queue_.set(made_.make(0));
  queue_.remove(made_[2]);
  queue_.set(made_[2]);
  EXPECT_EQ(drain(queue_, way::get), (ids{1, 3, 2}));
}

/// Loses one work in ten; its size() shows the loss.
struct loses_some : sorted_deque {
  void set(queued_work work) {
    if (work.id % 10 != 0) sorted_deque::set(work);
  }
};

TEST(custom_queue, jobs_that_the_queue_has_lost_are_recovered) {
  items made;
  custom_work_queue queue(custom_queue::of<loses_some>());
  for (int round = 0; round < 3; ++round) {
    std::set<std::uint64_t> in;
    for (int i = 0; i < 100; ++i) {
      queue_item& item = made.make(i % 3);
      in.insert(item.id);
      queue.set(item);
    }
    while (queue_item* const item = queue.get({})) EXPECT_EQ(in.erase(item->id), 1U);
    EXPECT_TRUE(in.empty());
    EXPECT_EQ(queue.names(), 0U) << "names that never come out take no room for ever";
    EXPECT_EQ(queue.taken_over(), 10U * static_cast<unsigned>(round + 1));
  }
}

TEST(custom_queue, an_exception_of_the_constructor_is_rethrown) {
  struct refuses : sorted_deque {
    refuses() { throw std::runtime_error("no"); }
  };
  EXPECT_THROW(custom_work_queue(custom_queue::of<refuses>()), std::runtime_error);
}

TEST(custom_queue, a_queue_may_be_made_by_a_function_and_need_not_move) {
  struct pinned : sorted_deque {
    explicit pinned(int) {}
    pinned(const pinned&) = delete;
  };
  items made;
  const custom_queue kind = custom_queue::of<pinned>([] { return pinned(1); });
  custom_work_queue queue(kind);
  queue.set(made.make(1));
  EXPECT_EQ(drain(queue, way::get), (ids{1}));
}

/// Random calls while the user's queue fails now and then: each item is in once and comes out once.
TEST(custom_queue, random_failures_lose_nothing) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    base::random chance(seed);
    items made;
    std::set<queue_item*> in;
    custom_work_queue queue(custom_queue::of<moody_queue>());
    for (int step = 0; step < 20'000; ++step) {
      const std::uint32_t bad = chance.below(100);
      mood = {.set_throws = bad == 0,
              .set_throws_late = bad == 1,
              .get_throws = bad == 2,
              .steal_throws = bad == 3,
              .discard_throws = bad == 4,
              .size_throws = chance.below(2) == 0,
              .gives_nothing = bad == 5,
              .steal_gives_nothing = bad == 6};
      const std::uint32_t dice = chance.below(10);
      if (dice < 5) {
        queue_item& item = made.make(static_cast<int>(chance.below(5)));
        queue.set(item);
        in.insert(&item);
      } else if (dice == 5 && !in.empty()) {
        queue_item& item = **in.begin();
        queue.remove(item);
        in.erase(&item);
      } else {
        constexpr std::array ways{way::get, way::steal, way::discard};
        const way by = ways[chance.below(3)];
        queue_item* const item = take(queue, by);
        ASSERT_EQ(in.erase(item), item == nullptr ? 0U : 1U);
        ASSERT_TRUE(item != nullptr || by == way::discard || in.empty());
      }
      ASSERT_EQ(queue.size(), in.size());
    }
    mood = {};
    EXPECT_EQ(drain(queue, way::get).size(), in.size());
  }
}

// --- faults that cannot be repaired end the program

struct gives_the_first_again : sorted_deque {
  maybe_work get() {
    if (!first.has_value()) first = sorted_deque::get();
    return first;
  }
  maybe_work first;
};
struct invents_a_work : sorted_deque {
  maybe_work get() { return queued_work(77, 0); }
};

template <class Q>
void get_two() {
  items made;
  custom_work_queue queue(custom_queue::of<Q>());
  for (int i = 0; i < 2; ++i) queue.set(made.make(0));
  static_cast<void>(queue.get({}));
  static_cast<void>(queue.get({}));
}

TEST(custom_queue_death, a_queue_that_returns_a_job_twice_ends_the_program) {
  EXPECT_DEATH(get_two<gives_the_first_again>(),
               "a custom queue gave out a work that is not in it, or gave it out twice");
}

TEST(custom_queue_death, a_queue_that_returns_a_job_of_a_reused_slot_ends_the_program) {
  EXPECT_DEATH(
      {
        items made;
        custom_work_queue queue(custom_queue::of<gives_the_first_again>());
        queue.set(made.make(0));
        static_cast<void>(queue.get({}));
        queue.set(made.make(0));
        static_cast<void>(queue.get({}));
      },
      "a custom queue gave out a work that is not in it, or gave it out twice");
}

TEST(custom_queue_death, a_queue_that_invents_a_job_ends_the_program) {
  EXPECT_DEATH(get_two<invents_a_work>(), "a custom queue gave out a work that was never put in");
}

}  // namespace
}  // namespace rota::pool::detail::custom_queue_test
