// P14: what a driver knows of a descriptor, between its events, who waits for it, and its end. The registration is the real one;
// the kernel is a count of bytes, and events that are found at one time and dispatched at another.
#include "base/futex.hpp"
#include "driver/registration.hpp"
#include "model/exploring.hpp"
#include "model/listener.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace rota::driver {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using model::listener;
using testing::check;
using testing::execution;

std::uint32_t generation_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key >> 32U); }

/// A task's thread: sleeps until it is woken, as often as it was.
class sleeper {
 public:
  waker make_waker() noexcept { return {this, &vtable}; }
  void wait() noexcept {
    // acquire. Pairs with wake().
    while (woken_.exchange(0, base::order::acquire) == 0) {
      static_cast<void>(base::futex_wait(woken_, 0, base::never));
    }
  }

 private:
  static void wake(void* self) noexcept {
    auto& word = static_cast<sleeper*>(self)->woken_;
    // release. Pairs with wait().
    word.exchange(1, base::order::release);
    base::futex_wake(&word, 1);
  }
  static void* clone(void* self) noexcept { return self; }
  static void drop(void*) noexcept {}
  static constexpr waker_vtable vtable{wake, wake, clone, drop};

  base::atomic<std::uint32_t> woken_{0};
};

struct connection {
  registration slot;
  base::atomic<unsigned> bytes{0};  // that can be read
  sleeper reader;

  bool try_read() noexcept {
    // acq_rel. As the kernel's own lock.
    unsigned seen = bytes.load(base::order::acquire);
    // acq_rel. As above. failure: acquire. As above.
    return seen != 0 &&
           bytes.compare_exchange_strong(seen, seen - 1, base::order::acq_rel, base::order::acquire);
  }
  /// What net::detail::socket_leaf does.
  void read() noexcept {
    for (;;) {
      if (try_read()) return;
      waker mine = reader.make_waker();
      if (slot.arm(direction::read, mine)) continue;
      reader.wait();
      static_cast<void>(slot.take_ready(direction::read));
    }
  }
  void arrive(std::uint32_t generation) noexcept {
    // release. As the kernel's own lock.
    bytes.fetch_add(1, base::order::release);
    slot.event(generation, true, false);
  }
};

// Bytes come one at a time, and each has an event of its own: a reader that misses one sleeps for ever.
TEST(registration_model, an_event_and_a_wait_do_not_miss_each_other) {
  const auto body = [](execution& e) {
    auto& c = e.make<connection>();
    const std::uint32_t now = generation_of(c.slot.open(0));
    e.thread("reader", [&c] {
      c.read();
      c.read();
    });
    e.thread("driver", [&c, now] {
      c.arrive(now);
      c.arrive(now);
    });
  };
  expect_holds(exhaustive("registration_wait", 3), body);
  expect_holds(at_random("registration_wait random"), body);
}

// The driver has found an event of the old descriptor, and dispatches it when the slot belongs to the next one.
TEST(registration_model, a_stale_event_wakes_nobody_and_marks_nothing) {
  struct scene {
    registration slot;
    listener old_one;
    listener new_one;
    base::atomic<unsigned> opened{0};
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    const std::uint32_t old_generation = generation_of(s.slot.open(0));
    waker first = s.old_one.listen();
    check(!s.slot.arm(direction::read, first), "nothing has come yet");
    e.thread("driver", [&s, old_generation] {
      const bool readable = testing::choose(2) == 0;
      s.slot.event(old_generation, readable, true);
    });
    e.thread("owner", [&s] {
      s.slot.disarm(direction::read);
      s.slot.close();
      static_cast<void>(s.slot.open(0));
      check(!s.slot.is_ready(direction::read) && !s.slot.is_ready(direction::write), "a new one is new");
      waker mine = s.new_one.listen();
      check(!s.slot.arm(direction::read, mine), "no event of the old one counts");
    });
    e.finally([&s] {
      check(s.old_one.wakes() + s.old_one.drops() == 1, "the old waiter's waker ends once");
      check(s.new_one.wakes() == 0, "the new one's stays");
      check(!s.slot.is_ready(direction::read) && !s.slot.is_ready(direction::write), "nothing is remembered");
      s.slot.close();
      check(s.new_one.drops() == 1, "until its own end");
    });
  };
  expect_holds(exhaustive("registration_stale", 4), body);
}

// Who gives up takes its waker back, and not the event: the next one who waits has that.
TEST(registration_model, who_gives_up_leaves_the_event) {
  struct scene {
    connection c;
    listener gave_up;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    const std::uint32_t now = generation_of(s.c.slot.open(0));
    e.thread("reader", [&s] {
      waker mine = s.gave_up.listen();
      const bool was_there = s.c.slot.arm(direction::read, mine);
      if (!was_there) s.c.slot.disarm(direction::read);
      mine = waker();
      s.c.read();
    });
    e.thread("driver", [&s, now] { s.c.arrive(now); });
    e.finally([&s] { check(s.gave_up.wakes() + s.gave_up.drops() == 1, "each waker ends once"); });
  };
  expect_holds(exhaustive("registration_cancel", 3), body);
}

// The two directions have a waiter each, and one event may be for both.
TEST(registration_model, each_direction_has_its_own_waiter) {
  struct scene {
    registration slot;
    sleeper reader;
    sleeper writer;
  };
  const auto wait = [](registration& slot, direction d, sleeper& who) {
    waker mine = who.make_waker();
    if (!slot.arm(d, mine)) who.wait();
  };
  const auto body = [wait](execution& e) {
    auto& s = e.make<scene>();
    const std::uint32_t now = generation_of(s.slot.open(0));
    e.thread("reader", [&s, wait] { wait(s.slot, direction::read, s.reader); });
    e.thread("writer", [&s, wait] { wait(s.slot, direction::write, s.writer); });
    e.thread("driver", [&s, now] { s.slot.event(now, true, true); });
  };
  expect_holds(exhaustive("registration_both"), body);
}

/// Asks the registration when it is woken: it must not be under its lock then.
struct curious {
  registration* of;
  static void wake(void* self) noexcept {
    static_cast<void>(static_cast<curious*>(self)->of->is_ready(direction::read));
  }
  static void* clone(void* self) noexcept { return self; }
  static constexpr waker_vtable vtable{wake, wake, clone, wake};
};

TEST(registration_model, nobody_is_woken_or_dropped_under_the_lock) {
  const auto body = [](execution& e) {
    auto& slot = e.make<registration>();
    auto& who = e.make<curious>(&slot);
    const std::uint32_t now = generation_of(slot.open(0));
    waker first(&who, &curious::vtable);
    check(!slot.arm(direction::read, first), "nothing has come yet");
    e.thread("driver", [&slot, now] { slot.event(now, true, false); });
    e.thread("owner", [&slot] { slot.disarm(direction::read); });
    e.finally([&slot, &who] {
      waker last(&who, &curious::vtable);
      if (!slot.arm(direction::write, last)) slot.close();
    });
  };
  expect_holds(exhaustive("registration_lock", 3), body);
}

}  // namespace
}  // namespace rota::driver
