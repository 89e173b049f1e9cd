// P11, the channel bounded by weight: weight comes back once, the line is kept, no wait for what is there.
#include "model/last_receiver.hpp"
#include "model/tries.hpp"
#include "model/waiting.hpp"

#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/select.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
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

struct parcel {
  std::uint32_t bit = 0;  // of a set
  std::uint64_t weight = 0;
};

auto parcels(std::uint64_t capacity, std::uint64_t max_weight) {
  return bounded_by_weight<parcel>(
      capacity, max_weight, [](const parcel& item) noexcept { return item.weight; });
}
/// For scenes that other channels have, too: each item weighs 1.
template <class T>
auto ones(std::uint64_t count) {
  return bounded_by_weight<T>(count, count, [](const T& /*item*/) noexcept { return 1U; });
}

using tx_of = weighed_sender<parcel>;
using rx_of = weighed_receiver<parcel>;

/// Halves that threads of a scene use, or take over.
struct shared {
  shared(std::uint64_t capacity, std::uint64_t max_weight) : most(max_weight) {
    auto made = parcels(capacity, max_weight);
    tx.emplace(std::move(made.sender));
    rx.emplace(std::move(made.receiver));
  }

  std::uint64_t most;
  std::optional<tx_of> tx;
  std::optional<rx_of> rx;
  base::atomic<std::uint32_t> seen{0};
  model_scheduler s;

  void note(std::uint32_t bit) {
    // relaxed. A set of the model's.
    check((seen.fetch_or(bit, base::order::relaxed) & bit) == 0, "each item comes once");
  }
  [[nodiscard]] std::uint32_t noted() const {
    // relaxed. As in note().
    return seen.load(base::order::relaxed);
  }
  void send(parcel one) { check(tx->blocking_send(one) == send_status::sent, "no thread closes it"); }
  void fill(parcel one) { check(tx->try_send(one) == send_status::sent, "there is room"); }
  void try_one() {
    if (const auto got = rx->try_recv()) note(got->bit);
  }
  void receive() {
    const auto got = rx->blocking_recv();
    check(got.has_value(), "there is one");
    note(got->bit);
  }
  /// In the end. All of the weight is there again: no more, and no less.
  void expect_empty() {
    while (const auto got = rx->try_recv()) note(got->bit);
    check(rx->size() == 0 && rx->weight() == 0, "nothing is left");
    if (tx->is_closed()) return;
    fill({0, most});
    check(tx->try_send({0, 1}) == send_status::full, "and it is not there twice");
  }
  void drop_own() {
    tx.reset();
    rx.reset();
  }
  void run_all() {
    base::this_thread_locals().worker = &s.core();
    while (s.run_one()) {
    }
    base::this_thread_locals().worker = nullptr;
  }
};

task<void> sends(shared& x, parcel one) {
  const send_status how = co_await x.tx->send(one);
  check(how == send_status::sent, "no thread closes it");
}
task<void> receives(shared& x) {
  const auto got = co_await x.rx->recv();
  if (got.has_value()) x.note(got->bit);
}

// ---- senders

// Two and two with room for one. The end comes by the last sender's drop.
TEST(weighed_model, two_senders_and_two_receivers) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(4U, 2U);
    for (const std::uint32_t bit : {1U, 2U})
      e.thread("sender", [tx = *x.tx, bit]() mutable {
        check(tx.blocking_send({bit, 2}) == send_status::sent, "no thread closes it");
        auto gone = std::move(tx);
      });
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x, rx = *x.rx]() mutable {
        while (const auto got = rx.blocking_recv()) x.note(got->bit);
        auto gone = std::move(rx);
      });
    x.drop_own();
    e.finally([&x] { check(x.noted() == 3, "both have come"); });
  };
  expect_holds_everywhere("weighed_two_and_two", body, 1);
}

// A receiver sees what was done before the send; one item is moved out before the next is moved in.
TEST(weighed_model, items_arrive_in_order_and_publish_what_happened_before) {
  expect_holds_everywhere("weighed_order", [](execution& e) {
    auto& x = e.make<shared>(1U, 9U);
    auto& before = e.make<base::cell<int>>();
    e.thread("sender", [&x, &before] {
      before.set(7);
      x.send({1, 1});
      x.send({2, 1});
    });
    e.thread("receiver", [&x, &before] {
      x.receive();
      check(x.noted() == 1 && before.get() == 7, "the first comes first");
      x.receive();
    });
    e.finally([&x] { x.expect_empty(); });
  });
}

// A heavy item waits for two light ones to leave, and another sender comes at the same time.
TEST(weighed_model, the_weight_that_comes_back_wakes_the_sender_that_waits_for_it) {
  expect_holds_everywhere("weighed_comes_back", [](execution& e) {
    auto& x = e.make<shared>(4U, 3U);
    x.fill({1, 2});
    x.fill({2, 1});
    e.thread("heavy", [&x] { x.send({4, 3}); });
    e.thread("light", [&x] { x.send({8, 1}); });
    e.thread("receiver", [&x] {
      for (int i = 0; i < 4; ++i) x.receive();
    });
    e.finally([&x] {
      check(x.noted() == 15, "all have come");
      x.expect_empty();
    });
  });
}

// A light item would fit, but a heavy one waits in front of it.
TEST(weighed_model, a_light_item_does_not_overtake_a_heavy_one) {
  struct scene : shared {
    scene() : shared(4, 3) {
      fill({1, 2});
      run_all();
    }
    watched<void> heavy{s, sends(*this, {2, 3})};
  };
  struct waiting_scene : scene {
    waiting_scene() { run_all(); }
  };
  expect_holds_everywhere("weighed_overtakes", [](execution& e) {
    auto& x = e.make<waiting_scene>();
    add_workers(e, x.s, 1);
    e.thread("light", [&x] {
      for (int i = 0; i < 2; ++i)
        check(x.tx->try_send({4, 1}) == send_status::full, "it would be in front of the heavy one");
      check(x.tx->blocking_send_for(std::chrono::milliseconds(1), {4, 1}) == send_status::timed_out,
            "the same");
    });
    e.thread("receiver", [&x] { x.receive(); });
    e.finally([&x] {
      x.expect_empty();
      check(x.noted() == 3, "the heavy one went in");
    });
  });
}

/// A heavy sender waits in front of a light one.
struct two_that_wait : shared {
  explicit two_that_wait(std::uint64_t light) : shared(4, 3), weight(light) {
    fill({1, 2});
    first.emplace(s, sends(*this, {2, 3}));
    run_all();
    second.emplace(s, sends(*this, {4, weight}));
    run_all();
    of_first.emplace(first->header());
  }
  std::uint64_t weight;
  std::optional<watched<void>> first;
  std::optional<watched<void>> second;
  std::optional<canceller> of_first;
};

// The heavy one is cancelled: only that makes space for the light one behind it.
TEST(weighed_model, a_cancelled_sender_in_front_lets_the_next_send) {
  expect_holds_everywhere("weighed_cancel", [](execution& e) {
    auto& x = e.make<two_that_wait>(1U);
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] { x.of_first->cancel(); });
    e.finally([&x] {
      check(x.first->was_cancelled() && !x.second->was_cancelled(), "the light one was not asked to");
      x.expect_empty();
      check(x.noted() == 5, "the light one went in");
    });
  });
}

// The same beside the receive that makes room for one of them.
TEST(weighed_model, a_sender_cancelled_as_space_is_freed_passes_the_space_on) {
  expect_holds_everywhere("weighed_cancel_room", [](execution& e) {
    auto& x = e.make<two_that_wait>(2U);
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] { x.of_first->cancel(); });
    e.thread("receiver", [&x] {
      while ((x.noted() & 4U) == 0) x.receive();
    });
    e.finally([&x] {
      check(!x.second->was_cancelled(), "it was not asked to");
      x.expect_empty();
    });
  });
}

// It was granted space, and is cancelled before it runs: the thread behind it gets the space.
TEST(weighed_model, space_granted_to_a_cancelled_sender_goes_to_the_next) {
  struct scene : shared {
    scene() : shared(4, 3) {
      fill({1, 3});
      first.emplace(s, takes_back(*this));
      run_all();
      of_first.emplace(first->header());
    }
    static task<void> takes_back(shared& x) {
      const parcel mine{2, 3};
      const send_status how = co_await x.tx->send(mine);
      check(how == send_status::sent, "no thread closes it");
      x.receive();
    }
    std::optional<watched<void>> first;
    std::optional<canceller> of_first;
  };
  expect_holds_everywhere("weighed_granted", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("patient", [&x] { x.send({4, 3}); });
    e.thread("receiver", [&x] { check(x.rx->try_recv()->bit == 1, "it is there"); });
    e.thread("canceller", [&x] { x.of_first->cancel(); });
    e.finally([&x] { x.expect_empty(); });
  });
}

// A thread gives up beside the receive that makes room for it.
TEST(weighed_model, a_sender_that_times_out_lets_the_next_send) {
  expect_holds_everywhere("weighed_late", [](execution& e) {
    auto& x = e.make<shared>(4U, 3U);
    x.fill({1, 2});
    e.thread("late", [&x] {
      if (x.tx->blocking_send_for(std::chrono::milliseconds(1), {2, 3}) == send_status::sent) x.receive();
    });
    e.thread("patient", [&x] { x.send({4, 1}); });
    e.finally([&x] {
      x.expect_empty();
      check((x.noted() & 5U) == 5, "the light one went in");
    });
  });
}

// More senders wait than one section wakes.
TEST(weighed_model, one_received_item_admits_many_waiting_senders) {
  struct scene : shared {
    scene() : shared(4, 3) {
      fill({1, 3});
      for (int i = 0; i < 3; ++i) {
        all[i].emplace(s, sends(*this, {2U << i, 1}));
        run_all();
      }
    }
    std::optional<watched<void>> all[3];
  };
  expect_holds_everywhere("weighed_many", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("receiver", [&x] { x.receive(); });
    e.thread("comes by", [&x] {
      check(x.tx->try_send({16, 1}) == send_status::full, "the room is kept for those that wait");
    });
    e.finally([&x] {
      check(x.rx->weight() == 3, "all three are in");
      x.expect_empty();
      check(x.noted() == 15, "all have come");
    });
  });
}

// ---- weight

// It is never more than the bound, but for one item that is alone.
TEST(weighed_model, an_item_that_is_too_heavy_is_alone) {
  expect_holds_everywhere("weighed_alone", [](execution& e) {
    auto& x = e.make<shared>(4U, 2U);
    x.fill({1, 1});
    e.thread("heavy", [&x] { x.send({2, 5}); });
    e.thread("light", [&x] {
      const send_status how = x.tx->try_send({4, 1});
      check(how == send_status::sent || how == send_status::full, "no thread closes it");
      const std::uint64_t now = x.tx->weight();
      check(now <= 2 || now == 5, "it is alone");
    });
    e.thread("receiver", [&x] {
      while ((x.noted() & 2U) == 0) {
        x.receive();
        const std::uint64_t now = x.rx->weight();
        check(now <= 2 || now == 5, "it is alone");
      }
    });
    e.finally([&x] { x.expect_empty(); });
  });
}

// A sender of light items beside receivers: what each takes is given back once.
TEST(weighed_model, the_weight_of_each_item_comes_back_once) {
  expect_holds_everywhere("weighed_once", [](execution& e) {
    auto& x = e.make<shared>(4U, 2U);
    x.fill({1, 1});
    e.thread("sender", [&x] {
      x.send({2, 2});
      if (x.tx->try_send({4, 1}) == send_status::sent) x.note(8);
    });
    for (int i = 0; i < 2; ++i) e.thread("receiver", [&x] { x.receive(); });
    e.finally([&x] { x.expect_empty(); });
  });
}

// One receiver is in the middle of its move: a try waits for the weight that it gives back.
TEST(weighed_model, a_try_says_full_only_of_a_full_channel) {
  expect_holds_everywhere("weighed_full", [](execution& e) {
    auto& x = e.make<shared>(4U, 2U);
    x.fill({1, 2});
    e.thread("receiver", [&x] { x.try_one(); });
    e.thread("tries", [&x] {
      if (x.rx->try_recv().has_value()) return;
      check(x.tx->try_send({2, 1}) == send_status::sent, "it was empty before");
    });
  });
}

TEST(weighed_model, a_try_says_empty_only_of_an_empty_channel) {
  expect_holds_everywhere("weighed_empty", model::a_try_says_empty_only_of_an_empty_channel([] {
                            return ones<std::uint32_t>(3);
                          }));
  model::expect_one_is_always_there(
      "weighed_never_empty", [] { return ones<std::uint32_t>(2); }, model::sends_and_receives);
}

// The channel has two slots at first, both with items: two threads add the others, and one need not.
TEST(weighed_model, two_senders_can_grow_the_channel_at_once) {
  expect_holds_everywhere("weighed_grows", [](execution& e) {
    auto& x = e.make<shared>(4U, 9U);
    x.fill({1, 1});
    x.fill({2, 1});
    for (const std::uint32_t bit : {4U, 8U}) e.thread("sender", [&x, bit] { x.fill({bit, 1}); });
    e.finally([&x] {
      check(x.tx->try_send({16, 1}) == send_status::full, "four are there");
      x.expect_empty();
      check(x.noted() == 15, "all have come");
    });
  });
}

// It finds no space for its weight; when it joins the line there is space and no slot: it adds slots.
TEST(weighed_model, a_sender_grows_the_channel_when_it_joins_the_queue) {
  expect_holds_everywhere("weighed_grows_late", [](execution& e) {
    auto& x = e.make<shared>(4U, 3U);
    x.fill({1, 3});
    e.thread("sender", [&x] { x.send({2, 1}); });
    e.thread("others", [&x] {
      x.receive();
      x.fill({4, 1});
      x.fill({8, 1});
    });
    e.finally([&x] {
      check(x.rx->weight() == 3, "three are there");
      x.expect_empty();
      check(x.noted() == 15, "all have come");
    });
  });
}

// It joins the line and leaves at once. A try beside it may say `full`; a later one finds no waiting sender.
TEST(weighed_model, a_try_select_leaves_nothing_behind) {
  expect_holds_everywhere("weighed_try_select", [](execution& e) {
    auto& x = e.make<shared>(4U, 4U);
    x.fill({1, 2});
    e.thread("select", [&x] {
      check(!try_select(x.tx->send(parcel{2, 3})).has_value(), "it has no room");
      x.fill({4, 1});
    });
    e.thread("light", [&x] {
      if (x.tx->try_send({8, 1}) == send_status::sent) x.note(16);
    });
    e.finally([&x] {
      x.expect_empty();
      check(x.noted() == 5 || x.noted() == 29, "what was sent has come");
    });
  });
}

// Two receivers are in their moves, and two senders wait: one item that has left makes space for one.
TEST(weighed_model, an_item_that_is_leaving_makes_no_room_yet) {
  expect_holds_everywhere(
      "weighed_leaving",
      [](execution& e) {
        auto& x = e.make<shared>(2U, 9U);
        x.fill({1, 1});
        x.fill({2, 1});
        for (const std::uint32_t bit : {4U, 8U}) e.thread("sender", [&x, bit] { x.send({bit, 1}); });
        for (int i = 0; i < 2; ++i) e.thread("receiver", [&x] { x.receive(); });
        e.finally([&x] {
          x.expect_empty();
          check(x.noted() == 15, "all have come");
        });
      },
      1);
}

// ---- receivers

// Waiting receivers, and a barging one: each item wakes one of those that still wait.
TEST(weighed_model, a_barging_receiver_does_not_strand_a_waiting_receiver) {
  expect_holds_everywhere("weighed_comes_by", [](execution& e) {
    auto& x = e.make<shared>(4U, 9U);
    for (int i = 0; i < 2; ++i) e.thread("receiver", [&x] { x.receive(); });
    e.thread("sender", [&x] {
      x.fill({1, 1});
      x.fill({2, 1});
      if (const auto got = x.rx->try_recv()) {
        x.note(got->bit);
        x.send({4, 1});
      }
    });
    e.finally([&x] { check(x.noted() == 3 || x.noted() == 7, "all have come"); });
  });
}

// Two tasks wait, and the first is cancelled beside two sends.
TEST(weighed_model, a_cancelled_receiver_loses_nothing) {
  struct scene : shared {
    scene() : shared(4, 9) {
      first.emplace(s, receives(*this));
      second.emplace(s, receives(*this));
      run_all();
      of_first.emplace(first->header());
    }
    std::optional<watched<void>> first;
    std::optional<watched<void>> second;
    std::optional<canceller> of_first;
  };
  expect_holds_everywhere("weighed_cancel_receiver", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("sender", [&x] { x.send({1, 1}); });
    e.thread("canceller", [&x] {
      x.of_first->cancel();
      x.send({2, 1});
    });
    e.finally([&x] {
      check(!x.second->was_cancelled(), "it was not asked to");
      x.expect_empty();
      check(x.noted() == 3, "both are there");
    });
  });
}

// One item; the task in front is cancelled, or gives it back: the thread behind it gets the item.
TEST(weighed_model, the_wakeup_of_a_cancelled_receiver_goes_to_the_next) {
  struct scene : shared {
    scene() : shared(4, 9) {
      first.emplace(s, passes_on(*this));
      run_all();
      of_first.emplace(first->header());
    }
    static task<void> passes_on(shared& x) {
      const auto got = co_await x.rx->recv();
      check(got.has_value(), "no thread closes it");
      x.fill(*got);
    }
    std::optional<watched<void>> first;
    std::optional<canceller> of_first;
  };
  expect_holds_everywhere("weighed_called", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("patient", [&x] { x.receive(); });
    e.thread("sender", [&x] { x.fill({1, 1}); });
    e.thread("canceller", [&x] { x.of_first->cancel(); });
    e.finally([&x] { check(x.noted() == 1, "it has come"); });
  });
}

// ---- the end

TEST(weighed_model, a_close_reaches_all_receivers) {
  expect_holds_everywhere("weighed_close", [](execution& e) {
    auto& x = e.make<shared>(4U, 9U);
    auto& done_before = e.make<base::cell<int>>();
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x, &done_before] {
        if (const auto got = x.rx->blocking_recv()) {
          x.note(got->bit);
        } else {
          check(done_before.get() == 1, "what came before the close is seen");
        }
      });
    e.thread("closer", [&x, &done_before] {
      done_before.set(1);
      x.tx->close();
    });
    e.thread("sender", [&x] {
      if (x.tx->try_send({1, 1}) == send_status::sent) x.note(2);
    });
    e.finally([&x] { check(x.noted() == 0 || x.noted() == 3, "what was sent has come"); });
  });
}

// A sender that waits, or was granted room just before: after the close nothing comes in.
TEST(weighed_model, a_close_reaches_a_sender_that_waits) {
  expect_holds_everywhere("weighed_close_room", [](execution& e) {
    auto& x = e.make<shared>(4U, 3U);
    x.fill({1, 3});
    e.thread("sender", [&x] {
      const send_status how = x.tx->blocking_send({2, 3});
      check(how == send_status::sent || how == send_status::closed, "there is no limit");
      if (how == send_status::sent) x.note(4);
    });
    e.thread("receiver", [&x] {
      if (x.rx->try_recv().has_value()) x.note(1);
    });
    e.thread("closer", [&x] {
      x.rx->close();
      if (x.rx->try_recv().has_value()) {
        x.note(2);
      } else if (x.rx->size() == 0) {
        x.note(8);  // nothing may come from now on
      }
    });
    e.finally([&x] {
      const auto last = x.rx->try_recv();
      check(!last.has_value() || (x.noted() & 8U) == 0, "the end is the end");
      check(x.rx->size() == 0 && x.rx->weight() == 0, "nothing is left");
    });
  });
}

TEST(weighed_model, the_halves_can_be_destroyed_in_any_order_with_their_items) {
  expect_holds_everywhere("weighed_halves",
                          model::halves_go_in_any_order([] { return ones<model::counted>(2); }, 0, 1));
}

TEST(weighed_model, no_item_outlives_the_last_receiver) {
  expect_holds_everywhere("weighed_last_receiver",
                          model::no_item_outlives_the_last_receiver([] { return ones<model::counted>(2); }));
}

}  // namespace
}  // namespace rota::channel
