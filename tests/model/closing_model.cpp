// P: closing. A pipe's end is closed while tasks use it. Real word and registration; the kernel is a count.
#include "base/futex.hpp"
#include "driver/registration.hpp"
#include "model/exploring.hpp"
#include "process/closing.hpp"

#include <rota/testing/explore.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace rota::process::detail {
namespace {

using driver::direction;
using driver::news;
using driver::registration;
using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// A task's thread.
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

/// Acts as watched and watched_leaf. `number`: 1 while open; an access that close() does not await is a race.
struct pipe_end {
  registration slot;
  closing uses;
  base::cell<int> number;
  base::cell<int> reason;  // written by the closing thread, before
  base::atomic<unsigned> room{0};

  void open() noexcept {
    static_cast<void>(slot.open(0));
    number.set(1);
  }
  bool try_once() noexcept {
    check(number.get() == 1, "a try meets its own descriptor");
    // acq_rel. As the kernel's own lock.
    unsigned seen = room.load(base::order::acquire);
    // acq_rel. As above. failure: acquire. As above.
    return seen != 0 &&
           room.compare_exchange_strong(seen, seen - 1, base::order::acq_rel, base::order::acquire);
  }
  void close_descriptor() noexcept {
    check(number.get() == 1, "it is closed once");
    number.set(0);
  }
  /// Returns false if it is closed.
  bool write(direction d, sleeper& me) noexcept {
    for (;;) {
      if (uses.enter() == closing::on_enter::closed) {
        check(reason.get() == 1, "who is told of the close sees what was done before");
        return false;
      }
      const bool did = try_once();
      if (uses.leave() == closing::on_leave::close_descriptor) close_descriptor();
      if (did) return true;
      waker mine = me.make_waker();
      if (slot.arm(d, mine)) continue;
      me.wait();
      static_cast<void>(slot.take_ready(d));
    }
  }
  void close() noexcept {
    const closing::on_close then = uses.close();
    if (then == closing::on_close::was_closed) return;
    slot.end();
    if (then == closing::on_close::wake_and_close_descriptor) close_descriptor();
  }
};

struct scene {
  pipe_end end;
  sleeper first;
  sleeper second;
  scene() { end.open(); }
};

// Only the close wakes it; and the descriptor is closed once all have gone.
TEST(closing_model, a_close_ends_a_wait_and_closes_the_descriptor_once) {
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("writer", [&s] { check(!s.end.write(direction::write, s.first), "there is no room"); });
    e.thread("closer", [&s] {
      s.end.reason.set(1);
      s.end.close();
      s.end.close();
    });
    e.finally([&s] { check(s.end.uses.is_over() && s.end.number.get() == 0, "the descriptor has gone"); });
  };
  expect_holds(exhaustive("closing_wait", 3), body);
  expect_holds(at_random("closing_wait random"), body);
}

// Two tries are in progress at the close: the last one closes the descriptor, and neither meets another file.
TEST(closing_model, the_last_operation_in_progress_closes_the_descriptor) {
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("writer", [&s] { check(!s.end.write(direction::write, s.first), "there is no room"); });
    e.thread("reader", [&s] { check(!s.end.write(direction::read, s.second), "there is nothing"); });
    e.thread("closer", [&s] {
      s.end.reason.set(1);
      s.end.close();
    });
    e.finally([&s] { check(s.end.uses.is_over() && s.end.number.get() == 0, "the descriptor has gone"); });
  };
  expect_holds(exhaustive("closing_two"), body);
  expect_holds(at_random("closing_two random"), body);
}

// Space comes beside the close: one byte is written, or none; the next try finds it closed.
TEST(closing_model, a_writer_ends_when_a_close_races_with_a_readiness_event) {
  const auto body = [](execution& e) {
    auto& s = e.make<scene>();
    e.thread("writer", [&s] {
      static_cast<void>(s.end.write(direction::write, s.first));
      check(!s.end.write(direction::write, s.first), "there is room for one");
    });
    e.thread("driver", [&s] {
      // release. As the kernel's own lock.
      s.end.room.fetch_add(1, base::order::release);
      s.end.slot.event(0, news::none, news::once);
    });
    e.thread("closer", [&s] {
      s.end.reason.set(1);
      s.end.close();
    });
    e.finally([&s] { check(s.end.number.get() == 0, "the descriptor has gone"); });
  };
  expect_holds(exhaustive("closing_event"), body);
}

}  // namespace
}  // namespace rota::process::detail
