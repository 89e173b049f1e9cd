// The items of a queue, ordered by priority: one ring of items for each priority, and a tree of the rings.
#pragma once

#include "base/clock.hpp"

#include <cstdint>

namespace rota::pool::detail {

class work_queue;

/// The node of a work in a queue. It lies inside of the work. The owner writes the first three fields before
/// set(), and changes nothing until the item is out again.
struct queue_item {
  queue_item() = default;
  queue_item(const queue_item&) = delete;
  queue_item& operator=(const queue_item&) = delete;
  ~queue_item() = default;

  std::uint64_t id = 0;  // no two items of a pool have the same
  int priority = 0;
  base::time_point since{};  // when it began to wait: only read by queues with aging

  std::uint32_t slot = 0;  // in a custom queue: its place in the table
  bool leads = false;      // the oldest of its priority: a node of the tree

  work_queue* in = nullptr;        // null: it is in no queue
  queue_item* next = nullptr;      // the next younger of its priority; of the youngest: the oldest
  queue_item* previous = nullptr;  // the opposite direction
  queue_item* parent = nullptr;    // this field and the next two: only used by a node of the tree
  queue_item* left = nullptr;      // lower priorities
  queue_item* right = nullptr;     // higher ones
};

/// A treap (Seidel and Aragon, "Randomized search trees", 1996) through the items themselves. Its nodes are
/// the oldest items of each priority. Each node is the head of a ring with the other items of its priority,
/// from the oldest to the youngest. The ranks of this treap are a hash of the priority instead of random
/// numbers. So its shape depends only on the priorities in it, not on the order of insertion. Its depth is
/// O(log P) for P priorities, unless the priorities are chosen by means of the hash. The highest priority is
/// known at once.
///
/// Cost: append to the highest priority, or remove an item that is not the last of its priority: a few
/// writes. To add the first item of a priority, or to remove its last: O(log P). The number of items does not
/// matter. Allocates nothing and cannot fail. One thread at a time.
class priority_tree {
 public:
  /// Returns the oldest item of the highest priority, or null.
  [[nodiscard]] queue_item* top() const noexcept { return top_; }
  /// Returns the oldest item of the lowest priority, or null. O(log P).
  [[nodiscard]] queue_item* bottom() const noexcept;
  /// Returns the oldest item of the next lower priority, or null. O(1) on average over all priorities.
  [[nodiscard]] queue_item* below(const queue_item& leader) const noexcept;

  /// Adds an item as the youngest of its priority.
  void append(queue_item& item) noexcept;
  void remove(queue_item& item) noexcept;

  /// For tests: the number of nodes that were visited or rotated so far.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  [[nodiscard]] static std::uint64_t rank(const queue_item& leader) noexcept;
  /// Returns the pointer that refers to the node.
  [[nodiscard]] queue_item*& link_to(queue_item& leader) noexcept;
  void join(queue_item& leader, queue_item& item) noexcept;
  void insert(queue_item& item, queue_item* parent, queue_item*& place) noexcept;
  void turn_up(queue_item& leader) noexcept;
  void succeed(queue_item& leader, queue_item& next) noexcept;
  void erase(queue_item& leader) noexcept;

  queue_item* root_ = nullptr;
  queue_item* top_ = nullptr;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace rota::pool::detail
