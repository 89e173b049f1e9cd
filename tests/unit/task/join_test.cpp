// Handles: awaiting, blocking, limits, dropping, misuse.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/tls_slot.hpp"
#include "unit/task/task_support.hpp"

namespace rota::join_test {
namespace {

using namespace std::chrono_literals;
using test::after;
using test::event;
using test::fails_after;
using test::give;
using test::journal;
using test::manual_scheduler;

errc code_of(const error& e) { return static_cast<errc>(e.code().value()); }

// --- awaiting

TEST(join, an_awaited_task_that_has_not_started_runs_inside_its_awaiter) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(
      [](manual_scheduler* on, journal* in) -> task<int> {
        auto child = on->spawn(
            [](journal* out) -> task<int> {
              out->add("child");
              co_return 4;
            },
            in);
        in->add("before");
        const int got = co_await child;
        in->add("after");
        co_return got;
      },
      &s,
      &j);
  EXPECT_TRUE(s.run_one());
  EXPECT_EQ(j.text(), "before child after");
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(s.enrolled, 0) << "nobody has suspended";
  EXPECT_EQ(s.run_until_idle(), 1) << "the stale entry of the child";
  EXPECT_EQ(h.join(), 4);
}

TEST(join, a_claimed_task_that_suspends_wakes_its_awaiter_later) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](manual_scheduler* on, event* of) -> task<int> {
        auto child = on->spawn(after(*of, 6));
        const int got = co_await child;
        co_return got;
      },
      &s,
      &e);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  e.fire();
  EXPECT_EQ(s.run_until_idle(), 2) << "the child, then its awaiter";
  EXPECT_EQ(h.join(), 6);
}

TEST(join, without_claiming_an_awaited_task_runs_from_the_queue) {
  manual_scheduler s;
  s.claims = false;
  journal j;
  auto h = s.spawn(
      [](manual_scheduler* on, journal* in) -> task<int> {
        auto child = on->spawn(give(4));
        const int got = co_await child;
        in->add("after");
        co_return got;
      },
      &s,
      &j);
  EXPECT_EQ(s.run_until_idle(), 3);
  EXPECT_EQ(h.join(), 4);
}

TEST(join, a_task_that_has_ended_is_joined_at_once) {
  manual_scheduler s;
  auto child = s.spawn(give(5));
  s.run_until_idle();
  auto h = s.spawn(
      [](join_handle<int>* of) -> task<int> {
        const int got = co_await *of;
        EXPECT_FALSE(of->valid()) << "the handle is used up";
        co_return got;
      },
      &child);
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(h.join(), 5);
}

TEST(join, moved_handle_can_be_awaited) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler* on) -> task<int> {
        auto child = on->spawn(give(5));
        auto moved = std::move(child);
        const int got = co_await moved;
        co_return got;
      },
      &s);
  s.run_until_idle();
  EXPECT_EQ(h.join(), 5);
}

TEST(join, an_exception_is_rethrown_and_counts_as_seen) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](manual_scheduler* on, event* of) -> task<std::string> {
        auto child = on->spawn(fails_after(*of));
        std::string words;
        try {
          static_cast<void>(co_await child);
        } catch (const std::runtime_error& thrown) {
          words = thrown.what();
        }
        co_return words;
      },
      &s,
      &e);
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), "after the event");
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST(join, a_cancelled_task_throws_cancelled_error) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](manual_scheduler* on, event* of) -> task<cancel_reason> {
        auto child = on->spawn(after(*of, 1));
        auto reason = cancel_reason::none;
        child.cancel(cancel_reason::timeout);
        try {
          static_cast<void>(co_await child);
        } catch (const cancelled_error& thrown) {
          reason = thrown.reason();
        }
        co_return reason;
      },
      &s,
      &never);
  s.run_until_idle();
  EXPECT_EQ(h.join(), cancel_reason::timeout);
}

TEST(join, result_never_throws) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](manual_scheduler* on, event* of) -> task<int> {
        auto value = on->spawn(give(2));
        auto failing = on->spawn(fails_after(*of));
        auto stuck = on->spawn(after(*of, 1));
        of->fire();
        stuck.cancel();
        auto a = co_await value.result();
        auto b = co_await failing.result();
        auto c = co_await stuck.result();
        EXPECT_EQ(a.value(), 2);
        EXPECT_TRUE(b.has_exception());
        EXPECT_TRUE(c.is_cancelled());
        EXPECT_EQ(c.reason(), cancel_reason::user);
        co_return 1;
      },
      &s,
      &e);
  s.run_until_idle();
  EXPECT_EQ(h.join(), 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST(join, detached_wait_gives_the_value_too) {
  manual_scheduler s;
  event e;
  auto child = s.spawn(after(e, 8));
  auto h = s.spawn(
      [](join_handle<int>* of) -> task<int> {
        const int got = co_await of->detached_wait();
        co_return got;
      },
      &child);
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 8);
}

// --- misuse

TEST(join, a_handle_is_used_once) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler* on) -> task<int> {
        auto child = on->spawn(give(1));
        int refusals = 0;
        static_cast<void>(co_await child);
        try {
          static_cast<void>(co_await child);
        } catch (const error& e) {
          refusals += code_of(e) == errc::already_joined ? 1 : 0;
        }
        try {
          static_cast<void>(co_await child.result());
        } catch (const error& e) {
          refusals += code_of(e) == errc::already_joined ? 1 : 0;
        }
        try {
          static_cast<void>(child.join());
        } catch (const error& e) {
          refusals += code_of(e) == errc::already_joined ? 1 : 0;
        }
        try {
          static_cast<void>(child.wait_for(1ms));
        } catch (const error& e) {
          refusals += code_of(e) == errc::already_joined ? 1 : 0;
        }
        EXPECT_FALSE(child.cancel());
        EXPECT_FALSE(child.is_done());
        EXPECT_EQ(child.id().value, 0U);
        co_return refusals;
      },
      &s);
  s.run_until_idle();
  EXPECT_EQ(h.join(), 4);
}

TEST(join, second_waiter_for_one_handle_is_refused) {
  manual_scheduler s;
  event e;
  auto child = s.spawn(after(e, 3));
  s.run_until_idle();
  const auto wait = [](join_handle<int>* of) -> task<int> {
    const int got = co_await *of;
    co_return got;
  };
  auto first = s.spawn(wait, &child);
  auto second = s.spawn(wait, &child);
  s.run_until_idle();
  EXPECT_FALSE(first.is_done());
  ASSERT_TRUE(second.is_done());
  try {
    static_cast<void>(second.join());
    FAIL() << "one joiner";
  } catch (const error& thrown) {
    EXPECT_EQ(code_of(thrown), errc::already_joined);
  }
  EXPECT_THROW(static_cast<void>(child.wait_for(0ms)), error);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(first.join(), 3) << "the first was not robbed of its wake";
}

TEST(join, a_task_cannot_wait_for_itself) {
  manual_scheduler s;
  join_handle<int>* self = nullptr;
  auto h = s.spawn(
      [](join_handle<int>** me) -> task<int> {
        int refusals = 0;
        try {
          static_cast<void>(co_await **me);
        } catch (const error& e) {
          refusals += code_of(e) == errc::would_deadlock ? 1 : 0;
        }
        try {
          static_cast<void>((*me)->join());
        } catch (const error& e) {
          refusals += code_of(e) == errc::would_deadlock ? 1 : 0;
        }
        try {
          static_cast<void>((*me)->join(help));
        } catch (const error& e) {
          refusals += code_of(e) == errc::would_deadlock ? 1 : 0;
        }
        co_return refusals;
      },
      &self);
  self = &h;
  s.run_until_idle();
  EXPECT_EQ(h.join(), 3);
}

TEST(join, a_task_cannot_wait_for_a_task_that_waits_for_it) {
  manual_scheduler s;
  join_handle<int>* outer = nullptr;
  auto h = s.spawn(
      [](manual_scheduler* on, join_handle<int>** me) -> task<int> {
        auto child = on->spawn(
            [](manual_scheduler* of, join_handle<int>** above) -> task<int> {
              auto grandchild = of->spawn(
                  [](join_handle<int>** top) -> task<int> {
                    int refused = 0;
                    try {
                      static_cast<void>(co_await **top);
                    } catch (const error& e) {
                      refused = code_of(e) == errc::would_deadlock ? 1 : 0;
                    }
                    co_return refused;
                  },
                  above);
              const int got = co_await grandchild;
              co_return got;
            },
            on,
            me);
        const int got = co_await child;
        co_return got;
      },
      &s,
      &outer);
  outer = &h;
  s.run_until_idle();
  EXPECT_EQ(h.join(), 1);
}

}  // namespace
}  // namespace rota::join_test
