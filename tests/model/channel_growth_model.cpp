// P11, growth of a bounded channel: the bound is exact from the start, items stay in order, and a growth that
// fails for lack of memory changes nothing else. In the model the first block has two places.
#include "model/last_receiver.hpp"
#include "model/waiting.hpp"

#include <rota/channel/bounded.hpp>

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace rota::channel {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// Makes a channel, also if that allocation fails: the failure is meant for the growth, but may come first.
template <class T>
auto made_at_last(std::uint64_t capacity, options how = {}) {
  try {
    return bounded<T>(capacity, how);
  } catch (const std::bad_alloc&) {
    return bounded<T>(capacity, how);
  }
}

/// Halves that threads of a scene share. An item is a bit of a set.
struct shared {
  explicit shared(std::uint64_t capacity, options how = {}) {
    auto made = made_at_last<std::uint32_t>(capacity, how);
    tx.emplace(std::move(made.sender));
    rx.emplace(std::move(made.receiver));
  }

  std::optional<sender<std::uint32_t>> tx;
  std::optional<receiver<std::uint32_t>> rx;
  base::atomic<std::uint32_t> received{0};
  base::atomic<std::uint32_t> sent{0};
  base::atomic<std::uint32_t> refused{0};

  void note(std::uint32_t item) {
    // relaxed. A set of the model's, as are the other two.
    check((received.fetch_or(item, base::order::relaxed) & item) == 0, "each item comes once");
  }
  void tries_to_send(std::uint32_t item) {
    const send_status how = tx->try_send(item);
    check(how == send_status::sent || how == send_status::full, "no other answer is due");
    // relaxed. A set of the model's, as are the other two.
    (how == send_status::sent ? sent : refused).fetch_or(item, base::order::relaxed);
  }
  void receives_what_is_there() {
    std::uint64_t left = rx->size();
    while (const auto got = rx->try_recv()) {
      note(*got);
      check(rx->size() == --left, "one less is there");
    }
    check(left == 0, "all were counted");
  }
  // relaxed. All threads have ended.
  [[nodiscard]] std::uint32_t all_sent() const { return sent.load(base::order::relaxed); }
  // relaxed. All threads have ended.
  [[nodiscard]] std::uint32_t all_refused() const { return refused.load(base::order::relaxed); }
  // relaxed. All threads have ended.
  [[nodiscard]] std::uint32_t all_received() const { return received.load(base::order::relaxed); }
  [[nodiscard]] static std::uint64_t count(std::uint32_t set) {
    return static_cast<std::uint64_t>(__builtin_popcount(set));
  }
};

testing::options with_stale_reads(std::string_view name, unsigned count, unsigned preemptions = 2) {
  testing::options o = exhaustive(name, preemptions);
  o.stale_reads = count;
  return o;
}
testing::options short_of_memory(testing::options o) {
  o.allocation_failures = 1;
  return o;
}

// Two senders fill the channel at once, and no receiver takes anything: as many are sent as it can hold.
TEST(channel_growth_model, two_senders_fill_exactly_the_capacity) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U);
    for (const std::uint32_t first : {1U, 8U})
      e.thread("sender", [&x, first] {
        for (const std::uint32_t item : {first, first << 1U, first << 2U}) x.tries_to_send(item);
      });
    e.finally([&x] {
      check(x.count(x.all_sent()) == 4 && x.tx->size() == 4, "it has room for four");
      x.receives_what_is_there();
      check(x.all_received() == x.all_sent(), "what was sent is there");
      check(x.tx->size() == 0, "then it is empty");
    });
  };
  expect_holds(exhaustive("growth_fill"), body);
  expect_holds(with_stale_reads("growth_fill stale", 1, 1), body);
  expect_holds(at_random("growth_fill random"), body);
}

// It grows twice, by one sender each time or by both.
TEST(channel_growth_model, ring_that_grows_twice_holds_exactly_its_capacity) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(7U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    for (const std::uint32_t first : {2U, 16U})
      e.thread("sender", [&x, first] {
        for (const std::uint32_t item : {first, first << 1U, first << 2U}) x.tries_to_send(item);
      });
    e.finally([&x] {
      check(x.all_refused() == 0 && x.tx->size() == 7, "it has room for seven");
      x.receives_what_is_there();
      check(x.all_received() == 127, "all have come");
    });
  };
  expect_holds(with_stale_reads("growth_twice", 2, 1), body);
  expect_holds(at_random("growth_twice random"), body);
}

// A receiver empties places while the ring grows: a sender's items come in order, with what was done before.
TEST(channel_growth_model, receiver_gets_items_in_order_while_the_ring_grows) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(3U);
    auto& before = e.make<base::cell<std::uint32_t>>();
    e.thread("sender", [&x, &before] {
      for (const std::uint32_t item : {1U, 2U, 3U, 4U, 5U}) {
        if (item == 4) before.set(7);
        check(x.tx->blocking_send(item) == send_status::sent, "the channel is open");
      }
    });
    e.thread("receiver", [&x, &before] {
      for (const std::uint32_t item : {1U, 2U, 3U, 4U, 5U})
        check(x.rx->blocking_recv() == item, "they come in order");
      check(before.get() == 7, "what was done before the send is seen");
    });
    e.finally([&x] { check(x.tx->size() == 0, "it is empty"); });
  };
  expect_holds(exhaustive("growth_order"), body);
  expect_holds(with_stale_reads("growth_order stale", 1, 1), body);
  expect_holds(at_random("growth_order random"), body);
}

// Two senders meet at the last free place while a receiver frees another. At most one grows the ring.
TEST(channel_growth_model, senders_that_race_for_the_last_free_slot_lose_no_item) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    for (const std::uint32_t first : {2U, 8U})
      e.thread("sender", [&x, first] {
        x.tries_to_send(first);
        x.tries_to_send(first << 1U);
      });
    e.thread("receiver", [&x] {
      for (int i = 0; i < 2; ++i)
        if (const auto got = x.rx->try_recv()) x.note(*got);
    });
    e.finally([&x] {
      check(x.count(x.all_refused()) <= 1, "at most one of five finds no room");
      x.receives_what_is_there();
      check(x.all_received() == (x.all_sent() | 1U), "what was sent has come");
    });
  };
  expect_holds(exhaustive("growth_meet", 1), body);
  expect_holds(at_random("growth_meet random"), body);
}

// A receiver frees a place and so moves the limit, while the sender reaches the limit a second time.
TEST(channel_growth_model, ring_holds_exactly_its_capacity_after_the_head_has_moved) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    check(x.rx->try_recv() == 1U, "it is there");
    for (const std::uint32_t first : {1U, 8U})
      e.thread("sender", [&x, first] {
        for (const std::uint32_t item : {first, first << 1U, first << 2U}) x.tries_to_send(item);
      });
    e.finally([&x] {
      check(x.count(x.all_sent()) == 4 && x.tx->size() == 4, "it has room for four");
      x.receives_what_is_there();
      check(x.all_received() == x.all_sent(), "what was sent is there");
    });
  };
  expect_holds(exhaustive("growth_limit", 1), body);
  expect_holds(with_stale_reads("growth_limit stale", 2, 1), body);
  expect_holds(at_random("growth_limit random"), body);
}

// One allocation fails: the sender keeps its item or has sent it, the items stay, and the next try grows.
TEST(channel_growth_model, without_memory_the_channel_stays_as_it_is) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(3U);
    for (const std::uint32_t first : {1U, 4U})
      e.thread("sender", [&x, first] {
        x.tries_to_send(first);
        x.tries_to_send(first << 1U);
      });
    e.thread("receiver", [&x] {
      if (const auto got = x.rx->try_recv()) x.note(*got);
    });
    e.finally([&x] {
      check(x.count(x.all_sent()) >= 2, "the first places are always there");
      x.receives_what_is_there();
      check(x.all_received() == x.all_sent(), "what was sent is there");
      for (const std::uint32_t item : {16U, 32U, 64U}) x.tries_to_send(item);
      check((x.all_refused() & 48U) == 0, "the first places are there again");
      // One allocation fails at most: what was refused now can be sent after a receive or two.
      x.receives_what_is_there();
      for (const std::uint32_t item : {128U, 256U, 512U}) x.tries_to_send(item);
      check((x.all_refused() & 896U) == 0 || (x.all_refused() & 127U) == 0, "the ring grows the next time");
      x.receives_what_is_there();
      check(x.all_received() == x.all_sent() && x.tx->size() == 0, "what was sent is there");
    });
  };
  expect_holds(short_of_memory(exhaustive("growth_memory", 1)), body);
  expect_holds(short_of_memory(at_random("growth_memory random")), body);
}

// Senders wait where a growth has failed. Each is woken.
TEST(channel_growth_model, senders_that_wait_after_a_failed_growth_are_woken) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    for (const std::uint32_t item : {2U, 8U})
      e.thread("sender", [&x, item] {
        check(x.tx->blocking_send(item) == send_status::sent, "the channel is open");
        check(x.tx->blocking_send(item << 1U) == send_status::sent, "the channel is open");
      });
    e.thread("receiver", [&x] {
      for (int i = 0; i < 5; ++i) {
        const auto got = x.rx->blocking_recv();
        check(got.has_value(), "the channel is open");
        x.note(*got);
      }
    });
    e.finally([&x] { check(x.all_received() == 31 && x.tx->size() == 0, "all have come"); });
  };
  expect_holds(short_of_memory(exhaustive("growth_waits", 1)), body);
  expect_holds(short_of_memory(at_random("growth_waits random")), body);
}

// A sender that may wait finds a receiver's move in its way, and waits. It is woken for the last free place,
// and grows the ring under the lock of the list.
TEST(channel_growth_model, woken_sender_grows_the_ring) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(3U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    e.thread("receiver", [&x] {
      const auto got = x.rx->try_recv();
      check(got.has_value(), "one was there before");
      x.note(*got);
    });
    e.thread("sender", [&x] {
      for (const std::uint32_t item : {2U, 4U})
        check(x.tx->blocking_send(item) == send_status::sent, "the channel is open");
    });
    e.finally([&x] {
      for (const std::uint32_t item : {8U, 16U}) x.tries_to_send(item);
      check(x.tx->size() == 3 && x.all_sent() == 8, "it has room for three");
      x.receives_what_is_there();
      check(x.all_received() == 15, "all have come");
    });
  };
  expect_holds(exhaustive("growth_called", 3), body);
  expect_holds(at_random("growth_called random"), body);
}

// Closed beside a growth: what was sent arrives, and nothing is sent afterwards.
TEST(channel_growth_model, close_that_races_a_growth_loses_no_item) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    e.thread("sender", [&x] {
      for (const std::uint32_t item : {2U, 4U}) {
        // relaxed. A set of the model's.
        if (x.tx->try_send(item) == send_status::sent) x.sent.fetch_or(item, base::order::relaxed);
      }
    });
    e.thread("closer", [&x] { x.rx->close(); });
    e.thread("receiver", [&x] {
      while (const auto got = x.rx->blocking_recv()) x.note(*got);
    });
    e.finally([&x] { check(x.all_received() == (x.all_sent() | 1U), "what was sent has come"); });
  };
  expect_holds(exhaustive("growth_close"), body);
  expect_holds(at_random("growth_close random"), body);
}

// The oldest item is dropped only if there is no memory for more, and is the oldest then, too.
TEST(channel_growth_model, drop_oldest_drops_none_while_the_ring_can_grow) {
  const auto body = [](bool fails) {
    return [fails](execution& e) {
      auto& x = e.make<shared>(3U, options{.on_full = overflow::drop_oldest});
      for (const std::uint32_t item : {1U, 4U})
        e.thread("sender", [&x, item] {
          check(x.tx->try_send(item) == send_status::sent, "the new item gets in");
          check(x.tx->try_send(item << 1U) == send_status::sent, "the new item gets in");
        });
      e.thread("receiver", [&x] {
        if (const auto got = x.rx->try_recv()) x.note(*got);
      });
      e.finally([&x, fails] {
        x.receives_what_is_there();
        const std::uint64_t dropped = x.tx->stats().dropped_oldest;
        check(x.count(x.all_received()) + dropped == 4, "each was received, or dropped");
        check(dropped <= (fails ? 2 : 1), "no more are dropped than have no room");
      });
    };
  };
  expect_holds(exhaustive("growth_drop", 1), body(false));
  expect_holds(at_random("growth_drop random"), body(false));
  expect_holds(short_of_memory(exhaustive("growth_drop_memory", 1)), body(true));
  expect_holds(short_of_memory(at_random("growth_drop_memory random")), body(true));
}

// Drops in a ring that could not grow keep the limit before the tail: it grows as soon as it can.
TEST(channel_growth_model, a_ring_that_had_to_drop_grows_again) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U, options{.on_full = overflow::drop_oldest});
    e.thread("sender and receiver", [&x] {
      for (const std::uint32_t item : {1U, 2U, 4U}) x.tries_to_send(item);
      const std::uint64_t dropped = x.tx->stats().dropped_oldest;
      const auto got = x.rx->try_recv();
      check(got.has_value(), "the last ones are there");
      x.note(*got);
      for (std::uint32_t item = 8; x.tx->size() != 4; item <<= 1U) x.tries_to_send(item);
      check(x.tx->stats().dropped_oldest == dropped, "there is room for four");
      x.receives_what_is_there();
    });
  };
  expect_holds(short_of_memory(exhaustive("growth_after_drops")), body);
}

// The halves go in any order beside a growth, and the blocks and items with them.
TEST(channel_growth_model, blocks_are_freed_with_the_channel) {
  const auto body = model::halves_go_in_any_order([] { return made_at_last<model::counted>(3); }, 1, 1);
  expect_holds(short_of_memory(exhaustive("growth_halves")), body);
  expect_holds(at_random("growth_halves random"), body);
}

}  // namespace
}  // namespace rota::channel
