#pragma once

#include "time/timer.hpp"

namespace rota::timing {

/// The timers of the running millisecond, and those that are overdue: a pairing heap through the nodes
/// themselves. insert and top are O(1); remove is O(log n) amortised, where n counts only these timers. One
/// thread at a time.
///
/// A node's prev_ is its left sibling, or its parent if it is the first child; the root has none.
class near_heap {
 public:
  /// The one with the earliest deadline; among equals the one armed first. Null if empty.
  [[nodiscard]] timer_node* top() const noexcept { return root_; }

  void insert(timer_node& node) noexcept;
  void remove(timer_node& node) noexcept;

 private:
  static bool before(const timer_node& a, const timer_node& b) noexcept;
  static timer_node* meld(timer_node* a, timer_node* b) noexcept;
  static timer_node* meld_siblings(timer_node* first) noexcept;
  static void unlink(timer_node& node) noexcept;

  timer_node* root_ = nullptr;
};

}  // namespace rota::timing
