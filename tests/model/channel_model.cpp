// P11, the bounded channel: each item goes to one receiver, in order; no lost wakeup, no wait after the end.
#include "model/last_receiver.hpp"
#include "model/tries.hpp"
#include "model/waiting.hpp"

#include <rota/channel/bounded.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace rota::channel {
namespace {

using model::add_workers;
using model::at_random;
using model::canceller;
using model::exhaustive;
using model::expect_holds;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

/// Halves that threads of a scene take over. An item is a bit of a set.
struct shared {
  explicit shared(std::uint64_t capacity, options how = {}) {
    auto made = bounded<std::uint32_t>(capacity, how);
    tx.emplace(std::move(made.sender));
    rx.emplace(std::move(made.receiver));
  }

  std::optional<sender<std::uint32_t>> tx;
  std::optional<receiver<std::uint32_t>> rx;
  base::atomic<std::uint32_t> seen{0};
  model_scheduler s;

  void note(std::uint32_t item) {
    // relaxed. A set of the model's.
    check((seen.fetch_or(item, base::order::relaxed) & item) == 0, "each item comes once");
  }
  [[nodiscard]] std::uint32_t noted() const {
    // relaxed. A set of the model's.
    return seen.load(base::order::relaxed);
  }
  void drop_own() {
    tx.reset();
    rx.reset();
  }
  /// Before the scene begins, and after it.
  void run_all() {
    base::this_thread_locals().worker = &s.core();
    while (s.run_one()) {
    }
    base::this_thread_locals().worker = nullptr;
  }
};

void sends_all(sender<std::uint32_t>& tx, std::uint32_t first, std::uint32_t second) {
  check(tx.blocking_send(first) == send_status::sent, "nobody closes it");
  if (second != 0) check(tx.blocking_send(second) == send_status::sent, "nobody closes it");
}

// Two and two on one place. The end comes by the last sender's drop.
TEST(channel_model, two_senders_and_two_receivers_lose_no_item_with_capacity_one) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    for (const std::uint32_t item : {1U, 2U})
      e.thread("sender", [tx = *x.tx, item]() mutable {
        sends_all(tx, item, 0);
        auto gone = std::move(tx);
      });
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x, rx = *x.rx]() mutable {
        while (const auto got = rx.blocking_recv()) x.note(*got);
        auto gone = std::move(rx);
      });
    x.drop_own();
    e.finally([&x] { check(x.noted() == 3, "both have come"); });
  };
  expect_holds(exhaustive("channel_two_and_two", 1), body);
  expect_holds(at_random("channel_two_and_two random"), body);
}

// A receiver sees what was done before the send; one item is moved out before the next is moved in.
TEST(channel_model, capacity_one_delivers_one_item_at_a_time_in_order) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    auto& before = e.make<base::cell<std::uint32_t>>();
    e.thread("sender", [&before, tx = *x.tx]() mutable {
      before.set(7);
      sends_all(tx, 1, 2);
      auto gone = std::move(tx);
    });
    e.thread("receiver", [&before, rx = *x.rx]() mutable {
      check(rx.blocking_recv() == 1U, "the first comes first");
      check(before.get() == 7, "and brings along what was done before");
      check(rx.blocking_recv() == 2U, "then the second");
      check(!rx.blocking_recv().has_value(), "then the end");
    });
    x.drop_own();
  };
  expect_holds(exhaustive("channel_order"), body);
  expect_holds(at_random("channel_order random"), body);
}

// Another thread, which has never waited, reuses a free place.
TEST(channel_model, free_slot_is_reused_by_a_sender_that_never_waited) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    e.thread("comes by", [&x, tx = *x.tx]() mutable {
      if (tx.try_send(2) == send_status::sent) x.note(4);
    });
    e.thread("receiver", [&x, rx = *x.rx]() mutable {
      check(rx.try_recv() == 1U, "it is there");
      if (const auto got = rx.try_recv()) x.note(*got);
    });
    e.finally([&x] {
      if (const auto got = x.rx->try_recv()) x.note(*got);
      check(x.noted() == 0 || x.noted() == 6, "what was sent is received");
    });
  };
  expect_holds(exhaustive("channel_again", 3), body);
  expect_holds(at_random("channel_again random"), body);
}

// One receiver is in its move, and another has overtaken it: from then on two places have at most one item.
TEST(channel_model, try_send_returns_full_only_if_the_ring_is_full) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    for (const std::uint32_t item : {1U, 2U})
      check(x.tx->try_send(item) == send_status::sent, "there is room");
    e.thread("is late", [&x, rx = *x.rx]() mutable {
      if (const auto got = rx.try_recv()) x.note(*got);
    });
    e.thread("goes past", [&x, rx = *x.rx, tx = *x.tx]() mutable {
      const auto got = rx.try_recv();
      if (!got.has_value()) return;
      x.note(*got);
      const bool both_were_claimed = *got == 2;
      const send_status how = tx.try_send(4);
      check(how == send_status::sent || !both_were_claimed, "there is room");
    });
    e.thread("fills and empties", [&x, rx = *x.rx, tx = *x.tx]() mutable {
      static_cast<void>(tx.try_send(8));
      if (const auto got = rx.try_recv()) x.note(*got);
      static_cast<void>(tx.try_send(16));
    });
  };
  expect_holds(exhaustive("channel_full"), body);
  expect_holds(at_random("channel_full random"), body);
}

// The sender finds the place at the tail while its item is being moved out. Before it looks again, the tail
// and the head move on: a newer tail with an older head would look like a full ring.
TEST(channel_model, try_send_does_not_report_full_from_a_stale_head) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    for (const std::uint32_t item : {1U, 2U})
      check(x.tx->try_send(item) == send_status::sent, "there is room");
    e.thread("is late", [&x, rx = *x.rx]() mutable {
      if (const auto got = rx.try_recv()) x.note(*got);
    });
    e.thread("replaces", [&x, rx = *x.rx, tx = *x.tx]() mutable {
      const auto got = rx.try_recv();
      if (!got.has_value()) return;
      x.note(*got);
      if (*got == 2) check(tx.try_send(8) == send_status::sent, "there is room");
    });
    e.thread("sends", [tx = *x.tx]() mutable {
      if (tx.size() == 2) return;
      check(tx.try_send(4) == send_status::sent, "there is room");
    });
  };
  testing::options stale = exhaustive("channel_full_stale");
  stale.stale_reads = 1;  // of the head
  expect_holds(stale, body);
}

// The same of items.
TEST(channel_model, try_recv_returns_empty_only_if_the_ring_is_empty) {
  const auto body =
      model::a_try_says_empty_only_of_an_empty_channel([] { return bounded<std::uint32_t>(3); });
  expect_holds(exhaustive("channel_empty"), body);
  expect_holds(at_random("channel_empty random"), body);
  model::expect_one_is_always_there(
      "channel_never_empty", [] { return bounded<std::uint32_t>(2); }, model::sends_and_receives);
  const auto drops = [](auto& tx, auto& /*rx*/) {
    for (const std::uint32_t item : {2U, 4U})
      check(tx.try_send(item) == send_status::sent, "the oldest goes");
  };
  model::expect_one_is_always_there(
      "channel_drops_never_empty",
      [] { return bounded<std::uint32_t>(2, {.on_full = overflow::drop_oldest}); },
      drops);
  model::expect_one_is_always_there(
      "channel_drops_the_only_one",
      [] { return bounded<std::uint32_t>(1, {.on_full = overflow::drop_oldest}); },
      drops);
}

// Waiting receivers, and a barging one: each item wakes one of those that still wait.
TEST(channel_model, barging_receiver_causes_no_lost_wakeup) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x, rx = *x.rx]() mutable {
        const auto got = rx.blocking_recv();
        check(got.has_value(), "there are enough");
        x.note(*got);
      });
    e.thread("sender", [&x, tx = *x.tx]() mutable {
      check(tx.try_send(1) == send_status::sent && tx.try_send(2) == send_status::sent, "there is room");
      if (const auto got = x.rx->try_recv()) {
        x.note(*got);
        sends_all(tx, 4, 0);
      }
    });
    e.finally([&x] { check(x.noted() == 3 || x.noted() == 7, "all have come"); });
  };
  expect_holds(exhaustive("channel_comes_by"), body);
  expect_holds(at_random("channel_comes_by random"), body);
}

// The same for senders: two wait for room.
TEST(channel_model, space_taken_by_another_sender_causes_no_lost_wakeup) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    for (const std::uint32_t item : {2U, 4U})
      e.thread("sender", [tx = *x.tx, item]() mutable { sends_all(tx, item, 0); });
    e.thread("receiver", [&x, rx = *x.rx]() mutable {
      for (int i = 0; i < 3; ++i) {
        const auto got = rx.blocking_recv();
        check(got.has_value(), "nobody closes it");
        x.note(*got);
      }
    });
    e.finally([&x] { check(x.noted() == 7, "all have come"); });
  };
  expect_holds(exhaustive("channel_room"), body);
  expect_holds(at_random("channel_room random"), body);
}

task<void> receives(shared& x) {
  const auto got = co_await x.rx->recv();
  if (got.has_value()) x.note(*got);
}
struct two_that_wait : shared {
  two_that_wait() : shared(1) { run_all(); }
  watched<void> first{s, receives(*this)};
  watched<void> second{s, receives(*this)};
  canceller of_first{first.header()};
};

// Regression row 22. Two tasks wait, and the first is cancelled beside two sends.
TEST(channel_model, a_cancelled_receiver_loses_nothing) {
  const auto body = [](execution& e) {
    auto& x = e.make<two_that_wait>();
    add_workers(e, x.s, 1);
    e.thread("sender", [&x] { sends_all(*x.tx, 1, 0); });
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      sends_all(*x.tx, 2, 0);
    });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      while (const auto got = x.rx->try_recv()) x.note(*got);
      check(x.noted() == 3, "both are there");
    });
  };
  expect_holds(exhaustive("channel_cancel"), body);
  expect_holds(at_random("channel_cancel random"), body);
}

/// Gives back what it gets.
task<void> passes_on(shared& x) {
  const auto got = co_await x.rx->recv();
  check(got.has_value() && x.tx->try_send(*got) == send_status::sent, "nobody closes it, and there is room");
}

// One item. The waiter in front is cancelled, or gives it back: the thread behind it gets the item.
TEST(channel_model, item_granted_to_a_cancelled_receiver_reaches_the_next_receiver) {
  struct scene : shared {
    scene() : shared(2) { run_all(); }
    watched<void> first{s, passes_on(*this)};
    canceller of_first{first.header()};
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("patient", [&x] { check(x.rx->blocking_recv() == 1U, "there is one for it"); });
    e.thread("sender", [&x] { check(x.tx->try_send(1) == send_status::sent, "there is room"); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
  };
  expect_holds(exhaustive("channel_called"), body);
  expect_holds(at_random("channel_called random"), body);
}

/// Takes out again what it has sent.
task<void> sends_and_takes_back(shared& x) {
  const send_status how = co_await x.tx->send(2);
  check(how == send_status::sent && x.rx->try_recv() == 2U, "nobody closes it, and it is there");
}

// The same for a free place: one place becomes free.
TEST(channel_model, space_granted_to_a_cancelled_sender_reaches_the_next_sender) {
  struct scene : shared {
    scene() : shared(1) {
      check(tx->try_send(1) == send_status::sent, "there is room");
      run_all();
    }
    watched<void> first{s, sends_and_takes_back(*this)};
    canceller of_first{first.header()};
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("patient", [&x] { sends_all(*x.tx, 4, 0); });
    e.thread("receiver", [&x] { check(x.rx->try_recv() == 1U, "it is there"); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { check(x.rx->try_recv() == 4U, "it was sent"); });
  };
  expect_holds(exhaustive("channel_room_called"), body);
  expect_holds(at_random("channel_room_called random"), body);
}

// A woken waiter gives up, while the others stand behind it: thread and task, deadline and send at once.
TEST(channel_model, timed_out_receiver_passes_its_wakeup_on) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    e.thread("late", [&x, rx = *x.rx]() mutable {
      if (const auto got = rx.blocking_recv_for(std::chrono::milliseconds(1))) x.note(*got);
    });
    e.thread("patient", [&x, rx = *x.rx]() mutable {
      while (const auto got = rx.blocking_recv()) x.note(*got);
    });
    e.thread("sender", [tx = std::move(*x.tx)]() mutable {
      check(tx.try_send(1) == send_status::sent && tx.try_send(2) == send_status::sent, "there is room");
      auto gone = std::move(tx);
    });
    x.drop_own();
    e.finally([&x] { check(x.noted() == 3, "both have come"); });
  };
  expect_holds(exhaustive("channel_late"), body);
  expect_holds(at_random("channel_late random"), body);
}

// A close beside two waiters and one sender: the sent item arrives, and both waiters see the end.
TEST(channel_model, close_wakes_all_waiting_receivers) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    auto& done_before = e.make<base::cell<int>>();
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x, &done_before, rx = *x.rx]() mutable {
        if (const auto got = rx.blocking_recv()) {
          x.note(*got);
        } else {
          check(done_before.get() == 1, "what came before the close is seen");
        }
      });
    e.thread("closer", [&x, &done_before] {
      done_before.set(1);
      x.tx->close();
    });
    e.thread("sender", [&x] {
      if (x.tx->try_send(1) == send_status::sent) x.note(2);
    });
    e.finally([&x] { check(x.noted() == 0 || x.noted() == 3, "what was sent has come"); });
  };
  expect_holds(exhaustive("channel_close"), body);
  expect_holds(at_random("channel_close random"), body);
}

TEST(channel_model, close_wakes_a_sender_that_waits_for_space) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    e.thread("sender", [&x, tx = *x.tx]() mutable {
      if (tx.blocking_send(2) == send_status::sent) x.note(4);
    });
    e.thread("closer", [&x] { x.rx->close(); });
    e.finally([&x] {
      check(x.noted() == 0, "there was no room");
      check(x.rx->try_recv() == 1U && !x.rx->try_recv(), "what was there has stayed");
    });
  };
  expect_holds(exhaustive("channel_close_room"), body);
  expect_holds(at_random("channel_close_room random"), body);
}

TEST(channel_model, halves_dropped_in_any_order_destroy_the_items) {
  const auto body = model::halves_go_in_any_order([] { return bounded<model::counted>(2U); }, 0, 1);
  expect_holds(exhaustive("channel_halves"), body);
  expect_holds(at_random("channel_halves random"), body);
}

TEST(channel_model, no_item_outlives_the_last_receiver) {
  const auto body = model::no_item_outlives_the_last_receiver([] { return bounded<model::counted>(2U); });
  expect_holds(exhaustive("channel_last_receiver"), body);
  expect_holds(at_random("channel_last_receiver random"), body);
  const auto dropping = model::no_item_outlives_the_last_receiver(
      [] { return bounded<model::counted>(1U, {.on_full = overflow::drop_oldest}); });
  expect_holds(exhaustive("channel_last_receiver_drop"), dropping);
  expect_holds(at_random("channel_last_receiver_drop random"), dropping);
}

TEST(channel_model, dropped_item_is_counted_once) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U, options{.on_full = overflow::drop_oldest});
    auto& sent = e.make<base::atomic<std::uint64_t>>(0U);
    for (const std::uint32_t item : {1U, 2U})
      e.thread("sender", [&x, &sent, item] {
        // relaxed. A count of the model's.
        if (x.tx->try_send(item) == send_status::sent) sent.fetch_add(1, base::order::relaxed);
      });
    e.thread("receiver", [&x] {
      if (const auto got = x.rx->try_recv()) x.note(*got);
    });
    e.finally([&x, &sent] {
      while (const auto got = x.rx->try_recv()) x.note(*got);
      const auto count = static_cast<std::uint64_t>(__builtin_popcount(x.noted()));
      const channel_stats stats = x.tx->stats();
      // relaxed. All have ended.
      check(sent.load(base::order::relaxed) == count + stats.dropped_oldest,
            "sent: received, or dropped later");
      check(count + stats.dropped_oldest == 2 && stats.dropped_newest == 0, "the new one is never dropped");
    });
  };
  expect_holds(exhaustive("channel_dropped"), body);
  expect_holds(at_random("channel_dropped random"), body);
}

// Items from before a drop come before it, or not at all. The new item wakes the waiting receiver.
TEST(channel_model, a_receiver_that_waits_gets_the_item_that_replaces_another) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U, options{.on_full = overflow::drop_oldest});
    auto& before = e.make<base::cell<int>>();
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    e.thread("receiver", [&before, rx = *x.rx]() mutable {
      std::uint32_t last = 0;
      while (last != 2) {
        const auto got = rx.blocking_recv();
        check(got.has_value() && *got > last, "they come in order");
        last = *got;
      }
      check(before.get() == 7, "the receive comes after what was done before the send");
    });
    e.thread("sender", [&x, &before] {
      before.set(7);
      check(x.tx->try_send(2) == send_status::sent, "the oldest goes");
    });
  };
  expect_holds(exhaustive("channel_replaced"), body);
  expect_holds(at_random("channel_replaced random"), body);
}

// A send from before a close has completed its drop when the close returns: the first item received then is
// the last one sent. The drops run side by side, so the closing thread may know the head of neither.
TEST(channel_model, dropped_item_is_not_received_after_a_close) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U, options{.on_full = overflow::drop_oldest});
    check(x.tx->try_send(1) == send_status::sent, "there is room");
    for (const std::uint32_t item : {2U, 4U})
      e.thread("drops", [&x, item] { static_cast<void>(x.tx->try_send(item)); });
    e.thread("closes and receives", [&x] {
      x.rx->close();
      check(x.rx->try_recv().has_value(), "one is always there");
      x.note(1);
    });
    e.finally([&x] { check(x.noted() == 1 && !x.rx->try_recv().has_value(), "that was the last one"); });
  };
  testing::options stale = exhaustive("channel_close_drop");
  stale.stale_reads = 1;  // of the head
  expect_holds(stale, body);
  expect_holds(at_random("channel_close_drop random"), body);
}

/// A way in which a thread learns of a close, besides its own close.
struct way_to_hear {
  const char* name;
  bool (*is_told)(shared& x);
};
constexpr way_to_hear ways_to_hear[] = {
    {"try", [](shared& x) { return x.tx->try_send(8) == send_status::closed; }},
    {"send", [](shared& x) { return x.tx->blocking_send(8) == send_status::closed; }},
    {"is_closed", [](shared& x) { return x.rx->is_closed(); }},
};

// The same for a thread that learns of the close while the close itself still waits.
TEST(channel_model, thread_that_observes_a_close_waits_for_a_drop_in_progress) {
  for (const way_to_hear& way : ways_to_hear) {
    const auto body = [&way](execution& e) {
      auto& x = e.make<shared>(1U, options{.on_full = overflow::drop_oldest});
      check(x.tx->try_send(1) == send_status::sent, "there is room");
      e.thread("drops", [&x] { static_cast<void>(x.tx->try_send(2)); });
      e.thread("closes", [&x] { x.rx->close(); });
      e.thread("hears of it", [&x, &way] {
        if (way.is_told(x) && x.rx->try_recv().has_value()) x.note(1);
      });
      e.finally([&x] { check(x.noted() == 0 || !x.rx->try_recv().has_value(), "that was the last one"); });
    };
    const std::string name = std::string("channel_told_by_") + way.name;
    expect_holds(exhaustive(name), body);
  }
}

// The same with reads of an old head. The place was used before, so an old head does not show too many.
TEST(channel_model, dropped_item_is_not_received_after_a_close_was_observed) {
  for (const way_to_hear& way : ways_to_hear) {
    const auto body = [&way](execution& e) {
      auto& x = e.make<shared>(1U, options{.on_full = overflow::drop_oldest});
      check(x.tx->try_send(1) == send_status::sent, "there is room");
      e.thread("uses the place again", [&x] {
        static_cast<void>(x.rx->try_recv());
        check(x.tx->try_send(2) == send_status::sent, "there is room, or the oldest goes");
        x.tx->close();
      });
      e.thread("drops", [&x] { static_cast<void>(x.tx->try_send(4)); });
      e.thread("hears of it", [&x, &way] {
        if (way.is_told(x) && x.rx->try_recv().has_value()) x.note(1);
      });
      e.finally([&x] { check(x.noted() == 0 || !x.rx->try_recv().has_value(), "that was the last one"); });
    };
    const std::string name = std::string("channel_told_stale_by_") + way.name;
    const std::string drawn = name + " random";
    testing::options stale = exhaustive(name);
    stale.stale_reads = 1;  // of the head
    expect_holds(stale, body);
    expect_holds(at_random(drawn), body);
  }
}

task<void> sends_beside_a_move(shared& x) {
  const send_status how = co_await x.tx->send(2);
  check(how != send_status::closed, "the cancellation came before the close");
}

// With these policies a send may wait for a move. If a close ends that wait, a cancelled task does not go on.
TEST(channel_model, cancelled_send_unwinds_when_a_close_ends_its_wait_for_a_move) {
  for (const overflow policy : {overflow::reject, overflow::drop_newest, overflow::drop_oldest}) {
    struct scene : shared {
      explicit scene(overflow how) : shared(1, options{.on_full = how}) {
        check(tx->try_send(1) == send_status::sent, "there is room");
      }
      watched<void> sends{s, sends_beside_a_move(*this)};
      canceller of_it{sends.header()};
    };
    const auto body = [policy](execution& e) {
      auto& x = e.make<scene>(policy);
      add_workers(e, x.s, 1);
      e.thread("receiver", [&x] { static_cast<void>(x.rx->try_recv()); });
      e.thread("cancels, then closes", [&x] {
        x.of_it.cancel();
        x.rx->close();
      });
    };
    const std::string name = "channel_close_in_wait_" + std::to_string(static_cast<int>(policy));
    expect_holds(exhaustive(name), body);
  }
}

}  // namespace
}  // namespace rota::channel
