// P14: a driver's record of a descriptor, between its events, its waiters and its end. The registration is
// real; the kernel is a count of bytes, and events that are found at one time and dispatched at another.
#include "base/futex.hpp"
#include "driver/registration.hpp"
#include "model/exploring.hpp"
#include "model/listener.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

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
  /// Does what net::detail::socket_leaf does.
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
    slot.event(generation, news::once, news::none);
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

// The driver has found an event of the old descriptor, and dispatches it after the slot has a new one.
void expect_no_stale_event(std::string_view name, std::uint32_t generation) {
  struct scene {
    explicit scene(std::uint32_t g) : slot(g) {}
    registration slot;
    listener old_one;
    listener new_one;
    base::atomic<unsigned> opened{0};
  };
  const auto body = [generation](execution& e) {
    auto& s = e.make<scene>(generation);
    const std::uint32_t old_generation = generation_of(s.slot.open(0));
    check(old_generation == generation, "the key has it");
    waker first = s.old_one.listen();
    check(!s.slot.arm(direction::read, first), "nothing has come yet");
    e.thread("driver", [&s, old_generation] {
      const bool readable = testing::choose(2) == 0;
      s.slot.event(old_generation, readable ? news::lasts : news::none, news::once);
    });
    e.thread("owner", [&s] {
      s.slot.disarm(direction::read);
      s.slot.close();
      check(s.slot.open(0) >> 63U == 0, "the highest bit belongs to others");
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
  expect_holds(exhaustive(name, 4), body);
}

TEST(registration_model, a_stale_event_wakes_no_waiter_and_marks_nothing) {
  expect_no_stale_event("registration_stale", 0);
}
TEST(registration_model, the_last_generation_is_followed_by_the_first) {
  expect_no_stale_event("registration_wrap", 0x7FFF'FFFF);
}

// A waiter that gives up takes its waker back, and not the event: the next waiter gets that.
TEST(registration_model, a_cancelled_waiter_leaves_the_event_to_the_next) {
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
    e.thread("driver", [&s, now] { s.slot.event(now, news::once, news::once); });
  };
  expect_holds(exhaustive("registration_both"), body);
}

/// Reads the registration when it is woken: a deadlock if the lock is held then.
struct curious {
  registration* of;
  static void wake(void* self) noexcept {
    static_cast<void>(static_cast<curious*>(self)->of->is_ready(direction::read));
  }
  static void* clone(void* self) noexcept { return self; }
  static constexpr waker_vtable vtable{wake, wake, clone, wake};
};

TEST(registration_model, no_waker_is_called_or_dropped_under_the_lock) {
  const auto body = [](execution& e) {
    auto& slot = e.make<registration>();
    auto& who = e.make<curious>(&slot);
    const std::uint32_t now = generation_of(slot.open(0));
    waker first(&who, &curious::vtable);
    check(!slot.arm(direction::read, first), "nothing has come yet");
    e.thread("driver", [&slot, now] { slot.event(now, news::once, news::none); });
    e.thread("owner", [&slot] { slot.disarm(direction::read); });
    e.finally([&slot, &who] {
      waker last(&who, &curious::vtable);
      if (!slot.arm(direction::write, last)) slot.close();
    });
  };
  expect_holds(exhaustive("registration_lock", 3), body);
}

/// A socket that one task may close while others wait for it.
struct closable {
  connection c;
  sleeper writer;

  /// The wait of a leaf that knows of the end. Returns false if it is closed.
  bool wait(direction d) noexcept {
    sleeper& me = d == direction::read ? c.reader : writer;
    for (;;) {
      if (c.slot.has_ended()) return false;
      if (d == direction::read && c.try_read()) return true;
      waker mine = me.make_waker();
      if (c.slot.arm(d, mine)) continue;
      me.wait();
      static_cast<void>(c.slot.take_ready(d));
    }
  }
};

// Both directions wait, or are about to; only the end wakes them.
TEST(registration_model, an_end_and_waits_do_not_miss_each_other) {
  const auto body = [](execution& e) {
    auto& s = e.make<closable>();
    static_cast<void>(s.c.slot.open(0));
    e.thread("reader", [&s] { check(!s.wait(direction::read), "closed"); });
    e.thread("writer", [&s] { check(!s.wait(direction::write), "closed"); });
    e.thread("closer", [&s] { s.c.slot.end(); });
  };
  expect_holds(exhaustive("registration_end"), body);
  expect_holds(at_random("registration_end random"), body);
}

// A byte comes beside the end: the reader gets it or not, and never sleeps. A try is not disturbed.
TEST(registration_model, a_reader_ends_when_an_end_races_with_an_event) {
  const auto body = [](execution& e) {
    auto& s = e.make<closable>();
    const std::uint32_t now = generation_of(s.c.slot.open(0));
    e.thread("reader", [&s] {
      const bool got_one = s.wait(direction::read);
      check(!s.wait(direction::read) || !got_one, "there is only one byte");
    });
    e.thread("driver", [&s, now] { s.c.arrive(now); });
    e.thread("closer", [&s] { s.c.slot.end(); });
  };
  expect_holds(exhaustive("registration_end_event"), body);
}

// The slot of the closed descriptor has a new one, which has not ended; the old events are stale.
TEST(registration_model, a_descriptor_opened_after_an_end_has_not_ended) {
  struct scene {
    registration slot;
    listener old_one;
    listener new_one;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    const std::uint32_t old_generation = generation_of(s.slot.open(0));
    waker first = s.old_one.listen();
    check(!s.slot.arm(direction::write, first), "nothing has come yet");
    e.thread("driver", [&s, old_generation] { s.slot.event(old_generation, news::lasts, news::lasts); });
    e.thread("owner", [&s] {
      s.slot.end();
      check(s.slot.take_ready(direction::read), "who is woken finds a reason");
      s.slot.close();
      static_cast<void>(s.slot.open(0));
      check(!s.slot.has_ended() && !s.slot.take_ready(direction::read), "a new one is new");
      waker mine = s.new_one.listen();
      check(!s.slot.arm_untried(direction::read, mine), "and may be waited for");
      s.slot.disarm(direction::read);
    });
    e.finally([&s] {
      check(s.old_one.wakes() == 1, "the old waiter is woken, by the event or by the end");
      check(s.new_one.wakes() == 0 && s.new_one.drops() == 1, "the new one gave up");
    });
  };
  expect_holds(exhaustive("registration_end_open", 3), body);
}

/// A stream like TCP's: bytes, then its end. An edge is kept until it is handed out; then the file is asked.
struct byte_stream {
  registration slot;
  sleeper reader;
  base::atomic<std::uint32_t> edge{0};
  base::atomic<std::uint32_t> state{0};  // bytes, and `finished`
  static constexpr std::uint32_t finished = 16;

  void come(std::uint32_t what) noexcept {
    // acq_rel, both. As the kernel's own lock.
    state.fetch_add(what, base::order::acq_rel);
    edge.exchange(1, base::order::acq_rel);
    base::futex_wake(&edge, 1);
  }
  /// The driver, until it has reported the end.
  void tell(std::uint32_t generation) noexcept {
    for (;;) {
      // acq_rel. As the kernel's own lock.
      while (edge.exchange(0, base::order::acq_rel) == 0) {
        static_cast<void>(base::futex_wait(edge, 0, base::never));
      }
      // acquire. Pairs with wake().
      const std::uint32_t now = state.load(base::order::acquire);
      const bool ends = (now & finished) != 0;
      slot.event(generation, ends ? news::lasts : news::once, news::none);
      if (ends) return;
    }
  }
  /// Takes all that is there: less than the reader has room for.
  std::uint32_t take() noexcept {
    // acq_rel. As the kernel's own lock.
    return state.fetch_and(finished, base::order::acq_rel);
  }
  /// Reads to the end; waits before it tries where it may. Returns the bytes.
  unsigned read_all() noexcept {
    unsigned sum = 0;
    for (bool drained = false;;) {
      waker mine = reader.make_waker();
      if (drained && !slot.arm_untried(direction::read, mine)) {
        reader.wait();
        static_cast<void>(slot.take_ready(direction::read));
      }
      const std::uint32_t got = take();
      sum += got & ~finished;
      drained = (got & ~finished) != 0;
      if (drained) continue;
      if (got != 0) return sum;
      mine = reader.make_waker();
      if (slot.arm(direction::read, mine)) continue;
      reader.wait();
      static_cast<void>(slot.take_ready(direction::read));
    }
  }
};

TEST(registration_model, a_reader_that_has_drained_the_stream_does_not_miss_its_end) {
  const auto body = [](execution& e) {
    auto& s = e.make<byte_stream>();
    const std::uint32_t now = generation_of(s.slot.open(0));
    e.thread("reader", [&s] { check(s.read_all() == 2, "all bytes, and the end"); });
    e.thread("peer", [&s] {
      s.come(1);
      s.come(1);
      s.come(byte_stream::finished);
    });
    e.thread("driver", [&s, now] { s.tell(now); });
  };
  expect_holds(exhaustive("registration_drained"), body);
  expect_holds(at_random("registration_drained random"), body);
}

// An error that a try has reported may be gone: the next try would block, and must be able to wait. A lasting
// condition stays for later waiters, however often it was consumed.
TEST(registration_model, a_lasting_event_refuses_a_wait_only_before_a_try) {
  struct scene {
    registration slot;
    listener reader;
    listener second;
  };
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    const std::uint32_t now = generation_of(s.slot.open(0));
    e.thread("driver", [&s, now] { s.slot.event(now, news::lasts, news::none); });
    e.thread("reader", [&s] {
      waker mine = s.reader.listen();
      if (!s.slot.arm_untried(direction::read, mine)) return;
      check(!s.slot.is_ready(direction::read), "consumed");
      check(s.slot.arm_untried(direction::read, mine), "it lasts");
      check(!s.slot.arm(direction::read, mine), "who has tried may wait");
      s.slot.disarm(direction::read);
      mine = s.second.listen();
      check(s.slot.arm_untried(direction::read, mine), "it lasts for the next one, too");
      check(!s.slot.arm_untried(direction::write, mine), "in its own direction");
      s.slot.disarm(direction::write);
    });
  };
  expect_holds(exhaustive("registration_lasts", 4), body);
}

TEST(registration_model, an_end_calls_no_waker_under_the_lock) {
  const auto body = [](execution& e) {
    auto& slot = e.make<registration>();
    auto& who = e.make<curious>(&slot);
    static_cast<void>(slot.open(0));
    waker first(&who, &curious::vtable);
    waker second(&who, &curious::vtable);
    check(!slot.arm(direction::read, first) && !slot.arm(direction::write, second), "nothing has come yet");
    e.thread("closer", [&slot] { slot.end(); });
    e.thread("reader", [&slot] { slot.disarm(direction::read); });
  };
  expect_holds(exhaustive("registration_end_lock", 3), body);
}

}  // namespace
}  // namespace rota::driver
