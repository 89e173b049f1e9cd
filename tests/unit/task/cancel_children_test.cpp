// Cancellation with shields, awaited children, and destructors that act.
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include "unit/task/task_support.hpp"

namespace rota::cancel_children_test {
namespace {

using test::counted;
using test::event;
using test::expect_cancelled;
using test::journal;
using test::manual_scheduler;
using test::nest;
using test::note;
using test::slow_operation;
using test::waits_slowly;
using test::word_shield;

// --- shields at the level of the state word

TEST(cancel, shield_delays_it_until_the_next_suspension_after_the_shield) {
  manual_scheduler s;
  journal j;
  event shielded;
  event never;
  auto h = s.spawn(
      [](journal* in, event* first, event* second) -> task<> {
        const note local(*in, "local");
        {
          const word_shield guard;
          co_await (*first)();
          in->add("shielded-work");
        }
        in->add("unshielded");
        co_await (*second)();
        in->add("never");
      },
      &j,
      &shielded,
      &never);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "") << "the request consumed a run, and nothing else";
  EXPECT_EQ(shielded.resumes, 0);
  shielded.fire();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "shielded-work unshielded [local]") << "the second event never fires, and need not";
  EXPECT_EQ(never.cancels, 1);
  expect_cancelled(h);
}

TEST(cancel, overridden_shield_delays_nothing) {
  manual_scheduler s;
  journal j;
  event never;
  core::header* me = nullptr;
  auto h = s.spawn(
      [](journal* in, event* on, core::header** self) -> task<> {
        const note local(*in, "local");
        *self = core::current_task();
        const word_shield guard;
        co_await (*on)();
      },
      &j,
      &never,
      &me);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "");
  core::override_shields(*me);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[local]");
  expect_cancelled(h);
}

TEST(cancel, shield_depth_stops_at_255) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    core::state& word = core::current_task()->word;
    const auto references = word.load().refs();
    int refused = 0;
    for (int i = 0; i < 300; ++i) refused += word.shield_up() == core::on_shield::overflow ? 1 : 0;
    EXPECT_EQ(word.load().shields(), 255U);
    EXPECT_EQ(word.load().refs(), references) << "nothing is carried into the count";
    for (int i = 0; i < 255; ++i) static_cast<void>(word.shield_down());
    EXPECT_EQ(word.load().shields(), 0U);
    co_return refused;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), 45);
}

// --- awaited children

TEST(cancel, cancelled_parent_cancels_its_awaited_child_and_unwinds_after_it) {
  manual_scheduler s;
  journal j;
  event e;
  auto parent = s.spawn(
      [](manual_scheduler* on, journal* in, event* of) -> task<> {
        const note local(*in, "parent");
        auto child = on->spawn(nest(*in, *of, 1));
        co_await child;
        in->add("never");
      },
      &s,
      &j,
      &e);
  s.run_until_idle();
  parent.cancel(cancel_reason::timeout);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[0] [1] [parent]");
  EXPECT_EQ(e.reason, cancel_reason::timeout);
  EXPECT_EQ(s.cancelled, 2);
  expect_cancelled(parent, cancel_reason::timeout);
}

TEST(cancel, a_child_that_finishes_anyway_is_waited_for) {
  manual_scheduler s;
  journal j;
  slow_operation op;
  auto parent = s.spawn(
      [](manual_scheduler* on, journal* in, slow_operation* of) -> task<> {
        const note local(*in, "parent");
        auto child = on->spawn(waits_slowly(*in, *of));
        co_await child;
      },
      &s,
      &j,
      &op);
  s.run_until_idle();
  parent.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "") << "the child may still use what its parent owns";
  EXPECT_FALSE(parent.is_done());
  op.end();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[local] [parent]");
  expect_cancelled(parent);
}

TEST(cancel, cancelled_detached_wait_does_not_cancel_the_task) {
  manual_scheduler s;
  journal j;
  event e;
  auto child = s.spawn(nest(j, e, 0));
  auto parent = s.spawn(
      [](join_handle<void>* of, journal* in) -> task<> {
        const note local(*in, "parent");
        co_await of->detached_wait();
      },
      &child,
      &j);
  s.run_until_idle();
  parent.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[parent]");
  expect_cancelled(parent);
  EXPECT_FALSE(child.is_done());
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[parent] never 0");
  child.join();
}

TEST(cancel, parent_cancelled_before_its_child_has_started_ends_both) {
  manual_scheduler s;
  s.claims = false;
  counted::reset();
  journal j;
  auto parent = s.spawn(
      [](manual_scheduler* on, journal* in) -> task<> {
        auto child = on->spawn(
            [](counted, journal* out) -> task<> {
              out->add("ran");
              co_return;
            },
            counted(1),
            in);
        co_await child;
      },
      &s,
      &j);
  EXPECT_TRUE(s.run_one());
  parent.cancel();
  s.run_until_idle();
  EXPECT_EQ(counted::alive, 0);
  // The child may run, since it was queued before its parent's second poll. Both must have ended.
  EXPECT_LE(j.count("ran"), 1U);
  EXPECT_EQ(s.ended, 2);
  ASSERT_TRUE(parent.is_done());
  parent.detach();
}

/// Two tasks that wait for each other.
struct couple {
  join_handle<void> a;
  join_handle<void> b;
};

task<> waits_for(join_handle<void>& other, journal& j, const char* name) {
  const note local(j, name);
  co_await yield();
  co_await other;
}

TEST(cancel, two_tasks_that_join_each_other_are_both_freed_by_one_cancel) {
  manual_scheduler s;
  s.claims = false;  // otherwise one would run inside the other and find the cycle
  journal j;
  couple two;
  two.a = s.spawn(waits_for(two.b, j, "a"));
  two.b = s.spawn(waits_for(two.a, j, "b"));
  s.run_until_idle();
  EXPECT_FALSE(two.a.is_done());
  EXPECT_FALSE(two.b.is_done());
  two.a.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 2);
  EXPECT_EQ(j.lines.size(), 2U);
}

TEST(cancel, join_cycle_of_five_tasks_is_freed_by_one_cancel) {
  manual_scheduler s;
  s.claims = false;
  journal j;
  std::array<join_handle<void>, 5> ring;
  for (std::size_t i = 0; i < 5; ++i) ring[i] = s.spawn(waits_for(ring[(i + 1) % 5], j, "one"));
  s.run_until_idle();
  EXPECT_EQ(s.ended, 0);
  ring[3].cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 5);
  EXPECT_EQ(j.lines.size(), 5U);
}

TEST(cancel, a_long_chain_of_joins_unwinds_from_its_end) {
  constexpr int length = 10'000;
  manual_scheduler s;
  event e;
  static int depth_destroyed;
  depth_destroyed = 0;
  struct link {
    static task<> run(manual_scheduler* on, event* of, int left) {
      struct counts {
        ~counts() { ++depth_destroyed; }
      } const here;
      if (left == 0) {
        co_await (*of)();
      } else {
        auto child = on->spawn(run(on, of, left - 1));
        co_await child;
      }
    }
  };
  auto h = s.spawn(link::run(&s, &e, length));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(depth_destroyed, length + 1);
  EXPECT_EQ(s.cancelled, length + 1);
  expect_cancelled(h);
}

// --- destructors that act

struct spawns_when_destroyed {
  manual_scheduler* on;
  journal* in;
  ~spawns_when_destroyed() {
    auto h = on->spawn(
        [](journal* out) -> task<> {
          out->add("spawned");
          co_return;
        },
        in);
    h.detach();
  }
};

TEST(cancel, a_destructor_may_spawn) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(
      [](manual_scheduler* on, journal* in, event* of) -> task<> {
        const spawns_when_destroyed local{on, in};
        co_await (*of)();
      },
      &s,
      &j,
      &e);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "spawned");
  expect_cancelled(h);
}

struct joins_when_destroyed {
  manual_scheduler* on;
  int* got;
  ~joins_when_destroyed() {
    auto h = on->spawn([]() -> task<int> { co_return 3; });
    *got = h.join();
  }
};

TEST(cancel, a_destructor_may_join_what_has_not_started) {
  manual_scheduler s;
  event e;
  int got = 0;
  auto h = s.spawn(
      [](manual_scheduler* on, int* out, event* of) -> task<> {
        const joins_when_destroyed local{on, out};
        co_await (*of)();
      },
      &s,
      &got,
      &e);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(got, 3);
  expect_cancelled(h);
}

using cancel_death = ::testing::Test;

TEST(cancel_death, a_destructor_that_throws_ends_the_program) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto die = [] {
    manual_scheduler s;
    event e;
    struct throws {
      ~throws() noexcept(false) { throw 1; }
    };
    auto h = s.spawn(
        [](event* of) -> task<> {
          const throws local;
          co_await (*of)();
        },
        &e);
    s.run_until_idle();
    h.cancel();
    s.run_until_idle();
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGABRT), "a destructor threw while its task was unwound");
}

}  // namespace
}  // namespace rota::cancel_children_test
