// Races between threads, for the sanitizers. The counts are exact in every interleaving.
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "shard_support.hpp"

namespace shard_race_test {
namespace {

using namespace time_test;

/// Polls until told to stop, with a clock that ticks as the test says.
class poller {
 public:
  explicit poller(timers& all) : thread_([this, &all] { run(all); }) {}
  ~poller() {
    stop_ = true;
    thread_.join();
  }
  void tick(nanoseconds by) { clock_ += by.count(); }
  [[nodiscard]] time_point now() const { return start + nanoseconds(clock_); }

 private:
  void run(timers& all) {
    for (unsigned first = 0; !stop_; ++first) {
      static_cast<void>(all.poll(first % all.size(), now(), plenty));
      std::this_thread::yield();
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> clock_{0};
  std::thread thread_;
};

TEST(timer_race, a_timer_is_either_cancelled_or_woken) {
  timers all(1, start);
  poller polling(all);
  unsigned cancelled = 0;
  for (int round = 0; round < 20'000; ++round) {
    listener heard;
    {
      timer_node node;
      arm(all.at(0), node, polling.now() + 1us, heard.waker());
      polling.tick(1us);
      if (round % 2 == 0) std::this_thread::yield();
      if (shard::cancel(node) == cancel_result::cancelled) {
        ++cancelled;
        ASSERT_EQ(heard.woken, 0U);
        ASSERT_EQ(heard.dropped, 1U);
        continue;
      }
    }  // fired: the node may be destroyed before its waker is woken
    while (heard.woken == 0) std::this_thread::yield();
    ASSERT_EQ(heard.dropped, 0U);
  }
  const auto counts = all.counts();
  EXPECT_EQ(counts.armed, 20'000U);
  EXPECT_EQ(counts.cancelled, cancelled);
  EXPECT_EQ(counts.fired, 20'000U - cancelled);
}

TEST(timer_race, a_fired_timer_may_be_destroyed_before_its_waker_is_woken) {
  timers all(1, start);
  poller polling(all);
  std::atomic<unsigned> woken{0};
  for (int round = 0; round < 20'000; ++round) {
    auto node = std::make_unique<timer_node>();
    arm(all.at(0), *node, polling.now() + 1us, rota::callback_waker([&woken]() noexcept {
          woken.fetch_add(1, std::memory_order_relaxed);
        }));
    polling.tick(1us);
    while (node->state() != node_state::fired) std::this_thread::yield();
    node.reset();
  }
  while (woken != 20'000) std::this_thread::yield();
}

TEST(timer_race, two_cancels_and_two_polls_agree_on_one_end) {
  timers all(1, start);
  for (int round = 0; round < 2'000; ++round) {
    timer_node node;
    listener heard;
    std::atomic<int> at_the_line{0};
    std::atomic<unsigned> cancels{0};
    std::atomic<unsigned> fires{0};
    const auto race = [&](auto action) {
      return std::thread([&, action] {
        ++at_the_line;
        while (at_the_line < 4) std::this_thread::yield();
        action();
      });
    };
    const time_point deadline = start + round * 1ms;
    arm(all.at(0), node, deadline, heard.waker());
    const auto cancel = [&] { cancels += shard::cancel(node) == cancel_result::cancelled ? 1 : 0; };
    const auto fire = [&] { fires += all.poll(0, deadline, plenty); };
    std::thread threads[] = {race(cancel), race(cancel), race(fire), race(fire)};
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(cancels + fires, 1U);
    ASSERT_EQ(heard.woken, fires);
    ASSERT_EQ(heard.dropped, cancels);
  }
}

TEST(timer_race, arming_again_on_another_shard_races_cancels_and_polls) {
  timers all(2, start);
  listener heard;
  timer_node node;
  std::atomic<bool> stop{false};
  std::thread canceller([&] {
    while (!stop) {
      static_cast<void>(shard::cancel(node));
      std::this_thread::yield();
    }
  });
  {
    poller polling(all);
    for (unsigned i = 0; i < 20'000; ++i) {
      arm(all.at(i % 2), node, polling.now() + 1us, heard.waker());
      polling.tick(1us);
      if (i % 16 == 0) std::this_thread::yield();
    }
    stop = true;
    canceller.join();
    static_cast<void>(shard::cancel(node));
  }
  const auto counts = all.counts();
  EXPECT_EQ(counts.armed, 20'000U);
  EXPECT_EQ(counts.fired, heard.woken);
  EXPECT_EQ(counts.cancelled, heard.dropped);
  EXPECT_EQ(counts.fired + counts.cancelled, 20'000U);
}

TEST(timer_race, earliest_is_never_later_than_a_timer_that_has_been_armed) {
  timers all(1, start);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    timer_node node;
    std::mt19937_64 random(1);
    while (!stop) {
      arm(all.at(0), node, start + nanoseconds(1 + random() % 5'000'000'000U));
      static_cast<void>(shard::cancel(node));
    }
  });
  timer_node node;
  std::mt19937_64 random(2);
  for (int round = 0; round < 50'000; ++round) {
    const time_point deadline = start + nanoseconds(1 + random() % 5'000'000'000U);
    const arm_result armed = all.at(0).arm(node, deadline, {});
    ASSERT_LE(armed.earliest, deadline);
    ASSERT_LE(all.earliest(), deadline);
    ASSERT_EQ(shard::cancel(node), cancel_result::cancelled);
  }
  stop = true;
  other.join();
  EXPECT_EQ(all.earliest(), never);
}

TEST(timer_race, writes_before_arming_are_visible_to_the_woken_waker) {
  constexpr unsigned rounds = 5'000;
  std::vector<unsigned> written(rounds);  // plain: only arm() and the wake order them
  std::vector<std::atomic<unsigned>> seen(rounds);
  timers all(1, start);
  poller polling(all);
  for (unsigned i = 0; i < rounds; ++i) {
    timer_node node;
    written[i] = i + 1;
    arm(all.at(0),
        node,
        polling.now() + 1us,
        rota::callback_waker(
            [&from = written[i], &to = seen[i]]() noexcept { to.store(from, std::memory_order_relaxed); }));
    polling.tick(1us);
    while (seen[i].load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    ASSERT_EQ(seen[i], i + 1);
    ASSERT_EQ(node.state(), node_state::fired);
  }
}

}  // namespace
}  // namespace shard_race_test
