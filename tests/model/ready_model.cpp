// P6, the server side: the ready lists beside a sleeper; then the real executor with its threads.
#include <rota/testing/explore.hpp>
#include "gate/ready_lists.hpp"
#include "model/exploring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace rota::gate::detail {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

struct entry {
  base::cell<entry*> next_ready_;
  base::cell<int> payload;
  int pushed = 0;
  int taken = 0;
};

/// The lists, and a stand-in for the idle word: the number of sleepers, and the threads woken.
struct room {
  std::array<entry, 4> entries;
  ready_lists<entry> lists{2};
  base::atomic<std::uint32_t> sleepers{0};
  base::atomic<std::uint32_t> calls{0};

  void look() {
    // seq_cst, as the idle word's.
    if (sleepers.load(base::order::seq_cst) != 0) calls.fetch_add(1, base::order::seq_cst);
  }
  void push(std::size_t which, unsigned shard, unsigned band = 1) {
    entry& e = entries.at(which);
    e.payload.set(static_cast<int>(which));
    e.pushed = 1;
    lists.push(shard, band, e);
    look();
  }
  bool take(unsigned shard, unsigned first = 0) {
    const auto found = lists.take(shard, first);
    if (found.item == nullptr) return false;
    const auto which = static_cast<std::size_t>(found.item - entries.data());
    check(found.item->payload.get() == static_cast<int>(which), "it is seen as it was pushed");
    check(++found.item->taken == 1, "an entry is taken once");
    if (found.more) look();
    return true;
  }
  void take_all() {
    bool any = true;
    while (any) any = take(0) || take(1);
  }
  [[nodiscard]] bool has_left() const {
    for (const entry& e : entries) {
      if (e.pushed != e.taken) return true;
    }
    return false;
  }
  /// Sleeps if it sees nothing.
  bool falls_asleep() {
    sleepers.fetch_add(1, base::order::seq_cst);
    return !lists.has_items();
  }
  void check_end() {
    take_all();
    check(!lists.has_items(), "nothing is left");
    for (const entry& e : entries) check(e.pushed == e.taken, "what was pushed is taken");
  }
};

TEST(ready_model, each_entry_has_one_taker) {
  const auto body = [](execution& e) {
    auto& r = e.make<room>();
    r.push(0, 0);
    e.thread("pusher", [&r] { r.push(1, 0); });
    e.thread("pusher", [&r] { r.push(2, 0, 0); });
    for (int i = 0; i < 2; ++i) {
      e.thread("taker", [&r] {
        static_cast<void>(r.take(0));
        static_cast<void>(r.take(0, 2));
      });
    }
    e.finally([&r] { r.check_end(); });
  };
  expect_holds(exhaustive("ready_takers", 2), body);
}

// Each finds several fresh ones, while nothing is kept yet: the second puts its own behind the first one's.
TEST(ready_model, two_takers_take_each_of_several_entries_once) {
  const auto body = [](execution& e) {
    auto& r = e.make<room>();
    r.push(0, 0);
    r.push(1, 0);
    e.thread("pusher", [&r] {
      r.push(2, 0);
      r.push(3, 0);
    });
    for (int i = 0; i < 2; ++i) {
      e.thread("taker", [&r] {
        static_cast<void>(r.take(0));
        static_cast<void>(r.take(0));
      });
    }
    e.finally([&r] { r.check_end(); });
  };
  expect_holds(exhaustive("ready_several", 2), body);
  testing::options o = exhaustive("ready_several_stale", 2);
  o.stale_reads = 1;
  expect_holds(o, body);
}

// A sleeper beside a pusher and a taker that leaves an entry: it sees the entry, or is woken.
TEST(ready_model, no_thread_sleeps_while_an_entry_is_ready) {
  const auto body = [](execution& e) {
    auto& r = e.make<room>();
    auto& slept = e.make<int>(0);
    r.push(0, 0);
    e.thread("pusher", [&r] { r.push(1, 0); });
    e.thread("taker", [&r] { static_cast<void>(r.take(0)); });
    e.thread("sleeper", [&r, &slept] { slept = r.falls_asleep() ? 1 : 0; });
    e.finally([&r, &slept] {
      // The taker may have found the lock free, or nothing; one entry at least is left.
      check(slept == 0 || r.calls.load(base::order::relaxed) != 0 || !r.has_left(), "the sleeper was called");
      r.check_end();
    });
  };
  expect_holds(exhaustive("ready_sleeper", 3), body);
  testing::options o = exhaustive("ready_sleeper_stale", 2);
  o.stale_reads = 1;
  expect_holds(o, body);
}

TEST(ready_model, the_oldest_of_a_shard_comes_first) {
  const auto body = [](execution& e) {
    auto& r = e.make<room>();
    e.thread([&r] {
      for (std::size_t i = 0; i < 3; ++i) r.push(i, 1, i == 2 ? 0 : 1);
      const std::array<entry*, 4> order{
          r.lists.take(1, 0).item, r.lists.take(1, 1).item, r.lists.take(1, 0).item, r.lists.take(1, 0).item};
      check(order[0] == &r.entries[2], "the high band first");
      check(order[1] == &r.entries[0] && order[2] == &r.entries[1] && order[3] == nullptr, "then the oldest");
    });
  };
  expect_holds(exhaustive("ready_order"), body);
}

TEST(ready_model, two_shards_at_random) {
  const auto body = [](execution& e) {
    auto& r = e.make<room>();
    e.thread("pusher", [&r] {
      r.push(0, 0);
      r.push(1, 1, 2);
    });
    e.thread("pusher", [&r] {
      r.push(2, 0, 0);
      r.push(3, 0);
    });
    for (const unsigned mine : {0U, 1U}) {
      e.thread("taker", [&r, mine] {
        for (unsigned i = 0; i < 3; ++i) static_cast<void>(r.take((mine + i) % 2, i));
      });
    }
    e.finally([&r] { r.check_end(); });
  };
  expect_holds(at_random("ready_random"), body);
}

}  // namespace
}  // namespace rota::gate::detail
