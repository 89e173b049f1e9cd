// The wait list by itself: sections, batches, and wakers that use the list again.
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_list.hpp>
#include <rota/waker.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace rota::core::wait_list_test {
namespace {

void link(wait_list& list, wait_node& node, waker wake) {
  node.wake = std::move(wake);
  wait_section section(list);
  section.link_back(node);
}

struct crowd {
  std::deque<wait_node> nodes;
  std::vector<int> woken;

  void add(wait_list& list, int count) {
    for (int i = 0; i < count; ++i) {
      link(list, nodes.emplace_back(), callback_waker([this, i]() noexcept { woken.push_back(i); }));
    }
  }
  [[nodiscard]] bool all_are(wait_state state) const {
    for (const wait_node& each : nodes) {
      if (each.state() != state) return false;
    }
    return true;
  }
};

TEST(wait_list, a_section_wakes_after_its_end) {
  wait_list list;
  crowd all;
  all.add(list, 2);
  {
    wait_section section(list);
    wait_node& first = *section.first();
    EXPECT_EQ(section.after(first), &all.nodes[1]);
    EXPECT_EQ(section.after(all.nodes[1]), nullptr);
    section.grant(first);
    EXPECT_EQ(first.state(), wait_state::granted);
    EXPECT_TRUE(all.woken.empty());
    section.unlink(*section.first());
  }
  EXPECT_EQ(all.woken, std::vector<int>{0});
}

TEST(wait_list, link_front_puts_a_waiter_at_the_front) {
  wait_list list;
  crowd all;
  all.add(list, 2);
  wait_section section(list);
  wait_node& back = all.nodes[1];
  section.unlink(back);
  section.link_front(back);
  EXPECT_EQ(section.first(), &back);
  section.grant(back, wait_state::closed);
  section.call(all.nodes[0]);
  EXPECT_EQ(back.state(), wait_state::closed);
  EXPECT_EQ(all.nodes[0].state(), wait_state::called);
}

TEST(wait_list, grant_all_grants_more_waiters_than_one_batch_holds) {
  wait_list list;
  crowd all;
  all.add(list, 3 * static_cast<int>(wait_section::capacity) + 1);
  wait_section(list).grant_all();
  EXPECT_TRUE(all.all_are(wait_state::granted));
  ASSERT_EQ(all.woken.size(), all.nodes.size());
  for (std::size_t i = 0; i < all.woken.size(); ++i) EXPECT_EQ(all.woken[i], static_cast<int>(i));
}

// Regression row 21: a waker of a long list adds a waiter to it. The new waiter is not woken with the others.
TEST(wait_list, grant_all_does_not_wake_a_waiter_that_a_waker_adds) {
  wait_list list;
  crowd all;
  wait_node late;
  link(list, all.nodes.emplace_back(), callback_waker([&]() noexcept { link(list, late, noop_waker()); }));
  all.add(list, 2 * static_cast<int>(wait_section::capacity));
  wait_section(list).grant_all();
  EXPECT_TRUE(all.all_are(wait_state::granted));
  EXPECT_EQ(late.state(), wait_state::waiting);
  wait_section section(list);
  EXPECT_EQ(section.first(), &late);
  section.unlink(late);
}

TEST(wait_list, grant_all_does_not_wake_a_waiter_that_leaves_meanwhile) {
  wait_list list;
  crowd all;
  wait_node* last = nullptr;
  link(list, all.nodes.emplace_back(), callback_waker([&]() noexcept {
         wait_section section(list);
         section.unlink(*last);
         last->set(wait_state::idle);
       }));
  all.add(list, static_cast<int>(wait_section::capacity));
  last = &all.nodes.back();
  wait_section(list).grant_all();
  EXPECT_EQ(last->state(), wait_state::idle);
  EXPECT_EQ(all.woken.size(), wait_section::capacity - 1);
}

TEST(wait_list_death, destroyed_while_a_waiter_is_linked) {
  EXPECT_DEATH(
      {
        wait_node node;
        wait_list list;
        link(list, node, noop_waker());
        list.end("so it says");
      },
      "so it says");
}

TEST(wait_list_death, destroyed_while_a_waiter_is_linked_after_grant_all) {
  EXPECT_DEATH(
      {
        wait_node node;
        wait_list list;
        crowd all;
        all.add(list, static_cast<int>(wait_section::capacity) + 1);
        wait_section(list).grant_all();
        link(list, node, noop_waker());
        list.end("so it says");
      },
      "so it says");
}

#if !defined(NDEBUG)
TEST(wait_list_death, user_code_runs_under_the_lock) {
  wait_list list;
  demand_unguarded();
  EXPECT_DEATH(
      {
        const wait_section section(list);
        demand_unguarded();
      },
      "under the lock of a primitive");
}
#endif

/// A primitive that never grants.
struct gate {
  wait_list list;
  bool open = false;
};

constexpr wait_rules gate_rules{
    .what = "gate",
    .try_now = [](void*, wait_node&) noexcept { return false; },
    .join =
        [](void* of, wait_section& section, wait_node& me) noexcept {
          if (static_cast<gate*>(of)->open) return on_join::closed;
          section.link_back(me);
          return on_join::linked;
        },
    .leave = [](void*, wait_section&, wait_node& me) noexcept { me.kind = 7; },
    .pass_on = [](void*, wait_node&) noexcept {},
};

TEST(wait_list, block_returns_closed_when_the_primitive_is_closed) {
  gate g;
  g.open = true;
  wait_node me;
  EXPECT_EQ(block({&g.list, &g, &gate_rules}, me), wait_end::closed);
}

TEST(wait_list, block_for_leaves_the_list_on_timeout) {
  gate g;
  wait_node me;
  EXPECT_EQ(block_for({&g.list, &g, &gate_rules}, me, std::chrono::milliseconds(1)), wait_end::timed_out);
  EXPECT_EQ(me.kind, 7);
  EXPECT_EQ(me.state(), wait_state::idle);
}

}  // namespace
}  // namespace rota::core::wait_list_test
