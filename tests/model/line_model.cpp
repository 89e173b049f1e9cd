// P11, the line of waiters: one woken in vain keeps its place, beside returns, cancellations and wakes.
#include "model/waiting.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>

#include <chrono>

namespace rota::channel {
namespace {

using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

template <class Pair>
struct scene {
  explicit scene(Pair made) noexcept : halves(std::move(made)) {}

  static task<void> keeps(scene& x, base::cell<int>& got) {
    const auto item = co_await x.halves.receiver.recv();
    got.set(item.value_or(-1));
  }
  void run_all() {
    base::this_thread_locals().worker = &s.core();
    while (s.run_one()) {
    }
    base::this_thread_locals().worker = nullptr;
  }
  /// Wakes the first in line, takes its item, and leaves the mark of a waiter: so the next one is woken, too.
  void call_in_vain() {
    static_cast<void>(halves.sender.try_send(1));
    static_cast<void>(halves.receiver.try_recv());
    static_cast<void>(halves.receiver.blocking_recv_for(std::chrono::nanoseconds(0)));
  }
  /// Waiters without an item are in line in the order in which they came.
  void check_order() {
    if (got[0].get() + got[1].get() + got[2].get() != 0) return;
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(halves.sender.try_send(2 + i));
      run_all();
      check(got[i].get() == 2 + i, "each has it in its turn");
    }
  }
  void end() {
    halves.sender.close();
    run_all();
    check(got[0].get() != 0 && got[2].get() != 0, "nobody waits for what does not come");
  }

  Pair halves;
  model_scheduler s;
  base::cell<int> got[3];
  watched<void> first{s, keeps(*this, got[0])};
  watched<void> second{s, keeps(*this, got[1])};
  watched<void> third{s, keeps(*this, got[2])};
  canceller of_second{second.header()};
};

/// Two are woken before either comes back, by two workers, in either order.
template <class Make>
void expect_order(std::string_view name, Make make) {
  expect_holds_everywhere(name, [make](execution& e) {
    using pair = decltype(make());
    auto& x = e.make<scene<pair>>(make());
    x.run_all();
    x.call_in_vain();
    x.call_in_vain();
    for (int i = 0; i < 2; ++i) e.thread("runner", [&x] { x.run_all(); });
    e.thread("sender", [&x] { x.call_in_vain(); });
    e.finally([&x] {
      x.run_all();
      x.check_order();
      x.end();
    });
  });
}

TEST(waiter_order_model, receiver_of_unbounded_channel_woken_in_vain_keeps_its_position) {
  expect_order("line_unbounded", [] { return unbounded<int>(); });
}
TEST(waiter_order_model, receiver_of_bounded_channel_woken_in_vain_keeps_its_position) {
  expect_order("line_bounded", [] { return bounded<int>(4); });
}

/// The second gives up after it was put back, or before, or just as it is woken.
template <class Make>
void expect_no_trace(std::string_view name, Make make) {
  expect_holds_everywhere(name, [make](execution& e) {
    using pair = decltype(make());
    auto& x = e.make<scene<pair>>(make());
    x.run_all();
    x.call_in_vain();
    x.call_in_vain();
    e.thread("runner", [&x] { x.run_all(); });
    e.thread("canceller", [&x] { x.of_second.cancel(); });
    e.finally([&x] {
      x.run_all();
      for (int i = 0; i < 2; ++i) x.call_in_vain();
      x.run_all();
      x.end();
    });
  });
}

TEST(waiter_order_model, cancelled_receiver_of_unbounded_channel_does_not_block_others) {
  expect_no_trace("line_unbounded_left", [] { return unbounded<int>(); });
}
TEST(waiter_order_model, cancelled_receiver_of_bounded_channel_does_not_block_others) {
  expect_no_trace("line_bounded_left", [] { return bounded<int>(4); });
}

}  // namespace
}  // namespace rota::channel
