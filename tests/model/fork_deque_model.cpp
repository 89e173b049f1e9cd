// P19, the deque: its owner against thieves, with the barrier of two halves and without. Every item is handed
// out once. The payload is a cell, so that an item which is seen too early is a race.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "queue/fork_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rota::queue {

namespace {

using model::at_random;
using model::by_priority;
using model::expect_holds;
using testing::check;
using testing::execution;

struct item {
  base::cell<int> payload;
  int pushed = 0;
  int taken = 0;
};

/// The items, what was done with them, and the deque.
template <std::uint32_t Capacity>
struct workshop {
  explicit workshop(pop_barrier barrier) : words(barrier) {}

  void push(int id) {
    item& i = items[static_cast<std::size_t>(id)];
    i.payload.set(id);
    i.pushed = 1;
    if (!words.has_room(1) && look().items == 0) {
      check(id >= static_cast<int>(Capacity), "there is room for as many as it has slots");
      take(&i);
    } else {
      words.push(1, [&i](std::uint32_t) -> item& { return i; });
    }
  }
  auto look() {
    const auto found = words.look_again();
    heard += found.called ? 1 : 0;
    return found;
  }
  void take(item* i) {
    const auto id = static_cast<std::size_t>(i - items.data());
    check(id < items.size(), "what is handed out is an item");
    check(i->payload.get() == static_cast<int>(id), "the item is seen as it was pushed");
    check(++i->taken == 1, "an item is handed out once");
  }
  bool pop() {
    item* const i = words.pop();
    if (i != nullptr) take(i);
    return i != nullptr;
  }
  void pop_all() {
    while (pop()) {
    }
  }
  void steal(int times) {
    for (int n = 0; n < times; ++n) {
      const auto got = fork_thief(words).steal();
      check((got.status == on_fork_steal::stolen) == (got.item != nullptr), "an item with every steal");
      if (got.item == nullptr) continue;
      take(got.item);
    }
  }
  void check_end() {
    check(!fork_thief(words).has_items() && words.is_empty(), "it is empty");
    for (const item& i : items) check(i.pushed == i.taken, "what was pushed is handed out");
  }

  std::array<item, 12> items{};
  int heard = 0;
  fork_deque<item, Capacity> words;
};

/// The owner does `own`; each of the thieves steals `steals` times.
template <std::uint32_t Capacity, class Own>
auto against_thieves(pop_barrier barrier, unsigned thieves, int steals, Own own) {
  return [=](execution& e) {
    auto& w = e.make<workshop<Capacity>>(barrier);
    e.thread("owner", [&w, own] {
      own(w);
      w.pop_all();
    });
    for (unsigned i = 0; i < thieves; ++i) e.thread("thief", [&w, steals] { w.steal(steals); });
    e.finally([&w] { w.check_end(); });
  };
}

/// All interleavings in every memory; once more where one load may be stale.
testing::options stale(testing::options o) {
  o.stale_reads = 1;
  return o;
}

class fork_deque_model : public ::testing::TestWithParam<pop_barrier> {
 protected:
  [[nodiscard]] std::string named(std::string_view shape) const {
    return std::string(shape) + (GetParam() == pop_barrier::light ? "_light" : "_exchange");
  }
};

INSTANTIATE_TEST_SUITE_P(barriers,
                         fork_deque_model,
                         ::testing::Values(pop_barrier::light, pop_barrier::exchange),
                         [](const auto& barrier) {
                           return std::string(barrier.param == pop_barrier::light ? "light" : "exchange");
                         });

TEST_P(fork_deque_model, the_last_item_has_one_taker) {
  const std::string name = named("fork_deque_last");
  const auto own = [](workshop<4>& w) {
    w.push(0);
    w.pop();
  };
  expect_holds(model::exhaustive(name, 3), against_thieves<4>(GetParam(), 2, 1, own));
}

// Items 0 and 1. T1 steals the first while the owner pops the second without a compare-exchange. T2, which
// reads the top after that, must see that the second has gone.
TEST_P(fork_deque_model, the_last_but_one_is_stolen_while_the_last_is_popped) {
  const std::string name = named("fork_deque_two");
  const auto body = [barrier = GetParam()](execution& e) {
    auto& w = e.make<workshop<4>>(barrier);
    w.push(0);
    w.push(1);
    e.thread("owner", [&w] { w.pop(); });
    for (int i = 0; i < 2; ++i) e.thread("thief", [&w] { w.steal(1); });
    e.finally([&w] {
      w.pop_all();
      w.check_end();
    });
  };
  expect_holds(stale(model::exhaustive(name, 4)), body);
}

TEST_P(fork_deque_model, the_owner_pops_beside_two_thieves) {
  const std::string name = named("fork_deque_pop");
  const auto own = [](workshop<4>& w) {
    for (int id = 0; id < 3; ++id) w.push(id);
  };
  expect_holds(model::exhaustive(name), against_thieves<4>(GetParam(), 2, 2, own));
}

TEST_P(fork_deque_model, a_full_deque_refuses_until_a_thief_has_taken_an_item) {
  const std::string name = named("fork_deque_full");
  const auto own = [](workshop<2>& w) {
    for (int id = 0; id < 4; ++id) w.push(id);
  };
  expect_holds(model::exhaustive(name), against_thieves<2>(GetParam(), 1, 3, own));
}

TEST_P(fork_deque_model, several_items_can_be_pushed_at_once) {
  const std::string name = named("fork_deque_several");
  const auto own = [](workshop<4>& w) {
    for (int id = 0; id < 3; ++id) {
      w.items[static_cast<std::size_t>(id)].payload.set(id);
      w.items[static_cast<std::size_t>(id)].pushed = 1;
    }
    w.words.push(3, [&w](std::uint32_t i) -> item& { return w.items[i]; });
    check(w.words.look_again().items <= 4, "its room is what it has");
  };
  expect_holds(model::exhaustive(name), against_thieves<4>(GetParam(), 1, 3, own));
}

// A call() is not lost beside a look() that found the deque full.
TEST_P(fork_deque_model, no_call_is_lost) {
  const std::string name = named("fork_deque_call");
  const auto body = [barrier = GetParam()](execution& e) {
    auto& w = e.make<workshop<2>>(barrier);
    e.thread("owner", [&w] {
      w.push(0);
      w.push(1);
      static_cast<void>(w.look());
      w.pop_all();
    });
    e.thread("caller", [&w] { w.words.call(); });
    e.finally([&w] {
      static_cast<void>(w.look());
      check(w.heard == 1, "a call is heard once");
      w.check_end();
    });
  };
  expect_holds(model::exhaustive(name, 3), body);
}

TEST_P(fork_deque_model, slots_are_used_again) {
  const std::string name = named("fork_deque_reuse");
  const auto own = [](workshop<2>& w) {
    for (int id = 0; id < 6; ++id) {
      w.push(id);
      if (id % 2 == 1) w.pop();
    }
  };
  expect_holds(model::exhaustive(name), against_thieves<2>(GetParam(), 2, 2, own));
}

// Nested forks: each pops what it pushed, or finds that it was stolen, and with it all older ones.
void nest(workshop<4>& w, int id) {
  w.push(id);
  if (id < 7) nest(w, id + 1);
  w.pop();
}

TEST_P(fork_deque_model, nested_forks_at_random) {
  const std::string name = named("fork_deque_nested");
  expect_holds(at_random(name), against_thieves<4>(GetParam(), 2, 4, [](auto& w) { nest(w, 0); }));
}

TEST_P(fork_deque_model, nested_forks_by_priorities) {
  const std::string name = named("fork_deque_priorities");
  expect_holds(by_priority(name), against_thieves<4>(GetParam(), 2, 4, [](auto& w) { nest(w, 0); }));
}

}  // namespace
}  // namespace rota::queue
