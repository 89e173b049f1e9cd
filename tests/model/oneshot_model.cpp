// P11, the channels for one item and without a limit: an item comes once, or is destroyed once, and nobody waits for nothing.
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

TEST(oneshot_model, the_item_comes_with_what_was_done_before) {
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

TEST(oneshot_model, one_goes_without) {
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

TEST(oneshot_model, a_send_beside_the_receivers_end) {
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

TEST(oneshot_model, two_and_two_without_a_limit) {
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

// What was admitted before the close arrives.
TEST(oneshot_model, a_send_without_a_limit_beside_the_close) {
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

TEST(oneshot_model, a_call_without_a_limit_reaches_the_next) {
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

task<void> keeps(without_limit& x, base::cell<int>& got) {
  const auto item = co_await x.halves.receiver.recv();
  got.set(item.value_or(-1));
}

// Both are called, and whoever comes by takes what there is: who comes back in vain has its place in line again.
TEST(oneshot_model, who_was_called_in_vain_is_where_it_was) {
  struct scene : without_limit {
    void run_all() {
      base::this_thread_locals().worker = &s.core();
      while (s.run_one()) {
      }
      base::this_thread_locals().worker = nullptr;
    }
    base::cell<int> first_got;
    base::cell<int> second_got;
    watched<void> first{s, keeps(*this, first_got)};
    watched<void> second{s, keeps(*this, second_got)};
  };
  expect_holds_everywhere("unbounded_in_vain", [](execution& e) {
    auto& x = e.make<scene>();
    x.run_all();
    for (int i = 0; i < 2; ++i) e.thread("runner", [&x] { x.run_all(); });
    e.thread("sender", [&x] {
      for (int i = 0; i < 2; ++i) static_cast<void>(x.halves.sender.try_send(1));
      for (int i = 0; i < 2; ++i) static_cast<void>(x.halves.receiver.try_recv());
    });
    e.finally([&x] {
      x.run_all();
      if (x.first_got.get() == 0 && x.second_got.get() == 0) {
        static_cast<void>(x.halves.sender.try_send(2));
        x.run_all();
        check(x.first_got.get() == 2 && x.second_got.get() == 0, "the first in line has it");
      }
      x.halves.sender.close();
      x.run_all();
    });
  });
}

}  // namespace
}  // namespace rota::channel
