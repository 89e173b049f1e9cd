// P6: signal gates, their words, the waker and its sleep. Producers push and schedule; the consumer waits
// without a deadline, so a lost item is a deadlock. The queue itself releases and acquires, as any queue
// does. That its items are *found* is the gate's task.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"

#include <rota/gate/signal_gate.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bits.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"

namespace rota::gate {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// How a round ends after it has found the queue empty.
enum class ending : std::uint8_t { finish, finish_or_continue };

/// A queue of at most four items, each pushed once, under its gate.
class gated {
 public:
  gated(unsigned bit, signal_word& word, signal_waker& waker) : gate_(bit, word, waker) {}

  void push(unsigned item) {
    // release, and acquire in drain(). As any queue.
    slots_.at(item).full.store(1, base::order::release);
    scheduled_ += gate_.schedule() ? 1 : 0;
  }

  /// The round of the thread that took the bit. `budget`: so many items, then other gates have their turn.
  int run(int budget, ending end) {
    gate_.begin();
    int eaten = 0;
    do {
      // Written by each round: two of them at a time, or one that does not see the one before, are a race.
      rounds_.set(rounds_.get() + 1);
      for (int left = budget;; --left) {
        if (!drain_one()) break;
        ++eaten;
        if (left > 1) continue;
        gate_.finish_and_schedule();
        return eaten;
      }
    } while (end == ending::finish_or_continue && gate_.finish_or_continue());
    if (end == ending::finish) gate_.finish();
    return eaten;
  }

  void check_end(int items) {
    check(rounds_.get() >= scheduled_, "as many rounds as it was made runnable, at least");
    check(gate_.is_idle(), "the gate is idle");
    check(taken_.get() == items, "each item was taken once");
  }

 private:
  /// Returns false if it is empty.
  bool drain_one() {
    for (slot& each : slots_) {
      if (each.taken.get() != 0 || each.full.load(base::order::acquire) == 0) continue;
      each.taken.set(1);
      taken_.set(taken_.get() + 1);
      return true;
    }
    return false;
  }

  struct slot {
    base::atomic<std::uint32_t> full{0};
    base::cell<int> taken{0};  // the consumer's
  };
  signal_gate gate_;
  std::array<slot, 4> slots_;
  base::cell<int> taken_{0};
  base::cell<int> rounds_{0};
  int scheduled_ = 0;  // the check's
};

/// Two words, one of which shares PARKED's half; gates 0 and 1 share a word.
struct yard {
  static constexpr unsigned gates = 3;

  signal_waker waker;
  signal_word near{0};
  signal_word far{40};
  gated first{0, near, waker};
  gated second{63, near, waker};
  gated third{7, far, waker};
  std::array<int, gates> pushed{};
  int eaten = 0;

  [[nodiscard]] gated& gate(unsigned g) {
    if (g == 0) return first;
    return g == 1 ? second : third;
  }
  [[nodiscard]] int items() const {
    int sum = 0;
    for (const int each : pushed) sum += each;
    return sum;
  }

  /// One visit of a word: all gates that were ready there.
  void visit(unsigned index, int budget, ending end) {
    for (std::uint64_t bits = (index == 0 ? near : far).take(); bits != 0; bits &= bits - 1) {
      run_gate(index, base::lowest_bit(bits), budget, end);
    }
  }
  void run_gate(unsigned index, unsigned bit, int budget, ending end) {
    check(index == 40 ? bit == 7 : bit == 0 || bit == 63, "only bits of gates are taken");
    if (index == 40) {
      eaten += third.run(budget, end);
    } else {
      eaten += (bit == 0 ? first : second).run(budget, end);
    }
  }
  void consume(int budget, ending end) {
    const int all = items();
    while (eaten < all) visit(waker.wait(), budget, end);
    // What was published beside its last item.
    while (const auto index = waker.try_take()) visit(*index, budget, end);
  }
  void check_end() {
    while (const auto index = waker.try_take()) visit(*index, 4, ending::finish);
    for (unsigned g = 0; g < gates; ++g) gate(g).check_end(pushed.at(g));
    check(near.is_empty() && far.is_empty(), "no bit is left");
  }
};

/// Producer p pushes to the gates in its row, one item each.
using rows = std::array<std::array<int, 2>, 3>;  // -1: nothing

auto one_consumer(rows r, int budget, ending end) {
  return [=](execution& e) {
    auto& y = e.make<yard>();
    for (const auto& row : r) {
      std::array<unsigned, 2> slots{};
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row.at(i) >= 0)
          slots.at(i) = static_cast<unsigned>(y.pushed.at(static_cast<std::size_t>(row.at(i)))++);
      }
      if (row[0] < 0) continue;
      e.thread("producer", [&y, row, slots] {
        for (std::size_t i = 0; i < row.size(); ++i) {
          if (row.at(i) >= 0) y.gate(static_cast<unsigned>(row.at(i))).push(slots.at(i));
        }
      });
    }
    e.thread("consumer", [&y, budget, end] { y.consume(budget, end); });
    e.finally([&y] { y.check_end(); });
  };
}

constexpr std::array<int, 2> nothing{-1, -1};

class gate_model : public ::testing::TestWithParam<ending> {
 protected:
  [[nodiscard]] std::string named(std::string_view shape) const {
    return std::string(shape) + (GetParam() == ending::finish ? "_finish" : "_continue");
  }
};
INSTANTIATE_TEST_SUITE_P(endings,
                         gate_model,
                         ::testing::Values(ending::finish, ending::finish_or_continue),
                         [](const auto& end) {
                           return std::string(end.param == ending::finish ? "finish" : "continue");
                         });

TEST_P(gate_model, one_producer_of_two_items) {
  const std::string name = named("gate_one");
  expect_holds(exhaustive(name, 3), one_consumer({{{0, 0}, nothing, nothing}}, 4, GetParam()));
}

TEST_P(gate_model, two_producers_of_one_gate) {
  const std::string name = named("gate_shared");
  expect_holds(exhaustive(name, 2), one_consumer({{{0, -1}, {0, -1}, nothing}}, 4, GetParam()));
}

TEST_P(gate_model, two_gates_of_one_word) {
  const std::string name = named("gate_word");
  expect_holds(exhaustive(name, 2), one_consumer({{{0, -1}, {1, -1}, nothing}}, 4, GetParam()));
}

TEST_P(gate_model, two_gates_of_two_words) {
  const std::string name = named("gate_words");
  expect_holds(exhaustive(name, 2), one_consumer({{{0, -1}, {2, -1}, nothing}}, 4, GetParam()));
}

TEST_P(gate_model, a_budget_of_one) {
  const std::string name = named("gate_budget");
  expect_holds(exhaustive(name, 2), one_consumer({{{0, 0}, {0, -1}, nothing}}, 1, GetParam()));
}

TEST_P(gate_model, three_producers_at_random) {
  const std::string name = named("gate_random");
  expect_holds(at_random(name), one_consumer({{{0, 1}, {0, 2}, {1, 0}}}, 2, GetParam()));
}

// Two consumers of a word, which wait elsewhere: each bit has one taker; a gate has one round at a time.
TEST_P(gate_model, two_consumers_acquire_bits) {
  const ending end = GetParam();
  const auto body = [end](execution& e) {
    auto& y = e.make<yard>();
    y.pushed = {2, 1, 0};
    e.thread("producer", [&y] {
      y.first.push(0);
      y.first.push(1);
    });
    e.thread("producer", [&y] { y.second.push(0); });
    for (int i = 0; i < 2; ++i) {
      e.thread("consumer", [&y, end] {
        for (const unsigned bit : {0U, 63U}) {
          if (!y.near.acquire(bit)) continue;
          (bit == 0 ? y.first : y.second).run(1, end);
        }
      });
    }
    e.finally([&y] { y.check_end(); });
  };
  const std::string name = named("gate_consumers");
  expect_holds(exhaustive(name, 2), body);
  const std::string random = named("gate_consumers_random");
  expect_holds(at_random(random), body);
}

// Each of two consumers has a round. The later one sees what the earlier one did, however that ended.
TEST_P(gate_model, a_round_sees_what_the_round_of_another_consumer_did) {
  const ending end = GetParam();
  const auto body = [end](execution& e) {
    auto& y = e.make<yard>();
    y.pushed = {2, 0, 0};
    for (const unsigned item : {0U, 1U}) e.thread("producer", [&y, item] { y.first.push(item); });
    for (int i = 0; i < 2; ++i) {
      e.thread("consumer", [&y, end] {
        if (y.near.acquire(0)) y.first.run(4, end);
      });
    }
    e.finally([&y] { y.check_end(); });
  };
  const std::string name = named("gate_rounds");
  expect_holds(exhaustive(name, 2), body);
}

// A check of an idle gate sees what its last round did.
TEST(gate_flags_model, an_idle_gate_shows_what_its_last_round_did) {
  const auto body = [](execution& e) {
    auto& flags = e.make<gate_flags>();
    auto& done = e.make<base::cell<int>>(0);
    check(flags.schedule() == on_schedule::publish, "it was idle");
    e.thread("round", [&] {
      flags.begin(0);
      done.set(1);
      check(!flags.finish(0), "no other schedules it");
    });
    e.thread("looks", [&] {
      if (flags.is_idle()) check(done.get() == 1, "the round is over");
    });
  };
  expect_holds(exhaustive("gate_idle"), body);
}

// The publisher of an idle gate writes its link, which the round before has used.
TEST(gate_flags_model, a_schedule_of_an_idle_gate_comes_after_its_last_round) {
  const auto body = [](execution& e) {
    auto& flags = e.make<gate_flags>();
    auto& link = e.make<base::cell<int>>(0);
    check(flags.schedule() == on_schedule::publish, "it was idle");
    e.thread("round", [&] {
      flags.begin(0);
      link.set(0);
      if (flags.finish(0)) link.set(1);
    });
    e.thread("producer", [&] {
      if (flags.schedule() == on_schedule::publish) link.set(2);
    });
  };
  expect_holds(exhaustive("gate_link"), body);
}

// A yielding round re-checks, then publishes: it sees what came before each schedule that found it running.
TEST(gate_flags_model, a_round_that_gives_way_sees_what_came_before_a_schedule) {
  const auto body = [](execution& e) {
    auto& flags = e.make<gate_flags>();
    auto& order = e.make<base::atomic<int>>(0);
    check(flags.schedule() == on_schedule::publish, "it was idle");
    flags.begin(0);
    bool& executing = e.make<bool>(false);
    bool& seen = e.make<bool>(false);
    e.thread("round", [&] {
      flags.finish_and_schedule(0);
      // relaxed. What came before a schedule is in it.
      seen = order.load(base::order::relaxed) == 1;
    });
    e.thread("gives an order", [&] {
      // relaxed. The schedule releases it.
      order.store(1, base::order::relaxed);
      executing = flags.schedule() == on_schedule::executing;
    });
    e.finally([&] { check(seen || !executing, "the round has seen the order"); });
  };
  testing::options stale = exhaustive("gate_order_stale");
  stale.stale_reads = 1;
  expect_holds(stale, body);
}

TEST(gate_waker_model, a_take_sees_what_happened_before_the_mark) {
  const auto body = [](execution& e) {
    auto& waker = e.make<signal_waker>();
    auto& before = e.make<base::cell<int>>(0);
    e.thread("producer", [&] {
      before.set(1);
      waker.mark_active(3);
    });
    e.thread("consumer", [&] {
      if (waker.try_take()) check(before.get() == 1, "what was done before the mark is seen");
    });
  };
  expect_holds(exhaustive("gate_mark"), body);
}

// The consumer gives up at a deadline beside a producer: the mark is taken now or later, and not lost.
TEST(gate_waker_model, a_mark_that_races_with_a_deadline_is_not_lost) {
  const auto body = [](execution& e) {
    auto& y = e.make<yard>();
    y.pushed = {0, 0, 1};
    const base::time_point together = base::now() + std::chrono::milliseconds(1);
    auto& nobody = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread("producer", [&y, &nobody, together] {
      while (base::futex_wait(nobody, 0, together) != base::wait_result::timed_out) {
      }
      y.third.push(0);
    });
    e.thread("consumer", [&y, together] {
      const auto found = y.waker.wait_until(together);
      if (found.has_value()) y.visit(*found, 4, ending::finish);
      if (y.eaten == 0) y.visit(y.waker.wait(), 4, ending::finish);
      check(y.eaten == 1, "it was found");
    });
    e.finally([&y] { y.check_end(); });
  };
  expect_holds(exhaustive("gate_deadline", 3), body);
}

}  // namespace
}  // namespace rota::gate
