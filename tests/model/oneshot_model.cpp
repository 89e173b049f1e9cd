// P11, the channels for one item and without a limit: an item comes or is destroyed once; no endless wait.
#include "model/waiting.hpp"

#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>

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

TEST(oneshot_model, the_receiver_sees_what_happened_before_the_send) {
  expect_holds_everywhere("oneshot_item", [](execution& e) {
    auto& before = e.make<base::cell<int>>();
    auto made = oneshot<int>();
    e.thread("sender", [&before, tx = std::move(made.sender)]() mutable {
      before.set(1);
      check(std::move(tx).send(5) == send_status::sent, "somebody receives");
    });
    e.thread("receiver", [&before, rx = std::move(made.receiver)]() mutable {
      check(rx.blocking_recv() == 5 && before.get() == 1, "it is there");
      auto gone = std::move(rx);
    });
  });
}

TEST(oneshot_model, the_receiver_ends_when_the_sender_leaves_without_an_item) {
  expect_holds_everywhere("oneshot_without", [](execution& e) {
    auto& before = e.make<base::cell<int>>();
    auto made = oneshot<int>();
    e.thread("sender", [&before, tx = std::move(made.sender)]() mutable {
      before.set(1);
      auto gone = std::move(tx);
    });
    e.thread("receiver", [&before, rx = std::move(made.receiver)]() mutable {
      check(!rx.blocking_recv() && before.get() == 1, "there is none");
      auto gone = std::move(rx);
    });
  });
}

TEST(oneshot_model, an_item_sent_while_the_receiver_ends_is_destroyed_once) {
  struct scene {
    base::atomic<int> alive{0};
  };
  struct held {
    explicit held(base::atomic<int>& count) noexcept : of(&count) { add(1); }
    held(held&& other) noexcept : of(other.of) { add(1); }
    held(const held&) = delete;
    held& operator=(const held&) = delete;
    ~held() { add(-1); }
    // relaxed. A count of the model's.
    void add(int n) const noexcept { of->fetch_add(n, base::order::relaxed); }
    base::atomic<int>* of;
  };
  expect_holds_everywhere("oneshot_end", [](execution& e) {
    auto& x = e.make<scene>();
    auto made = oneshot<held>();
    e.thread("sender", [&x, tx = std::move(made.sender)]() mutable {
      static_cast<void>(std::move(tx).send(held(x.alive)));
    });
    e.thread("receiver", [rx = std::move(made.receiver)]() mutable {
      static_cast<void>(rx.try_recv());
      auto gone = std::move(rx);
    });
    // relaxed. All have ended.
    e.finally([&x] { check(x.alive.load(base::order::relaxed) == 0, "all are destroyed"); });
  });
}

TEST(oneshot_model, unbounded_delivers_each_item_once_to_two_receivers) {
  expect_holds_everywhere(
      "unbounded_two_and_two",
      [](execution& e) {
        auto& seen = e.make<base::atomic<std::uint32_t>>(0U);
        auto made = unbounded<std::uint32_t>();
        for (const std::uint32_t item : {1U, 2U})
          e.thread("sender", [tx = made.sender, item]() mutable {
            check(tx.try_send(item) == send_status::sent, "nobody closes it");
            auto gone = std::move(tx);
          });
        for (int i = 0; i < 2; ++i)
          e.thread("receiver", [&seen, rx = made.receiver]() mutable {
            // relaxed. A set of the model's.
            while (const auto got = rx.blocking_recv()) seen.fetch_add(*got, base::order::relaxed);
            auto gone = std::move(rx);
          });
        {
          auto tx = std::move(made.sender);
          auto rx = std::move(made.receiver);
        }
        // relaxed. All have ended.
        e.finally([&seen] { check(seen.load(base::order::relaxed) == 3, "each came once"); });
      },
      1);
}

// A send that was admitted before the close arrives.
TEST(oneshot_model, unbounded_delivers_an_item_accepted_before_the_close) {
  struct scene {
    pair_of<unbounded_sender<int>, unbounded_receiver<int>> halves = unbounded<int>();
    base::cell<int> sent;
    base::cell<int> received;
  };
  expect_holds_everywhere("unbounded_close", [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("sender", [&x] { x.sent.set(x.halves.sender.try_send(1) == send_status::sent ? 1 : 0); });
    e.thread("closer", [&x] { x.halves.receiver.close(); });
    e.thread("receiver", [&x] {
      while (x.halves.receiver.blocking_recv()) x.received.set(x.received.get() + 1);
    });
    e.finally([&x] { check(x.sent.get() == x.received.get(), "what was sent has come"); });
  });
}

struct without_limit {
  pair_of<unbounded_sender<int>, unbounded_receiver<int>> halves = unbounded<int>();
  model_scheduler s;
};
task<void> gives_back(without_limit& x) {
  const auto got = co_await x.halves.receiver.recv();
  check(got.has_value() && x.halves.sender.try_send(*got) == send_status::sent, "nobody closes it");
}

TEST(oneshot_model, unbounded_passes_on_the_wakeup_of_a_cancelled_receiver) {
  struct scene : without_limit {
    scene() {
      base::this_thread_locals().worker = &s.core();
      check(s.run_one(), "it waits");
      base::this_thread_locals().worker = nullptr;
    }
    watched<void> first{s, gives_back(*this)};
    canceller of_first{first.header()};
  };
  expect_holds_everywhere(
      "unbounded_called",
      [](execution& e) {
        auto& x = e.make<scene>();
        add_workers(e, x.s, 1);
        e.thread("patient", [&x] { check(x.halves.receiver.blocking_recv() == 1, "there is one for it"); });
        e.thread("sender", [&x] { static_cast<void>(x.halves.sender.try_send(1)); });
        e.thread("canceller", [&x] { x.of_first.cancel(); });
      },
      1);
}

/// The receiver goes, and the sender learns of it.
template <class Learns>
void expect_seen(const char* name, Learns learns) {
  expect_holds_everywhere(name, [learns](execution& e) {
    auto& before = e.make<base::cell<int>>();
    auto made = oneshot<int>();
    e.thread("receiver", [&before, rx = std::move(made.receiver)]() mutable {
      before.set(1);
      auto gone = std::move(rx);
    });
    e.thread("sender", [&before, learns, tx = std::move(made.sender)]() mutable {
      if (learns(tx)) check(before.get() == 1, "it was done before the receiver went");
      auto gone = std::move(tx);
    });
  });
}

TEST(oneshot_model, a_sender_that_sees_the_close_sees_what_happened_before_it) {
  expect_seen("oneshot_seen_closed", [](const auto& tx) { return tx.is_closed(); });
  expect_seen("oneshot_waits_for_close", [](auto& tx) {
    tx.blocking_closed();
    return true;
  });
}

}  // namespace
}  // namespace rota::channel
