// P5: the stealable ring, its owner and two thieves. Every item is handed out once, whatever the
// interleaving; the indices start short of 2^32, and the payload is a cell, so that an item which is seen too
// early is a race.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "queue/ring.hpp"
#include "support/ring_access.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rota::queue {

namespace {

using model::at_random;
using model::by_priority;
using model::expect_holds;
using testing::check;
using testing::execution;

testing::options exhaustive(std::string_view name, unsigned preemptions = 2) {
  testing::options o = model::exhaustive(name, preemptions);
  o.weak_cas_failures = 1;
  return o;
}

constexpr std::uint32_t near_wrap = 0xFFFF'FFFE;

struct item {
  base::cell<int> payload;
  int pushed = 0;
  int taken = 0;
};

template <std::uint32_t Capacity>
struct worker {
  using ring_type = ring<item, Capacity>;

  explicit worker(std::uint32_t start) : words(start) {}

  ring_type words;
  ring_type::owner mine = words.take_owner_end();
};

/// The items, what was done with them, and one worker for each thread: 0 is the owner, the others steal.
template <std::uint32_t Capacity>
struct workshop {
  void push(std::size_t at, int id) {
    item& i = items[static_cast<std::size_t>(id)];
    i.payload.set(id);
    i.pushed = 1;
    typename ring<item, Capacity>::batch moved;
    switch (workers[at].mine.push(i, moved)) {
      case on_push::stored: break;
      case on_push::refused: take(&i); break;
      case on_push::moved_half:
        check(moved.back() == &i, "the pushed item goes last");
        for (item* m : moved) take(m);
    }
  }

  /// Does with an item what the injector, or a worker, does.
  void take(item* i) {
    const auto id = static_cast<std::size_t>(i - items.data());
    check(id < items.size(), "what is handed out is an item");
    check(i->payload.get() == static_cast<int>(id), "the item is seen as it was pushed");
    check(++i->taken == 1, "an item is handed out once");
  }

  bool pop(std::size_t at) {
    item* const i = workers[at].mine.pop();
    if (i != nullptr) take(i);
    return i != nullptr;
  }

  void steal(std::size_t at, std::size_t victim) {
    const auto got = workers[victim].words.thief_end().steal_into(workers[at].mine);
    check((got.status == on_steal::stolen) == (got.count > 0), "a count with every steal");
    check(got.count <= Capacity / 2, "at most half of a ring");
    if (got.count > 0) take(got.first);
  }

  void pop_all(std::size_t at) {
    while (pop(at)) {
    }
  }

  void check_end() {
    for (std::size_t at = 0; at < workers.size(); ++at) pop_all(at);
    for (const item& i : items) check(i.pushed == i.taken, "what was pushed is handed out");
    for (const auto& w : workers) {
      const ring_head head = ring_test_access::head(w.words);
      check(!head.is_stealing(), "every steal is released");
      check(head.queued(ring_test_access::tail(w.words)) == 0, "an empty ring: real is the tail");
    }
  }

  std::array<item, 24> items{};
  std::array<worker<Capacity>, 3> workers{
      worker<Capacity>(near_wrap), worker<Capacity>(near_wrap - 1), worker<Capacity>(near_wrap + 1)};
};

/// The owner does `own`; two thieves steal `steals` times each, and run what they got.
template <std::uint32_t Capacity, class Own>
auto against_two_thieves(int steals, Own own) {
  return [steals, own](execution& e) {
    auto& w = e.make<workshop<Capacity>>();
    e.thread("owner", [&w, own] { own(w); });
    for (std::size_t thief = 1; thief <= 2; ++thief) {
      e.thread("thief", [&w, thief, steals] {
        for (int i = 0; i < steals; ++i) w.steal(thief, 0);
        w.pop_all(thief);
      });
    }
    e.finally([&w] { w.check_end(); });
  };
}

// Form (b) of the parking rule, ring and packed word: publish and check against announce and re-scan.
TEST(ring_model, a_publish_and_a_park_do_not_miss_each_other) {
  struct pair {
    workshop<4> w;
    base::atomic<int> parked{0};
    bool producer_saw = false;
    bool parker_saw = false;
  };
  const auto body = [](execution& e) {
    auto& p = e.make<pair>();
    e.thread("producer", [&p] {
      p.w.push(0, 1);
      p.producer_saw = p.parked.load(base::order::seq_cst) != 0;
    });
    e.thread("parker", [&p] {
      p.parked.exchange(1, base::order::seq_cst);
      p.parker_saw = p.w.workers[0].words.thief_end().has_items();
    });
    e.finally([&p] {
      check(p.producer_saw || p.parker_saw, "one of the two sees the other");
      p.w.check_end();
    });
  };
  expect_holds(exhaustive("ring_park", 3), body);
}

TEST(ring_model, a_re_scan_sees_what_a_thief_leaves) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop<4>>();
    for (int id = 1; id <= 3; ++id) w.push(0, id);
    e.thread("thief", [&w] { w.steal(1, 0); });
    e.thread("parker", [&w] {
      check(w.workers[0].words.thief_end().has_items(), "a thief takes two of three, and the third is seen");
    });
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(exhaustive("ring_left", 3), body);
}

TEST(ring_model, the_last_item_has_one_taker) {
  const auto own = [](workshop<4>& w) {
    w.push(0, 1);
    w.pop(0);
  };
  expect_holds(exhaustive("ring_last_item", 3), against_two_thieves<4>(1, own));
}

TEST(ring_model, a_batch_is_stolen_from) {
  const auto own = [](workshop<4>& w) {
    std::array<item*, 3> batch{};
    for (int id = 1; id <= 3; ++id) {
      item& i = w.items[static_cast<std::size_t>(id)];
      i.payload.set(id);
      i.pushed = 1;
      batch[static_cast<std::size_t>(id - 1)] = &i;
    }
    w.workers[0].mine.push_batch(batch);
    w.pop_all(0);
  };
  expect_holds(exhaustive("ring_batch"), against_two_thieves<4>(1, own));
}

// A thief's own ring is robbed while it steals: it may seem empty, and yet have little space or none.
TEST(ring_model, a_thief_is_stolen_from_while_it_steals) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop<4>>();
    for (int id = 1; id <= 4; ++id) w.push(0, id);
    for (int id = 5; id <= 8; ++id) w.push(1, id);
    e.thread("robbed", [&w] {
      w.pop_all(1);
      w.steal(1, 0);
      w.pop(1);
    });
    e.thread("robber", [&w] { w.steal(2, 1); });
    e.thread("owner", [&w] { w.pop(0); });
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(exhaustive("ring_robbed"), body);
}

TEST(ring_model, the_owner_pops_beside_two_thieves) {
  const auto own = [](workshop<4>& w) {
    for (int id = 1; id <= 4; ++id) w.push(0, id);
    w.pop_all(0);
  };
  expect_holds(exhaustive("ring_pop"), against_two_thieves<4>(1, own));
}

TEST(ring_model, a_full_ring_moves_half_or_refuses) {
  const auto own = [](workshop<4>& w) {
    for (int id = 1; id <= 7; ++id) w.push(0, id);
    w.pop_all(0);
  };
  expect_holds(exhaustive("ring_overflow"), against_two_thieves<4>(1, own));
}

TEST(ring_model, slots_are_used_again_while_thieves_copy) {
  const auto own = [](workshop<2>& w) {
    for (int id = 1; id <= 5; ++id) {
      w.push(0, id);
      if (id % 2 == 0) w.pop(0);
    }
    w.pop_all(0);
  };
  expect_holds(exhaustive("ring_reuse"), against_two_thieves<2>(1, own));
}

// Two are queued; whatever others take meanwhile, a re-scan that sees nothing comes after a take.
TEST(ring_model, a_re_scan_misses_nothing_that_is_queued) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop<4>>();
    for (int id = 1; id <= 2; ++id) w.push(0, id);
    e.thread("owner", [&w] {
      w.pop(0);
      w.push(0, 3);
    });
    e.thread("thief", [&w] { w.steal(1, 0); });
    e.thread("parker", [&w] {
      const bool seen = w.workers[0].words.thief_end().has_items();
      check(seen || ring_test_access::head(w.workers[0].words).real != near_wrap,
            "nobody took any, and it says so");
    });
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(exhaustive("ring_re_scan", 3), body);
}

void many_items(workshop<4>& w) {
  for (int id = 0; id < 16; ++id) {
    w.push(0, id);
    if (id % 5 == 3) w.pop(0);
  }
  w.pop_all(0);
}

TEST(ring_model, many_items_at_random) {
  expect_holds(at_random("ring_random"), against_two_thieves<4>(3, many_items));
}

TEST(ring_model, many_items_by_priorities) {
  const auto options = by_priority("ring_priority");
  expect_holds(options, against_two_thieves<4>(3, many_items));
}

void rob_and_push(workshop<4>& w, std::size_t at) {
  const int first = static_cast<int>(at) * 8;
  for (int id = first; id < first + 8; ++id) {
    w.push(at, id);
    if (id % 3 == 0) w.steal(at, (at + 1) % 3);
    if (id % 2 == 0) w.pop(at);
  }
  w.steal(at, (at + 2) % 3);
}

TEST(ring_model, three_workers_steal_from_each_other) {
  const auto body = [](execution& e) {
    auto& w = e.make<workshop<4>>();
    for (std::size_t at = 0; at < 3; ++at) e.thread("worker", [&w, at] { rob_and_push(w, at); });
    e.finally([&w] { w.check_end(); });
  };
  expect_holds(at_random("ring_robbers"), body);
}

}  // namespace
}  // namespace rota::queue
