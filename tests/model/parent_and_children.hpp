// A parent, its children, and the threads that run them: for models of scopes, when_* and sets.
#pragma once

#include "model/model_scheduler.hpp"

#include <rota/join_handle.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace rota::model {

/// Shared by the threads of a test.
struct household {
  model_scheduler s;
  model_event event;
  int guards = 0;
  std::optional<join_handle<int>> parent;
  std::optional<join_handle<void>> child;
  base::atomic<int> given_away{0};
};

inline task<void> ends(household& h) {
  const guard here(&h.guards);
  co_return;
}
inline task<void> ends_later(household& h) {
  const guard here(&h.guards);
  co_await h.event();
}
inline task<void> fails(household& h) {
  const guard here(&h.guards);
  throw 7;
  co_return;
}

/// How the parent ended: its value, 7 for an exception, -1 if it was cancelled.
inline int end_of_parent(household& h) {
  check(h.parent->is_done(), "the parent has ended");
  const std::optional<outcome<int>> end = h.parent->wait_for(std::chrono::seconds(0));
  h.parent.reset();
  if (end->is_cancelled()) return -1;
  return end->has_value() ? end->value() : 7;
}

inline void check_end(household& h, int tasks, int guards) {
  check(h.s.ended == tasks, "every task has ended once");
  check(h.guards == guards, "every frame was destroyed once");
}

/// The parent, and `workers` threads.
inline void start(execution& e, household& h, int workers, task<int> parent) {
  h.parent.emplace(h.s.spawn(std::move(parent)));
  for (int i = 0; i < workers; ++i) e.daemon("worker", [&h] { h.s.work(); });
}

}  // namespace rota::model
