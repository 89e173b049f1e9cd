// The poller's words: the token, and the deadline against timers that are armed earlier.
#include <rota/testing/explore.hpp>
#include "base/futex.hpp"
#include "model/exploring.hpp"
#include "sched/parker.hpp"
#include "sched/poller.hpp"
#include "sched/sleep_driver.hpp"
#include "time/shard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rota::sched {
namespace {

using model::exhaustive;
using model::expect_holds;
using model::expect_holds_everywhere;
using testing::check;
using testing::execution;

TEST(poller_model, the_token_has_one_holder_that_sees_what_the_previous_one_did) {
  struct shared {
    poller turn;
    base::cell<int> driver_state;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<shared>();
    for (int i = 0; i < 3; ++i) {
      e.thread("worker", [&s] {
        if (!s.turn.try_take()) return;
        s.driver_state.set(s.driver_state.get() + 1);
        s.turn.give_back();
      });
    }
    e.finally([&s] { check(s.turn.try_take(), "the token is back"); });
  };
  expect_holds_everywhere("poller_token", body, 3);
}

/// Does what worker::wait_in_driver does, with the words alone.
struct station {
  poller turn;
  parker bed;
  sleep_driver driver;
  timing::timers clocks{2, base::now()};
  std::array<timing::timer_node, 2> nodes;
  const base::time_point began = base::now();

  void arm(unsigned which, base::nanoseconds in) {
    const timing::arm_result done = clocks.at(which).arm(nodes[which], began + in, noop_waker());
    if (done.duty == timing::on_arm::announce_earlier && turn.must_interrupt(done.earliest)) {
      driver.port().ops->interrupt(driver.port().self);
    }
  }
  void claim() {
    if (bed.unpark() == on_unpark::interrupt_driver) driver.port().ops->interrupt(driver.port().self);
  }
  /// Returns true if it was claimed.
  bool wait_in_driver() {
    check(turn.try_take(), "there is one worker here");
    event_buffer found;
    bool notified = bed.enter_driver() == on_enter::notified;
    if (!notified) {
      base::time_point until = clocks.earliest();
      turn.announce(until);
      until = std::min(until, clocks.earliest());
      static_cast<void>(driver.port().ops->wait(driver.port().self, until, found));
      turn.announce_awake();
      notified = bed.leave_driver();
    }
    turn.give_back();
    clocks.poll(0, base::now(), 10);
    return notified;
  }
};

// No timer fires late, wherever its arming falls in the poller's way to sleep. Time moves only when no thread
// can run: so the clock shows a poller that sleeps too long.
TEST(poller_model, an_earlier_timer_is_never_overslept) {
  const auto body = [](execution& e) {
    auto& s = e.make<station>();
    s.arm(0, std::chrono::milliseconds(50));
    e.thread("poller", [&s] {
      while (s.clocks.counts().fired == 0) static_cast<void>(s.wait_in_driver());
      check(base::now() - s.began < std::chrono::milliseconds(50), "the earlier one came first");
      while (s.clocks.counts().fired < 2) static_cast<void>(s.wait_in_driver());
    });
    e.thread("arms", [&s] { s.arm(1, std::chrono::milliseconds(2)); });
  };
  // The wheel has a slot of a millisecond, and the checker's clock moves to exact deadlines.
  expect_holds_everywhere("poller_deadline", body, 3);
}

TEST(poller_model, a_first_timer_wakes_a_poller_without_a_deadline) {
  const auto body = [](execution& e) {
    auto& s = e.make<station>();
    e.thread("poller", [&s] {
      while (s.clocks.counts().fired < 2) static_cast<void>(s.wait_in_driver());
    });
    e.thread("arms", [&s] { s.arm(0, std::chrono::milliseconds(3)); });
    e.thread("arms", [&s] { s.arm(1, std::chrono::milliseconds(2)); });
  };
  expect_holds_everywhere("poller_first", body, 2);
}

// An unpark reaches a worker anywhere on its way into the driver or out of it; each is consumed once.
TEST(poller_model, an_unpark_reaches_the_driver) {
  struct counted {
    station s;
    int consumed = 0;
  };
  bool with_timer = false;
  const auto body = [&with_timer](execution& e) {
    auto& c = e.make<counted>();
    e.thread("poller", [&c] {
      while (!c.s.wait_in_driver()) {
      }
      ++c.consumed;
    });
    e.thread("claimer", [&c] { c.s.claim(); });
    // Without a timer only the claimer wakes the poller.
    if (with_timer) e.thread("arms", [&c] { c.s.arm(0, std::chrono::milliseconds(1)); });
    e.finally([&c] {
      check(c.consumed == 1, "the notification was seen once");
      static_cast<void>(timing::shard::cancel(c.s.nodes[0]));
    });
  };
  expect_holds_everywhere("poller_unpark", body, 3);
  with_timer = true;
  expect_holds_everywhere("poller_unpark_timer", body, 3);
}

// Only the parker's word, or only the driver's, is read: either brings what the claimer did before.
TEST(poller_model, an_unpark_and_an_interrupt_publish_what_happened_before_them) {
  const auto of_parker = [](execution& e) {
    auto& bed = e.make<parker>();
    auto& before = e.make<base::cell<int>>(0);
    e.thread("worker", [&] {
      if (bed.enter_driver() == on_enter::notified || bed.leave_driver())
        check(before.get() == 1, "what the claimer did is seen");
    });
    e.thread("claimer", [&] {
      before.set(1);
      static_cast<void>(bed.unpark());
    });
  };
  expect_holds(exhaustive("poller_leave"), of_parker);
  const auto of_driver = [](execution& e) {
    auto& driver = e.make<sleep_driver>();
    auto& before = e.make<base::cell<int>>(0);
    e.thread("poller", [&] {
      event_buffer found;
      static_cast<void>(driver.port().ops->wait(driver.port().self, base::never, found));
      check(before.get() == 1, "what the interrupter did is seen");
    });
    e.thread("interrupter", [&] {
      before.set(1);
      driver.port().ops->interrupt(driver.port().self);
    });
  };
  expect_holds(exhaustive("poller_interrupt"), of_driver);
}

// The same on the parker's own word.
TEST(poller_model, an_unpark_reaches_a_sleeper) {
  const auto body = [](execution& e) {
    auto& bed = e.make<parker>();
    auto& order = e.make<base::cell<int>>(0);
    auto& up = e.make<base::atomic<int>>(0);
    e.thread("worker", [&] {
      bed.park();
      check(order.get() == 1, "what the claimer did is seen");
      order.set(2);
      // release. Pairs with the claimer's next claim.
      up.store(1, base::order::release);
      bed.park();
      check(order.get() == 3, "and the second time");
    });
    e.thread("claimer", [&] {
      order.set(1);
      static_cast<void>(bed.unpark());
      // acquire. Pairs with the worker's announcement.
      while (up.load(base::order::acquire) == 0) base::cpu_relax();
      order.set(3);
      static_cast<void>(bed.unpark());
    });
  };
  testing::options o = exhaustive("poller_parker", 4);
  o.spurious_wakes = 1;
  expect_holds(o, body);
}

}  // namespace
}  // namespace rota::sched
