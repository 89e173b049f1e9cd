// The wait list: a long section releases its lock in between, and its list lives until it has it back.
#include "model/waiting.hpp"

#include <rota/detail/wait_list.hpp>

#include <array>
#include <cstddef>

namespace rota::core {
namespace {

using model::expect_holds_everywhere;
using model::on_heap;
using testing::check;
using testing::execution;

constexpr std::size_t batch = wait_section::capacity;
static_assert(batch == 2, "the scenes have one more than a section wakes, or one more than two sections do");

template <std::size_t N>
struct crowd {
  crowd() {
    wait_section section(*list);
    for (wait_node& each : nodes) {
      each.of_thread = false;
      each.wake = noop_waker();
      section.link_back(each);
    }
  }

  [[nodiscard]] bool is_granted(std::size_t i) const { return nodes[i].state() == wait_state::granted; }
  /// Its limit has passed.
  void give_up(std::size_t i) {
    waker dropped;  // outlives the section
    wait_section section(*list);
    givers_then = givers.get();
    if (nodes[i].state() != wait_state::waiting) return;
    section.unlink(nodes[i]);
    dropped = std::move(nodes[i].wake);
    nodes[i].set(wait_state::idle);
  }
  /// The last one stops waiting. The others have passed, and `all_givers` are inside, away, or done.
  void destroy_if_all_have_passed(int all_givers) {
    if (givers_then != all_givers) return;
    for (std::size_t i = 0; i + 1 < N; ++i) {
      if (!is_granted(i)) return;
    }
    list.destroy();
  }
  /// As a semaphore: the list's own ring.
  void serve() {
    wait_section section(*list);
    givers.set(givers.get() + 1);
    while (wait_node* const first = section.first()) {
      if (section.is_full()) {
        section.breathe();
        continue;
      }
      section.grant(*first);
    }
  }

  /// As an event.
  void serve_all() {
    wait_section section(*list);
    givers.set(givers.get() + 1);
    section.grant_all();
  }

  on_heap<wait_list> list;
  base::cell<int> givers;  // under its lock
  int givers_then = 0;     // as the cancelled waiter sees it
  std::array<wait_node, N> nodes;
};

TEST(wait_list_model, a_list_outlives_a_waking_thread_that_has_released_its_lock) {
  for (const bool all : {true, false}) {
    expect_holds_everywhere(
        all ? "wait_list_all" : "wait_list_each",
        [all](execution& e) {
          auto& x = e.make<crowd<batch + 1>>();
          e.thread("giver", [&x, all] { all ? x.serve_all() : x.serve(); });
          e.thread("late", [&x] {
            x.give_up(batch);
            x.destroy_if_all_have_passed(1);
          });
        },
        3);
  }
}

// Both are away when the last one gives up.
TEST(wait_list_model, a_list_outlives_two_waking_threads_that_have_released_its_lock) {
  expect_holds_everywhere("wait_list_two", [](execution& e) {
    auto& x = e.make<crowd<2 * batch + 1>>();
    e.thread("giver", [&x] { x.serve(); });
    e.thread("giver", [&x] { x.serve(); });
    e.thread("late", [&x] {
      x.give_up(2 * batch);
      x.destroy_if_all_have_passed(2);
    });
  });
}

TEST(wait_list_model, all_waiters_are_granted_although_the_lock_is_released_between) {
  expect_holds_everywhere("wait_list_many", [](execution& e) {
    auto& x = e.make<crowd<2 * batch + 1>>();
    e.thread("giver", [&x] { x.serve_all(); });
    e.thread("late", [&x] { x.give_up(batch); });
    e.finally([&x] {
      for (std::size_t i = 0; i < x.nodes.size(); ++i)
        check(i == batch || x.is_granted(i), "the others are all granted");
    });
  });
}

}  // namespace
}  // namespace rota::core
