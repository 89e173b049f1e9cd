// P11, a sender that waits for the end of all receivers: it is woken, and sees what was done before.
#include "model/waiting.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>

#include <chrono>
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

auto one_by_weight() {
  return bounded_by_weight<int>(1, 1, [](const int& /*item*/) noexcept { return 1U; });
}

/// One thread closes it; a sender of another thread waits for that.
template <class Halves>
void expect_told_by_close(const char* name, Halves (*make)()) {
  struct scene {
    explicit scene(Halves&& made) : halves(std::move(made)) {}
    Halves halves;
    base::cell<int> before;
  };
  expect_holds_everywhere(name, [make](execution& e) {
    auto& x = e.make<scene>(make());
    e.thread("sender", [&x] {
      x.halves.sender.blocking_closed();
      check(x.before.get() == 1 && x.halves.sender.is_closed(), "what was done before is seen");
    });
    e.thread("closer", [&x] {
      x.before.set(1);
      x.halves.receiver.close();
    });
  });
}

TEST(closed_model, a_close_wakes_a_sender_that_waits_for_it) {
  expect_told_by_close("closed_bounded", +[] { return bounded<int>(1); });
  expect_told_by_close("closed_weighed", +[] { return one_by_weight(); });
  expect_told_by_close("closed_unbounded", +[] { return unbounded<int>(); });
  expect_told_by_close("closed_oneshot", +[] { return oneshot<int>(); });
}

/// It checks without a wait.
template <class Halves>
void expect_seen_to_be_closed(const char* name, Halves (*make)()) {
  struct scene {
    explicit scene(Halves&& made) : halves(std::move(made)) {}
    Halves halves;
    base::cell<int> before;
  };
  expect_holds_everywhere(name, [make](execution& e) {
    auto& x = e.make<scene>(make());
    e.thread("sender", [&x] {
      if (x.halves.sender.is_closed()) check(x.before.get() == 1, "what was done before is seen");
    });
    e.thread("closer", [&x] {
      x.before.set(1);
      x.halves.receiver.close();
    });
  });
}

TEST(closed_model, is_closed_sees_what_happened_before_the_close) {
  expect_seen_to_be_closed("closed_look_bounded", +[] { return bounded<int>(1); });
  expect_seen_to_be_closed("closed_look_weighed", +[] { return one_by_weight(); });
  expect_seen_to_be_closed("closed_look_unbounded", +[] { return unbounded<int>(); });
}

// The last receiver goes; the half that leaves last frees the channel.
template <class Halves>
void expect_told_by_the_end(const char* name, Halves (*make)()) {
  expect_holds_everywhere(name, [make](execution& e) {
    auto& before = e.make<base::cell<int>>();
    auto made = make();
    e.thread("sender", [&before, tx = std::move(made.sender)]() mutable {
      tx.blocking_closed();
      check(before.get() == 1, "what was done before is seen");
      auto gone = std::move(tx);
    });
    e.thread("receiver", [&before, rx = std::move(made.receiver)]() mutable {
      before.set(1);
      auto gone = std::move(rx);
    });
  });
}

TEST(closed_model, the_end_of_the_last_receiver_wakes_a_waiting_sender) {
  expect_told_by_the_end("closed_end_bounded", +[] { return bounded<int>(1); });
  expect_told_by_the_end("closed_end_weighed", +[] { return one_by_weight(); });
  expect_told_by_the_end("closed_end_oneshot", +[] { return oneshot<int>(); });
  expect_told_by_the_end("closed_end_watch", +[] { return watch(0); });
}

// Two receivers, two waiting senders: the last receiver wakes both, and each sees what both receivers did.
TEST(closed_model, the_last_of_two_receivers_wakes_both_waiting_senders) {
  struct scene {
    pair_of<watch_sender<int>, watch_receiver<int>> halves = watch(0);
    base::cell<int> before[2];
  };
  expect_holds_everywhere("closed_two_watch", [](execution& e) {
    auto& x = e.make<scene>();
    for (int i = 0; i < 2; ++i)
      e.thread("receiver", [&x, i, rx = x.halves.receiver]() mutable {
        x.before[i].set(1);
        auto gone = std::move(rx);
      });
    {
      auto gone = std::move(x.halves.receiver);
    }
    e.thread("sender", [&x] {
      x.halves.sender.blocking_closed();
      check(x.before[0].get() == 1 && x.before[1].get() == 1, "what both did is seen");
    });
  });
  expect_holds_everywhere("closed_both_watch", [](execution& e) {
    auto& x = e.make<scene>();
    for (int i = 0; i < 2; ++i)
      e.thread("sender", [tx = x.halves.sender]() mutable {
        tx.blocking_closed();
        auto gone = std::move(tx);
      });
    e.thread("receiver", [rx = std::move(x.halves.receiver)]() mutable { auto gone = std::move(rx); });
  });
}

// Two senders go while a receiver waits for the end: it sees what both did.
TEST(closed_model, a_receiver_that_sees_the_close_sees_what_both_senders_did) {
  struct scene {
    pair_of<watch_sender<int>, watch_receiver<int>> halves = watch(0);
    base::cell<int> before[2];
  };
  expect_holds_everywhere("closed_two_senders", [](execution& e) {
    auto& x = e.make<scene>();
    for (int i = 0; i < 2; ++i)
      e.thread("sender", [&x, i, tx = x.halves.sender]() mutable {
        x.before[i].set(1);
        auto gone = std::move(tx);
      });
    {
      auto gone = std::move(x.halves.sender);
    }
    e.thread("receiver", [&x] {
      if (x.halves.receiver.is_closed())
        check(x.before[0].get() == 1 && x.before[1].get() == 1, "what both did is seen");
    });
  });
}

// A watch is closed while a receiver waits.
TEST(closed_model, a_close_of_a_watch_wakes_a_waiting_sender) {
  struct scene {
    pair_of<watch_sender<int>, watch_receiver<int>> halves = watch(0);
    base::cell<int> before;
  };
  expect_holds_everywhere("closed_watch", [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("sender", [&x] {
      x.halves.sender.blocking_closed();
      check(x.before.get() == 1, "what was done before is seen");
    });
    e.thread("closer", [&x, tx = x.halves.sender]() mutable {
      x.before.set(1);
      tx.close();
      auto gone = std::move(tx);
    });
  });
}

task<void> waits(sender<int> tx) { co_await tx.closed(); }

// Cancelled beside the close: the other one is woken all the same.
TEST(closed_model, a_cancelled_wait_does_not_consume_the_wakeup_of_another) {
  struct scene {
    scene() {
      base::this_thread_locals().worker = &s.core();
      while (s.run_one()) {
      }
      base::this_thread_locals().worker = nullptr;
    }
    pair_of<sender<int>, receiver<int>> halves = bounded<int>(1);
    model_scheduler s;
    watched<void> first{s, waits(halves.sender)};
    watched<void> second{s, waits(halves.sender)};
    canceller of_first{first.header()};
  };
  expect_holds_everywhere("closed_cancel", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("closer", [&x] { x.halves.receiver.close(); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { check(!x.second.was_cancelled(), "nobody asked"); });
  });
}

TEST(closed_model, a_wait_for_the_close_can_be_repeated_after_a_timeout) {
  struct scene {
    pair_of<sender<int>, receiver<int>> halves = bounded<int>(1);
  };
  expect_holds_everywhere("closed_late", [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("sender", [&x] {
      const auto told = x.halves.sender.blocking_closed_for(std::chrono::milliseconds(1));
      if (!told.has_value()) x.halves.sender.blocking_closed();
      check(x.halves.sender.is_closed(), "it is");
    });
    e.thread("closer", [&x] { x.halves.receiver.close(); });
  });
}

}  // namespace
}  // namespace rota::channel
