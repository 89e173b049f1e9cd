// P9: a timer is cancelled, fires, is armed again and is freed, all at once. Each arm ends once, no waker is
// touched under a lock, and no thread touches a node that its owner may have freed.
#include <gtest/gtest.h>

#include <new>
#include <string_view>

#include <rota/testing/explore.hpp>
#include "base/frame_allocator.hpp"
#include "model/exploring.hpp"
#include "model/listener.hpp"
#include "time/shard.hpp"

namespace rota::timing {
namespace {

using namespace std::chrono_literals;
using model::listener;
using testing::check;
using testing::execution;

constexpr base::time_point start{1'000s};
constexpr unsigned all_due = ~0U;

template <class Body>
void expect_holds_everywhere(std::string_view name, const Body& body, unsigned preemptions = 3) {
  model::expect_holds_everywhere(name, body, preemptions);
}

/// A node in memory that the checker watches, as a frame is.
timer_node* make_node() { return ::new (base::allocate_frame(sizeof(timer_node))) timer_node; }

void free_node(timer_node* node) noexcept {
  node->~timer_node();
  base::free_frame(node, sizeof(timer_node));
}

void arm(shard& on, timer_node& node, base::time_point deadline, listener& heard) {
  static_cast<void>(on.arm(node, deadline, heard.listen()));
}

TEST(timer_model, the_owner_cancels_and_frees_while_a_poll_fires) {
  expect_holds_everywhere("cancel and free", [](execution& e) {
    auto& timers = e.make<shard>(start);
    auto& heard = e.make<listener>();
    timer_node* const node = make_node();
    arm(timers, *node, start + 1ms, heard);
    e.thread("owner", [&heard, node] {
      const bool cancelled = shard::cancel(*node) == cancel_result::cancelled;
      free_node(node);
      if (cancelled) check(heard.drops() == 1 && heard.wakes() == 0, "a cancelled timer does not wake");
    });
    e.thread("poller", [&timers] { static_cast<void>(timers.poll(start + 1ms, all_due)); });
    e.finally([&timers, &heard] {
      check(heard.wakes() + heard.drops() == 1, "one end");
      check(timers.counts().fired == heard.wakes() && timers.earliest() == base::never, "counted, and gone");
    });
  });
}

TEST(timer_model, the_owner_frees_as_soon_as_it_sees_the_node_fired) {
  expect_holds_everywhere("free when fired", [](execution& e) {
    auto& timers = e.make<shard>(start);
    auto& heard = e.make<listener>();
    timer_node* const node = make_node();
    arm(timers, *node, start + 1ms, heard);
    e.thread("owner", [node] {
      while (node->state() == node_state::armed) base::cpu_relax();
      free_node(node);
    });
    e.thread("poller", [&timers] { check(timers.poll(start + 1ms, all_due) == 1, "due"); });
    e.finally([&heard] { check(heard.wakes() == 1 && heard.drops() == 0, "woken once"); });
  });
}

TEST(timer_model, two_polls_and_a_cancel_end_a_timer_once) {
  expect_holds_everywhere(
      "two polls",
      [](execution& e) {
        auto& timers = e.make<shard>(start);
        auto& heard = e.make<listener>();
        auto& node = e.make<timer_node>();
        arm(timers, node, start + 70ms, heard);
        e.thread("poller", [&timers] { static_cast<void>(timers.poll(start + 70ms, all_due)); });
        e.thread("poller too", [&timers] { static_cast<void>(timers.poll(start + 71ms, all_due)); });
        e.thread("stranger", [&node] { static_cast<void>(shard::cancel(node)); });
        e.finally([&heard] { check(heard.wakes() + heard.drops() == 1, "one end"); });
      },
      2);
}

TEST(timer_model, two_cancels_agree) {
  expect_holds_everywhere("two cancels", [](execution& e) {
    auto& timers = e.make<shard>(start);
    auto& heard = e.make<listener>();
    auto& node = e.make<timer_node>();
    arm(timers, node, start + 1ms, heard);
    auto& cancelled = e.make<base::atomic<int>>(0);
    const auto cancel = [&node, &cancelled] {
      // relaxed. A count.
      if (shard::cancel(node) == cancel_result::cancelled) cancelled.fetch_add(1, base::order::relaxed);
    };
    e.thread("one", cancel);
    e.thread("two", cancel);
    e.finally([&heard, &cancelled] {
      // relaxed. The threads have ended.
      check(cancelled.load(base::order::relaxed) == 1 && heard.drops() == 1, "one of them");
    });
  });
}

TEST(timer_model, the_owner_rearms_in_another_shard_during_a_cancel_and_a_poll) {
  expect_holds_everywhere(
      "moved",
      [](execution& e) {
        auto& here = e.make<shard>(start);
        auto& there = e.make<shard>(start);
        auto& heard = e.make<listener>();
        auto& node = e.make<timer_node>();
        arm(here, node, start + 1ms, heard);
        e.thread("owner",
                 [&] { static_cast<void>(there.arm(node, start + 1h, {&heard, &listener::vtable})); });
        e.thread("stranger", [&node] { static_cast<void>(shard::cancel(node)); });
        e.thread("poller", [&here] { static_cast<void>(here.poll(start + 1ms, all_due)); });
        e.finally([&] {
          static_cast<void>(shard::cancel(node));
          check(heard.wakes() + heard.drops() == 2, "two arms, two ends");
          check(here.earliest() == base::never && there.earliest() == base::never, "in no list");
        });
      },
      2);
}

TEST(timer_model, the_owner_rearms_in_the_same_shard_during_a_cancel_and_a_poll) {
  expect_holds_everywhere(
      "again",
      [](execution& e) {
        auto& timers = e.make<shard>(start);
        auto& heard = e.make<listener>();
        auto& node = e.make<timer_node>();
        arm(timers, node, start + 1ms, heard);
        e.thread("owner",
                 [&] { static_cast<void>(timers.arm(node, start + 1h, {&heard, &listener::vtable})); });
        e.thread("stranger", [&node] { static_cast<void>(shard::cancel(node)); });
        e.thread("poller", [&timers] { static_cast<void>(timers.poll(start + 1ms, all_due)); });
        e.finally([&] {
          static_cast<void>(shard::cancel(node));
          check(heard.wakes() + heard.drops() == 2, "two arms, two ends");
        });
      },
      2);
}

/// A waker that reads the timers again, as user code may: it hangs if it is called under the lock.
struct neighbour {
  timer_node* node;
  static void cancel(void* data) noexcept {
    static_cast<void>(shard::cancel(*static_cast<neighbour*>(data)->node));
  }
  static void* clone(void* data) noexcept { return data; }
  static constexpr waker_vtable vtable{cancel, cancel, clone, cancel};
};

TEST(timer_model, a_waker_that_cancels_a_neighbour_is_called_without_the_lock) {
  expect_holds_everywhere("neighbour", [](execution& e) {
    auto& timers = e.make<shard>(start);
    auto& heard = e.make<listener>();
    auto& other = e.make<timer_node>();
    auto& node = e.make<timer_node>();
    auto& to = e.make<neighbour>(&other);
    arm(timers, other, start + 100ms, heard);
    static_cast<void>(timers.arm(node, start + 70ms, {&to, &neighbour::vtable}));
    e.thread("poller", [&timers] { static_cast<void>(timers.poll(start + 70ms, all_due)); });
    e.thread("stranger",
             [&node] { static_cast<void>(shard::cancel(node)); });  // wakes or drops: `other` goes
    e.finally([&heard, &timers] {
      check(heard.wakes() == 0 && heard.drops() == 1, "cancelled by its neighbour");
      check(timers.earliest() == base::never, "in no list");
    });
  });
}

TEST(timer_model, timers_that_are_moved_to_a_finer_slot_are_not_lost) {
  expect_holds_everywhere("moved to a finer slot", [](execution& e) {
    auto& timers = e.make<shard>(start);
    auto& kept = e.make<listener>();
    auto& cancelled = e.make<listener>();
    auto& first = e.make<timer_node>();
    auto& second = e.make<timer_node>();
    timer_node* const third = make_node();
    arm(timers, first, start + 5000ms, kept);  // all three in one slot of 4 s
    arm(timers, second, start + 5500ms, kept);
    arm(timers, *third, start + 6000ms, cancelled);
    e.thread("poller", [&timers] {
      static_cast<void>(timers.poll(start + 5s, all_due));
      static_cast<void>(timers.poll(start + 6s, all_due));
    });
    e.thread("owner", [third] {
      static_cast<void>(shard::cancel(*third));
      free_node(third);
    });
    e.finally([&] {
      check(kept.wakes() == 2, "both fired");
      check(cancelled.wakes() + cancelled.drops() == 1, "one end");
    });
  });
}

/// How a poller sleeps on the timers: it announces, re-checks, sleeps. Arming publishes, then reads the
/// announcement. Both by a read-modify-write of the same word.
TEST(timer_model, a_poller_that_goes_to_sleep_does_not_miss_an_earlier_timer) {
  expect_holds_everywhere("announce", [](execution& e) {
    auto& timers = e.make<shard>(start);
    auto& heard = e.make<listener>();
    auto& node = e.make<timer_node>();
    auto& announced = e.make<base::atomic<std::int64_t>>(0);  // 0: awake
    auto& interrupted = e.make<base::atomic<int>>(0);
    constexpr std::int64_t sleeps_for_ever = 1;
    e.thread("poller", [&] {
      // acq_rel. Same word as the other thread: at least one of us sees the other.
      announced.exchange(sleeps_for_ever, base::order::acq_rel);
      // acq_rel. As above: no longer asleep.
      if (timers.earliest() != base::never) announced.exchange(0, base::order::acq_rel);
    });
    e.thread("arms", [&] {
      const arm_result armed = timers.arm(node, start + 1ms, heard.listen());
      check(armed.duty == on_arm::announce_earlier && armed.earliest == start + 1ms, "earlier than never");
      // acq_rel. Same word as the poller.
      if (announced.fetch_add(0, base::order::acq_rel) == sleeps_for_ever) {
        // relaxed. Read at the end.
        interrupted.store(1, base::order::relaxed);
      }
    });
    e.finally([&] {
      // relaxed, both. The threads have ended.
      const bool asleep = announced.load(base::order::relaxed) == sleeps_for_ever;
      check(!asleep || interrupted.load(base::order::relaxed) == 1, "asleep, and nobody interrupts");
      static_cast<void>(shard::cancel(node));
    });
  });
}

}  // namespace
}  // namespace rota::timing
