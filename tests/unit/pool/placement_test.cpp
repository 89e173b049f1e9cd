// Which queue a work enters: each thread has a custom queue that counts the works that it receives.
#include "unit/pool/pool_support.hpp"
#include "unit/pool/user_queues.hpp"

#include <array>
#include <set>

namespace placement_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

/// Counts the works that each queue receives.
class counting_queue : public sorted_deque {
 public:
  counting_queue() : number_(made++) {}
  void set(queued_work work) {
    ++came[number_];
    sorted_deque::set(work);
  }
  static void begin() {
    made = 0;
    for (auto& each : came) each = 0;
  }
  static inline std::atomic<unsigned> made{0};
  static inline std::array<std::atomic<unsigned>, 64> came{};

 private:
  unsigned number_;
};

/// Two threads, two queues. Each thread runs a work that ends only when the test lets it.
class placement_of : public ::testing::Test {
 protected:
  placement_of() {
    counting_queue::begin();
    pool_.emplace(pool_options{.max_threads = 2, .custom = custom_queue::of<counting_queue>()});
    first_.emplace(submit_held(inside_first_));
    second_.emplace(submit_held(inside_second_));
    for (auto& each : counting_queue::came) each = 0;
  }
  ~placement_of() override {
    first_gate_.open();
    second_gate_.open();
    pool_->wait_idle();
  }
  /// Runs `f` on the first thread and waits for its end. Both threads stay busy.
  template <class F>
  void on_the_first(F f) {
    inside_first_.ask(f);
  }
  [[nodiscard]] static std::vector<unsigned> counts() {
    std::vector<unsigned> found{counting_queue::came[0], counting_queue::came[1]};
    std::sort(found.begin(), found.end());
    return found;
  }

  /// Runs the function that the test gives it on a thread of the pool.
  class inside {
   public:
    void serve(const gate& end) {
      thread_ = gettid();
      while (!end.is_open()) {
        if (asked_.load() == nullptr) {
          std::this_thread::yield();
          continue;
        }
        (*asked_.load())();
        asked_ = nullptr;
      }
    }
    void ask(const std::function<void()>& what) {
      asked_ = &what;
      until([this] { return asked_.load() == nullptr; });
    }
    [[nodiscard]] pid_t thread() const { return thread_; }

   private:
    std::atomic<const std::function<void()>*> asked_{nullptr};
    std::atomic<pid_t> thread_{0};
  };
  work<void> submit_held(inside& who) {
    const gate& end = &who == &inside_first_ ? first_gate_ : second_gate_;
    auto w = pool_->submit([&who, &end] { who.serve(end); });
    until([&] { return who.thread() != 0; });
    return w;
  }

  gate first_gate_, second_gate_;
  inside inside_first_, inside_second_;
  std::optional<thread_pool> pool_;
  std::optional<work<void>> first_, second_;
};

TEST_F(placement_of, local_is_the_submitting_threads_own_queue) {
  std::set<pid_t> ran_on;
  std::vector<work<void>> all;
  const std::uint64_t stolen = pool_->stats().stolen;
  on_the_first([&] {
    for (int i = 0; i < 10; ++i)
      all.push_back(pool_->submit([&] { ran_on.insert(gettid()); }, {.where = placement::local}));
  });
  EXPECT_EQ(counts(), (std::vector{0U, 10U}));
  first_gate_.open();  // and the other thread stays busy
  for (const auto& each : all) each.wait();
  EXPECT_EQ(ran_on, std::set{inside_first_.thread()});
  EXPECT_EQ(pool_->stats().stolen, stolen);
}

TEST_F(placement_of, idle_then_local_is_the_own_queue_if_no_thread_is_idle) {
  on_the_first([&] {
    for (int i = 0; i < 10; ++i) pool_->submit([] {}, {.where = placement::idle_then_local});
  });
  EXPECT_EQ(counts(), (std::vector{0U, 10U}));
}

TEST_F(placement_of, idle_then_least_loaded_is_the_shorter_queue_if_no_thread_is_idle) {
  on_the_first([&] {
    for (int i = 0; i < 10; ++i) pool_->submit([] {}, {.where = placement::local});
    for (int i = 0; i < 30; ++i) pool_->submit([] {});
  });
  EXPECT_EQ(counts(), (std::vector{20U, 20U}));
}

TEST_F(placement_of, a_thread_outside_the_pool_is_the_shorter_queue) {
  for (const placement where :
       {placement::idle_then_least_loaded, placement::idle_then_local, placement::local}) {
    for (int i = 0; i < 10; ++i) pool_->submit([] {}, {.where = where});
  }
  EXPECT_EQ(counts(), (std::vector{15U, 15U}));
}

TEST_F(placement_of, a_thread_of_another_pool_is_the_shorter_queue) {
  thread_pool other({.max_threads = 1});
  other
      .submit([&] {
        for (int i = 0; i < 10; ++i) pool_->submit([] {}, {.where = placement::local});
      })
      .wait();
  EXPECT_EQ(counts(), (std::vector{5U, 5U}));
}

// The submitting thread never takes the work, and yet the work ends.
TEST(placement_below_max_threads, uses_an_idle_thread_or_starts_a_new_one) {
  for (const placement where :
       {placement::idle_then_least_loaded, placement::idle_then_local, placement::local}) {
    thread_pool p({.max_threads = 2});
    std::set<pid_t> ran_on;
    p.submit([&] {
       for (int i = 0; i < 2; ++i) {  // the first finds no thread, and the second an idle one
         const auto w = p.submit([&] { ran_on.insert(gettid()); }, {.where = where});
         until(w, work_status::succeeded);
       }
       EXPECT_FALSE(ran_on.contains(gettid()));
     }).wait();
    EXPECT_EQ(ran_on.size(), 1U);
    EXPECT_EQ(p.stats().threads_started, 2U);
  }
}

TEST(placement_of_all, is_one_queue_with_global_priorities) {
  counting_queue::begin();
  thread_pool p(
      {.max_threads = 4, .custom = custom_queue::of<counting_queue>(), .priorities = priority_scope::global});
  EXPECT_EQ(counting_queue::made, 1U);
}

TEST(placement_of_a_thief, takes_half_of_another_queue_or_one) {
  for (const auto& [how, taken] : {std::pair{steal_amount::half, 4U}, std::pair{steal_amount::one, 1U}}) {
    thread_pool p({.max_threads = 2, .steal = how});
    gate end;
    std::optional<blocker> thief(std::in_place, p);
    gate filled;
    auto owner = p.submit([&] {
      for (int i = 0; i < 8; ++i) p.submit([&] { end.pass(); }, {.where = placement::local});
      filled.open();
      end.pass();
    });
    filled.pass();
    const std::uint64_t stolen = p.stats().stolen;
    thief->let_go();
    until([&] { return p.stats().attempts == 3; });  // the two, and the first that was stolen
    EXPECT_EQ(p.stats().stolen - stolen, taken);
    end.open();
    owner.wait();
    thief.reset();
    expect_idle(p);
  }
}

/// Counts over all queues the works received, the works stolen, and each steal that follows a put.
class observed_queue : public sorted_deque {
 public:
  void set(queued_work work) {
    ++puts;
    sorted_deque::set(work);
  }
  std::optional<queued_work> steal() {
    std::optional<queued_work> out = sorted_deque::steal();
    if (out.has_value()) ++steals;
    if (out.has_value() && puts != 0) ++steals_after_a_put;
    return out;
  }
  static void begin() { puts = steals = steals_after_a_put = 0; }
  static inline std::atomic<unsigned> puts{0};
  static inline std::atomic<unsigned> steals{0};
  static inline std::atomic<unsigned> steals_after_a_put{0};
};

// One critical section of each lock: all jobs leave the victim's queue before the first enters the thief's.
TEST(placement_of_a_thief, moves_a_bounded_batch_in_one_critical_section_of_each_queue) {
  for (const auto& [jobs, taken] : {std::pair{8, 4U}, std::pair{200, 64U}}) {
    thread_pool p({.max_threads = 2, .custom = custom_queue::of<observed_queue>()});
    gate end;
    std::optional<blocker> thief(std::in_place, p);
    gate filled;
    auto owner = p.submit([&, how_many = jobs] {
      for (int i = 0; i < how_many; ++i) p.submit([&] { end.pass(); }, {.where = placement::local});
      filled.open();
      end.pass();
    });
    filled.pass();
    observed_queue::begin();
    thief->let_go();
    until([&] { return p.stats().attempts == 3; });  // the two, and the first that was stolen
    EXPECT_EQ(observed_queue::steals, taken);
    EXPECT_EQ(observed_queue::puts, taken - 1);
    EXPECT_EQ(observed_queue::steals_after_a_put, 0U);
    end.open();
    owner.wait();
    thief.reset();
    expect_idle(p);
  }
}

// The thief steals the newest half, and then half of the rest, until none is left.
TEST(placement_of_a_thief, runs_what_it_has_stolen_from_a_lifo_newest_first) {
  thread_pool p({.max_threads = 2, .queue = queue_order::lifo});
  gate end;
  gate filled;
  std::optional<blocker> thief(std::in_place, p);
  std::vector<int> ran;  // by the thief
  auto owner = p.submit([&] {
    for (int i = 1; i <= 10; ++i) p.submit([&, i] { ran.push_back(i); }, {.where = placement::local});
    filled.open();
    end.pass();
  });
  filled.pass();
  thief->let_go();
  until([&] { return p.stats().succeeded == 11; });  // the thief's first, and the ten
  end.open();
  owner.wait();
  thief.reset();
  expect_idle(p);
  EXPECT_EQ(ran, (std::vector{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace placement_test
