// Workers with deques of forks: for models of children that run in their parent's place, or are stolen.
#pragma once

#include "model/parent_and_children.hpp"
#include "queue/fork_deque.hpp"

#include <array>
#include <cstddef>

namespace rota::model {

/// Whom a test's threads share, with a place to fork for each worker. The places come last: who tidies up needs them.
struct forking_household : household {
  explicit forking_household(queue::pop_barrier barrier)
      : places{core::fork_context(barrier, s.core()), core::fork_context(barrier, s.core())} {}

  std::array<core::fork_context, 2> places;
  int promoted = 0;
};

/// The parent, and two workers that fork and steal.
inline void start_forking(execution& e, forking_household& h, task<int> parent) {
  h.parent.emplace(h.s.spawn(std::move(parent)));
  for (std::size_t i = 0; i < h.places.size(); ++i) {
    e.daemon("worker", [&h, i] { h.s.work(&h.places[i], &h.places[1 - i]); });
  }
}

}  // namespace rota::model
