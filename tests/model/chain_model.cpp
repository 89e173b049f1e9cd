// P11, the unbounded channel: blocks follow each other and are reused. A block has two places here.
#include "model/last_receiver.hpp"
#include "model/tries.hpp"
#include "model/waiting.hpp"

#include <rota/channel/unbounded.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace rota::channel {
namespace {

using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

using item = std::uint32_t;  // a bit of a set

/// Halves that threads of a scene use, or take over.
struct shared {
  shared() {
    auto made = unbounded<item>();
    tx.emplace(std::move(made.sender));
    rx.emplace(std::move(made.receiver));
  }

  std::optional<unbounded_sender<item>> tx;
  std::optional<unbounded_receiver<item>> rx;
  base::atomic<item> seen{0};
  base::atomic<item> sent{0};
  model_scheduler s;

  void send(item one) {
    if (tx->try_send(one) != send_status::sent) return;
    // relaxed. A set of the model's.
    sent.fetch_or(one, base::order::relaxed);
  }
  void note(item one) {
    // relaxed. A set of the model's.
    check((seen.fetch_or(one, base::order::relaxed) & one) == 0, "each item comes once");
  }
  void try_one() {
    if (const auto got = rx->try_recv()) note(*got);
  }
  /// At the end: each sent item has come, or is still there.
  void expect_all() {
    while (const auto got = rx->try_recv()) note(*got);
    // relaxed. All have ended.
    check(seen.load(base::order::relaxed) == sent.load(base::order::relaxed), "what was sent has come");
  }
  void run_all() {
    base::this_thread_locals().worker = &s.core();
    while (s.run_one()) {
    }
    base::this_thread_locals().worker = nullptr;
  }
};

/// Sends and takes `count` items, one after the other: blocks are reused.
void goes_round(shared& x, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    x.send(item{1} << i);
    x.try_one();
  }
}

// The receiver reads the head, and sets its bit when that block is reused, or is about to be. The item for it
// is in the next block, or in the same one.
TEST(chain_model, waiter_bit_is_set_in_the_right_slot_when_a_block_is_reused) {
  for (const unsigned rounds : {2U, 4U}) {
    expect_holds_everywhere("chain_bit_" + std::to_string(rounds), [rounds](execution& e) {
      auto& x = e.make<shared>();
      e.thread("receiver", [&x] {
        const auto got = x.rx->blocking_recv();
        check(got.has_value(), "nobody closes it");
        x.note(*got);
      });
      e.thread("goes round", [&x, rounds] {
        goes_round(x, rounds);
        x.send(1U << 20U);
      });
      e.finally([&x] { x.expect_all(); });
    });
  }
}

// Four items: a block ends in the middle.
TEST(chain_model, two_senders_and_two_receivers_lose_no_item_at_a_block_end) {
  expect_holds_everywhere(
      "chain_two_and_two",
      [](execution& e) {
        auto& x = e.make<shared>();
        for (const item first : {1U, 4U})
          e.thread("sender", [first, tx = *x.tx]() mutable {
            for (const item one : {first, 2 * first})
              check(tx.try_send(one) == send_status::sent, "it is open");
            auto gone = std::move(tx);
          });
        for (int i = 0; i < 2; ++i)
          e.thread("receiver", [&x, rx = *x.rx]() mutable {
            item before = 0;
            while (const auto got = rx.blocking_recv()) {
              check((before & (*got << 1U) & 10U) == 0, "those of one sender come in order");
              before |= *got;
              x.note(*got);
            }
            auto gone = std::move(rx);
          });
        x.tx.reset();
        x.rx.reset();
        // relaxed. All have ended.
        e.finally([&x] { check(x.seen.load(base::order::relaxed) == 15, "all have come"); });
      },
      1);
}

// A receiver sees what was done before the send, also through blocks and places that are reused.
TEST(chain_model, receive_sees_writes_made_before_the_send) {
  static constexpr int count = 5;
  struct scene : shared {
    base::cell<int> done[count];
  };
  expect_holds_everywhere("chain_order", [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("sender", [&x] {
      for (int i = 0; i < count; ++i) {
        x.done[i].set(i + 1);
        check(x.tx->try_send(static_cast<item>(i)) == send_status::sent, "nobody closes it");
      }
      x.tx->close();
    });
    e.thread("receiver", [&x] {
      for (int i = 0; i < count; ++i) {
        check(x.rx->blocking_recv() == static_cast<item>(i), "they come in order");
        check(x.done[i].get() == i + 1, "and bring along what was done before");
      }
      check(!x.rx->blocking_recv().has_value(), "then the end");
    });
  });
}

// A slow receiver: its block is reused twice between its reads. It takes what is there then.
TEST(chain_model, slow_receiver_takes_the_current_item_of_a_reused_block) {
  expect_holds_everywhere("chain_slow_receiver", [](execution& e) {
    auto& x = e.make<shared>();
    x.send(1U << 20U);
    e.thread("slow", [&x] { x.try_one(); });
    e.thread("goes round", [&x] { goes_round(x, 6); });
    e.finally([&x] { x.expect_all(); });
  });
}

TEST(chain_model, slow_sender_puts_its_item_into_the_right_slot_of_a_reused_block) {
  expect_holds_everywhere("chain_slow_sender", [](execution& e) {
    auto& x = e.make<shared>();
    x.send(1U << 20U);
    e.thread("slow", [&x] { x.send(1U << 21U); });
    e.thread("goes round", [&x] { goes_round(x, 5); });
    e.finally([&x] { x.expect_all(); });
  });
}

// Two receivers take from one block, and one is slow: its place stays until it has moved its item out.
TEST(chain_model, block_is_not_reused_while_a_slow_receiver_takes_its_item) {
  expect_holds_everywhere("chain_room", [](execution& e) {
    auto& x = e.make<shared>();
    for (const item one : {1U << 20U, 1U << 21U, 1U << 22U}) x.send(one);
    e.thread("slow", [&x] { x.try_one(); });
    e.thread("goes round", [&x] {
      x.try_one();
      goes_round(x, 6);
    });
    e.finally([&x] { x.expect_all(); });
  });
}

// At the end of a block two senders come to the next one at once.
TEST(chain_model, two_senders_enter_a_block_at_once) {
  expect_holds_everywhere("chain_enter", [](execution& e) {
    auto& x = e.make<shared>();
    for (const item one : {1U, 8U})
      e.thread("sender", [&x, one] {
        x.send(one);
        x.send(2 * one);
      });
    e.finally([&x] { x.expect_all(); });
  });
}

// Two wait, two send, in every order of publication, and with either place missing then.
TEST(chain_model, receiver_does_not_wait_for_an_item_that_is_there) {
  expect_holds_everywhere(
      "chain_waits",
      [](execution& e) {
        auto& x = e.make<shared>();
        for (int i = 0; i < 2; ++i)
          e.thread("receiver", [&x] {
            const auto got = x.rx->blocking_recv();
            check(got.has_value(), "nobody closes it");
            x.note(*got);
          });
        for (const item one : {1U, 2U}) e.thread("sender", [&x, one] { x.send(one); });
        e.finally([&x] { x.expect_all(); });
      },
      1);
}

// A close at the end of a block, beside sends: sent items arrive, and all receivers see the end.
TEST(chain_model, close_that_races_sends_loses_no_sent_item) {
  expect_holds_everywhere("chain_close", [](execution& e) {
    auto& x = e.make<shared>();
    auto& done_before = e.make<base::cell<int>>();
    x.send(4);
    e.thread("sender", [&x] {
      x.send(1);
      x.send(2);
    });
    e.thread("closer", [&x, &done_before] {
      done_before.set(1);
      x.rx->close();
    });
    e.thread("receiver", [&x, &done_before] {
      while (const auto got = x.rx->blocking_recv()) x.note(*got);
      check(done_before.get() == 1, "what came before the close is seen");
    });
    e.finally([&x] { x.expect_all(); });
  });
}

TEST(chain_model, close_wakes_all_waiting_receivers) {
  expect_holds_everywhere("chain_close_all", [](execution& e) {
    auto& x = e.make<shared>();
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x] {
        while (const auto got = x.rx->blocking_recv()) x.note(*got);
      });
    e.thread("sender", [&x] {
      x.send(1);
      x.tx->close();
    });
    e.finally([&x] { x.expect_all(); });
  });
}

// The last receiver goes with items in two blocks, and while places are claimed that have none yet.
TEST(chain_model, halves_dropped_in_any_order_destroy_the_items) {
  expect_holds_everywhere("chain_halves",
                          model::halves_go_in_any_order([] { return unbounded<model::counted>(); }, 0, 2));
}

task<void> receives(shared& x) {
  const auto got = co_await x.rx->recv();
  if (got.has_value()) x.note(*got);
}

// One sender is in the middle of its move, and another has gone past it.
TEST(chain_model, try_recv_returns_empty_only_if_the_chain_is_empty) {
  expect_holds_everywhere("chain_empty",
                          model::a_try_says_empty_only_of_an_empty_channel([] { return unbounded<item>(); }));
  model::expect_one_is_always_there(
      "chain_never_empty", [] { return unbounded<item>(); }, model::sends_and_receives);
}

// A receiver comes by an old pointer to a block that is reused: it sees the block as it is now, and empty.
TEST(chain_model, receiver_with_an_old_pointer_sees_a_reused_block_as_empty) {
  testing::options stale = model::exhaustive("chain_again_stale", 2);
  stale.stale_reads = 2;
  model::expect_holds(stale, [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("goes round", [&x] { goes_round(x, 4); });
    e.thread("receiver", [&x, rx = *x.rx]() mutable {
      if (const auto got = rx.try_recv()) x.note(*got);
    });
    e.finally([&x] { x.expect_all(); });
  });
}

TEST(chain_model, no_item_outlives_the_last_receiver) {
  const auto body = model::no_item_outlives_the_last_receiver([] { return unbounded<model::counted>(); });
  expect_holds_everywhere("chain_last_receiver", body);
}

// Two tasks wait, and the first is cancelled beside two sends.
TEST(chain_model, a_cancelled_receiver_loses_nothing) {
  struct scene : shared {
    scene() { run_all(); }
    watched<void> first{s, receives(*this)};
    watched<void> second{s, receives(*this)};
    canceller of_first{first.header()};
  };
  expect_holds_everywhere("chain_cancel", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("sender", [&x] { x.send(1); });
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.send(2);
    });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      x.expect_all();
    });
  });
}

}  // namespace
}  // namespace rota::channel
