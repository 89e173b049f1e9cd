// P4: the LIFO slot between its owner, thieves, a joiner that takes its own child out, and the watchdog.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "sched/lifo_slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace rota::sched {
namespace {

using model::expect_holds_everywhere;
using testing::check;
using testing::execution;

struct item {
  base::cell<int> content;
  int taken = 0;
};

struct drawer {
  static constexpr int count = 3;

  void take(item* i) {
    if (i == nullptr) return;
    check(i->content.get() == 1 + static_cast<int>(i - items.data()), "what was put is seen whole");
    check(++i->taken == 1, "an item is handed out once");
  }
  /// Like the worker: a displaced task goes elsewhere, which here counts as taken.
  void put(int i) {
    item& it = items[static_cast<std::size_t>(i)];
    it.content.set(1 + i);
    take(slot.put(it));
  }
  void check_end(int put_in) {
    take(slot.take());
    check(slot.is_empty(), "a slot that was emptied says so");
    for (int i = 0; i < put_in; ++i) check(items[static_cast<std::size_t>(i)].taken == 1, "nothing is lost");
  }

  lifo_slot<item> slot;
  std::array<item, count> items{};
};

TEST(lifo_model, puts_and_takes_against_a_thief_and_the_watchdog) {
  const auto body = [](execution& e) {
    auto& d = e.make<drawer>();
    e.thread("owner", [&d] {
      d.put(0);
      d.put(1);
      d.take(d.slot.take());
      d.put(2);
    });
    e.thread("watchdog", [&d] { static_cast<void>(d.slot.ripen()); });
    for (int i = 0; i < 2; ++i) {
      e.thread("thief", [&d] { d.take(d.slot.steal()); });
    }
    e.finally([&d] { d.check_end(3); });
  };
  expect_holds_everywhere("lifo_thieves", body, 3);
}

TEST(lifo_model, a_joiner_takes_this_very_task_or_none) {
  const auto body = [](execution& e) {
    auto& d = e.make<drawer>();
    e.thread("owner", [&d] {
      d.put(0);
      d.put(1);
      if (d.slot.take_if(d.items[0])) check(false, "it was displaced");
      if (d.slot.take_if(d.items[1])) d.take(&d.items[1]);
      d.put(2);
      if (d.slot.take_if(d.items[2])) d.take(&d.items[2]);
    });
    e.thread("watchdog", [&d] { static_cast<void>(d.slot.ripen()); });
    e.thread("thief", [&d] {
      d.take(d.slot.steal());
      d.take(d.slot.steal());
    });
    e.finally([&d] { d.check_end(3); });
  };
  expect_holds_everywhere("lifo_take_if", body, 3);
}

// Until it ripens, only the owner takes it; and the mark is no ownership.
TEST(lifo_model, a_task_that_is_not_yet_stealable_is_taken_only_by_its_owner) {
  const auto body = [](execution& e) {
    auto& d = e.make<drawer>();
    e.thread("owner", [&d] {
      d.put(0);
      item* const mine = d.slot.take();
      check(mine == d.items.data(), "nobody else took it");
      d.take(mine);
    });
    e.thread("thief", [&d] { check(d.slot.steal() == nullptr, "not ripe"); });
    e.finally([&d] { d.check_end(1); });
  };
  expect_holds_everywhere("lifo_unripe", body, 4);
}

// The owner blocks behind its task. Mark and check against announce and re-scan: one sees the other.
TEST(lifo_model, a_stealable_task_and_a_parker_do_not_miss_each_other) {
  struct pair {
    drawer d;
    base::atomic<int> parked{0};
    bool told = false;
    bool saw = false;
  };
  const auto body = [](execution& e) {
    auto& p = e.make<pair>();
    p.d.put(0);
    e.thread("watchdog", [&p] {
      // seq_cst. As idle::after_ring().
      if (p.d.slot.ripen()) p.told = p.parked.load(base::order::seq_cst) != 0;
    });
    e.thread("parker", [&p] {
      // seq_cst. As idle::announce_park().
      p.parked.exchange(1, base::order::seq_cst);
      p.saw = p.d.slot.is_ripe();
      if (p.saw) p.d.take(p.d.slot.steal());
    });
    e.finally([&p] {
      check(p.told || p.saw, "the parker sees the mark, or the watchdog the parker");
      p.d.check_end(1);
    });
  };
  expect_holds_everywhere("lifo_park", body, 4);
}

// A slot that was ripe, emptied and filled again: the old mark loses nothing, and the next one counts.
TEST(lifo_model, a_refilled_slot_becomes_stealable_again) {
  const auto body = [](execution& e) {
    auto& d = e.make<drawer>();
    e.thread("owner", [&d] {
      d.put(0);
      d.take(d.slot.take());
      d.put(1);
    });
    e.thread("watchdog", [&d] {
      static_cast<void>(d.slot.ripen());
      static_cast<void>(d.slot.ripen());
    });
    e.thread("thief", [&d] { d.take(d.slot.steal()); });
    e.finally([&d] {
      if (d.slot.ripen()) {
        item* const last = d.slot.steal();
        check(last == &d.items[1], "what the mark promised is there");
        d.take(last);
      }
      d.check_end(2);
    });
  };
  expect_holds_everywhere("lifo_again", body, 3);
}

}  // namespace
}  // namespace rota::sched
