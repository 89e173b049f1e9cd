// Workers with deques of forks, and a parent on them: its children run in place, are stolen, or become tasks.
#pragma once

#include "model/parent_and_children.hpp"
#include "queue/fork_deque.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rota::model {

/// The household that a test's threads share, with a place to fork for each worker.
struct forking_household : household {
  explicit forking_household(queue::pop_barrier barrier)
      : places{core::fork_context(barrier, s.core()), core::fork_context(barrier, s.core())} {}

  std::array<core::fork_context, 2> places;
  int counted = 0;
  base::atomic<bool> asked_to_stop{false};
};

/// A parent on two workers that fork and steal, and the other participants.
struct forking {
  std::string_view name;
  task<int> (*parent)(forking_household& h);
  bool fires = false;    // the event that children wait for comes
  bool cancels = false;  // the parent is cancelled
  bool thieves = true;   // the second worker works
  queue::pop_barrier barrier = queue::pop_barrier::light;
};

/// `at_end` checks the household when all threads have ended.
template <class AtEnd>
auto played(const forking& shape, AtEnd at_end) {
  return [shape, at_end](testing::execution& e) {
    auto& h = e.make<forking_household>(shape.barrier);
    h.parent.emplace(h.s.spawn(shape.parent(h)));
    for (std::size_t i = 0; i < (shape.thieves ? h.places.size() : 1); ++i) {
      e.daemon("worker", [&h, i] { h.s.work(&h.places[i], &h.places[1 - i]); });
    }
    if (shape.fires) e.thread("event", [&h] { h.event.fire(); });
    if (shape.cancels) {
      e.thread("canceller", [&h] {
        h.parent->cancel();
        // release: pairs with the acquire of a reader of the flag. The cancellation has been requested.
        h.asked_to_stop.store(true, base::order::release);
      });
    }
    e.finally([&h, at_end] {
      at_end(h);
      testing::check(h.s.unhandled == 0, "no exception is nobody's");
    });
  };
}

/// Every interleaving with so many preemptions, and some at random.
template <class AtEnd>
void expect_end(const forking& shape, AtEnd at_end, unsigned preemptions = 2) {
  expect_holds_everywhere(shape.name, played(shape, at_end), preemptions);
}

}  // namespace rota::model
