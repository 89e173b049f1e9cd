#include <rota/gate/signal_gate.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rota::gate::signal_test {
namespace {

using namespace std::chrono_literals;

class a_gate : public ::testing::Test {
 protected:
  signal_waker waker;
  signal_word word{5};
  signal_gate gate{10, word, waker};
};
using a_gate_death_test = a_gate;

// The example of the page that gates come from, which uses names of its own.
TEST_F(a_gate, is_scheduled_taken_and_finished_as_in_the_example) {
  std::deque<int> queue{1, 2};
  EXPECT_TRUE(gate.schedule());
  queue.push_back(3);
  EXPECT_FALSE(gate.schedule()) << "it is runnable already";

  const unsigned ready = waker.wait();
  ASSERT_EQ(ready, word.index());
  EXPECT_EQ(word.take(), std::uint64_t{1} << 10U);
  gate.begin();
  queue.clear();
  EXPECT_FALSE(gate.finish());
  EXPECT_TRUE(gate.is_idle());
}

TEST_F(a_gate, finish_publishes_it_again_when_it_was_scheduled_meanwhile) {
  gate.schedule();
  static_cast<void>(waker.wait());
  static_cast<void>(word.take());
  gate.begin();
  EXPECT_FALSE(gate.schedule()) << "whoever executes it will see to that";
  EXPECT_FALSE(waker.has_marks());
  EXPECT_TRUE(gate.finish());
  EXPECT_EQ(waker.try_take(), std::optional(5U)) << "the bit alone would be seen by nobody";
  EXPECT_TRUE(word.acquire(10));
  gate.begin();
  EXPECT_FALSE(gate.finish());
}

TEST_F(a_gate, finish_or_continue_continues_when_it_was_scheduled_meanwhile) {
  gate.schedule();
  EXPECT_TRUE(word.acquire(10));
  gate.begin();
  gate.schedule();
  EXPECT_TRUE(gate.finish_or_continue());
  EXPECT_TRUE(word.is_empty()) << "no traffic in the bitmap";
  EXPECT_FALSE(gate.finish_or_continue());
  EXPECT_TRUE(gate.is_idle());
}

TEST_F(a_gate, finish_and_schedule_publishes_it_again_once) {
  gate.schedule();
  EXPECT_TRUE(word.acquire(10));
  gate.begin();
  gate.schedule();
  gate.finish_and_schedule();
  EXPECT_TRUE(word.acquire(10));
  EXPECT_FALSE(word.acquire(10)) << "once";
  gate.begin();
  EXPECT_FALSE(gate.finish());
}

TEST_F(a_gate, scheduled_between_take_and_begin_runs_once) {
  gate.schedule();
  EXPECT_TRUE(word.acquire(10));
  EXPECT_FALSE(gate.schedule());
  gate.begin();
  EXPECT_FALSE(gate.finish()) << "begin came after it, so this round sees the item";
}

TEST_F(a_gate, scheduled_between_the_waker_and_the_word_is_not_missed) {
  signal_gate other(11, word, waker);
  gate.schedule();
  EXPECT_EQ(waker.try_take(), std::optional(5U));
  other.schedule();  // the word was not empty, so the waker is not notified
  EXPECT_FALSE(waker.has_marks());
  EXPECT_EQ(std::popcount(word.take()), 2);
}

TEST_F(a_gate_death_test, misuse_ends_the_program_with_the_gate_s_number) {
  EXPECT_DEATH(gate.begin(), R"(begin of a gate that is not scheduled: number \(value 0x14a\))");
  EXPECT_DEATH(gate.finish(), R"(finish of a gate that was not begun: number \(value 0x14a\))");
  EXPECT_DEATH(static_cast<void>(gate.finish_or_continue()),
               R"(finish of a gate that was not begun: number \(value 0x14a\))");
  EXPECT_DEATH(gate.finish_and_schedule(), R"(finish of a gate that was not begun: number \(value 0x14a\))");
  gate.schedule();
  EXPECT_DEATH(gate.finish(), R"(finish of a gate that was not begun: number \(value 0x14a\))");
  gate.begin();
  EXPECT_DEATH(gate.begin(), R"(a gate is executed twice at a time: number \(value 0x14a\))");
  gate.finish();
  EXPECT_DEATH(gate.finish(), R"(finish of a gate that was not begun: number \(value 0x14a\))");
}

TEST_F(a_gate_death_test, numbers_out_of_range_end_the_program) {
  EXPECT_DEATH(signal_word(63), R"(0 to 62 \(value 0x3f\))");
  EXPECT_DEATH(signal_gate(64, word, waker), R"(0 to 63 \(value 0x40\))");
  EXPECT_DEATH(waker.mark_active(63), R"(0 to 62 \(value 0x3f\))");
  EXPECT_DEATH(static_cast<void>(word.set(64)), R"(0 to 63 \(value 0x40\))");
}

TEST(a_word, counts_its_bits) {
  signal_word word(62);
  EXPECT_TRUE(word.set(0));
  EXPECT_FALSE(word.set(63));
  EXPECT_FALSE(word.set(0));
  EXPECT_EQ(word.size(), 2U);
  EXPECT_TRUE(word.is_set(63));
  EXPECT_TRUE(word.acquire(63));
  EXPECT_FALSE(word.is_set(63));
  EXPECT_EQ(word.take(), 1U);
  EXPECT_TRUE(word.is_empty());
}

TEST(a_waker, takes_its_words_in_turns) {
  signal_waker waker;
  for (const unsigned w : {0U, 3U, 62U}) waker.mark_active(w);
  std::vector<unsigned> taken;
  for (int i = 0; i < 7; ++i) {
    const unsigned w = waker.wait();
    taken.push_back(w);
    if (i < 4) waker.mark_active(w);  // one that always has more work
  }
  EXPECT_EQ(taken, (std::vector<unsigned>{0, 3, 62, 0, 3, 62, 0}));
  EXPECT_FALSE(waker.try_take().has_value());
}

TEST(a_waker, gives_up_at_its_deadline) {
  signal_waker waker;
  EXPECT_FALSE(waker.wait_until(std::chrono::steady_clock::now() + 1ms).has_value());
  waker.mark_active(40);
  EXPECT_EQ(waker.wait_until(std::chrono::steady_clock::time_point::min()), std::optional(40U))
      << "what is there is taken, however late";
  EXPECT_FALSE(waker.wait_until(std::chrono::steady_clock::time_point::min()).has_value());
}

// Each producer waits until its item is handled, so the consumer sleeps again and again, without a deadline.
TEST(a_waker, wakes_its_consumer_each_time) {
  constexpr unsigned rounds = 2'000;
  signal_waker waker;
  signal_word low(0);
  signal_word high(40);
  struct lane {
    lane(unsigned bit, signal_word& word, signal_waker& waker) : gate(bit, word, waker) {}
    signal_gate gate;
    std::atomic<unsigned> pushed{0};
    std::atomic<unsigned> done{0};
  };
  std::deque<lane> lanes;
  for (unsigned i = 0; i < 4; ++i) lanes.emplace_back(i, i % 2 == 0 ? low : high, waker);
  std::vector<std::jthread> producers;
  for (lane& mine : lanes) {
    producers.emplace_back([&mine] {
      for (unsigned i = 1; i <= rounds; ++i) {
        mine.pushed.store(i, std::memory_order_release);
        mine.gate.schedule();
        mine.done.wait(i - 1);
      }
    });
  }
  for (unsigned eaten = 0; eaten < lanes.size() * rounds;) {
    signal_word& word = waker.wait() == 0 ? low : high;
    for (std::uint64_t bits = word.take(); bits != 0; bits &= bits - 1) {
      lane& ready = lanes[static_cast<std::size_t>(std::countr_zero(bits))];
      ready.gate.begin();
      const unsigned there = ready.pushed.load(std::memory_order_acquire);
      const unsigned before = ready.done.load(std::memory_order_relaxed);
      ASSERT_LE(there - before, 1U);
      eaten += there - before;
      ready.done.store(there, std::memory_order_release);
      ready.done.notify_all();
      ready.gate.finish();
    }
  }
  producers.clear();
  for (const lane& each : lanes) EXPECT_TRUE(each.gate.is_idle());
}

// All producers push to all gates, each under a lock: items are taken in order, by one consumer at a time.
TEST(gates, keep_items_in_order_with_many_producers) {
  constexpr unsigned gates = 200;
  constexpr int items = 5'000;
  constexpr int senders = 3;
  signal_waker waker;
  std::deque<signal_word> words;
  for (unsigned i = 0; i <= (gates - 1) / 64; ++i) words.emplace_back(i);
  struct queue {
    queue(unsigned g, std::deque<signal_word>& all, signal_waker& waker) : gate(g % 64, all[g / 64], waker) {}
    signal_gate gate;
    std::mutex lock;
    std::deque<std::pair<int, int>> waiting;
    std::array<int, senders> last{};
  };
  std::deque<queue> queues;
  for (unsigned g = 0; g < gates; ++g) queues.emplace_back(g, words, waker);
  std::vector<std::jthread> producers;
  for (int me = 0; me < senders; ++me) {
    producers.emplace_back([&queues, me] {
      std::vector<int> counts(gates, 0);
      for (int i = 0; i < items; ++i) {
        const unsigned g = static_cast<unsigned>(i * 7 + me) % gates;
        {
          const std::lock_guard guard(queues[g].lock);
          queues[g].waiting.emplace_back(me, ++counts[g]);
        }
        queues[g].gate.schedule();
      }
    });
  }
  int eaten = 0;
  while (eaten < senders * items) {
    const unsigned w = waker.wait();
    for (std::uint64_t bits = words[w].take(); bits != 0; bits &= bits - 1) {
      queue& ready = queues[w * 64 + static_cast<unsigned>(std::countr_zero(bits))];
      ready.gate.begin();
      bool more = true;
      for (int budget = 2; budget > 0 && more; --budget) {
        const std::lock_guard guard(ready.lock);
        more = !ready.waiting.empty();
        if (!more) continue;
        const auto [from, number] = ready.waiting.front();
        ready.waiting.pop_front();
        EXPECT_EQ(number, ++ready.last.at(static_cast<std::size_t>(from))) << "in the order of its producer";
        ++eaten;
      }
      if (more) {
        ready.gate.finish_and_schedule();
      } else {
        ready.gate.finish();
      }
    }
  }
  producers.clear();
  while (const auto w = waker.try_take()) {
    for (std::uint64_t bits = words[*w].take(); bits != 0; bits &= bits - 1) {
      queue& ready = queues[*w * 64 + static_cast<unsigned>(std::countr_zero(bits))];
      ready.gate.begin();
      ready.gate.finish();
    }
  }
  for (const queue& each : queues) EXPECT_TRUE(each.gate.is_idle() && each.waiting.empty());
}

}  // namespace
}  // namespace rota::gate::signal_test
