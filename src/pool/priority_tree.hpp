// The items of a queue by priority: a ring of items for each priority that has any, and a tree of the rings.
#pragma once

#include "base/clock.hpp"

#include <cstdint>

namespace rota::pool::detail {

class work_queue;

/// What a queue keeps of a work; it lies inside of it. The owner writes the first three before set(), and leaves everything alone
/// until the item is out again.
struct queue_item {
  queue_item() = default;
  queue_item(const queue_item&) = delete;
  queue_item& operator=(const queue_item&) = delete;
  ~queue_item() = default;

  std::uint64_t id = 0;  // no two items of a pool have the same
  int priority = 0;
  base::time_point since{};  // where it began to wait: only looked at by queues that age

  std::uint32_t slot = 0;  // in a custom queue: where it is noted
  bool leads = false;      // the oldest of its priority: a node of the tree

  work_queue* in = nullptr;        // null: in none
  queue_item* next = nullptr;      // the next younger of its priority; of the youngest: the oldest
  queue_item* previous = nullptr;  // the other way round
  queue_item* parent = nullptr;    // from here on only of one that leads
  queue_item* left = nullptr;      // lower priorities
  queue_item* right = nullptr;     // higher ones
};

/// A treap (Seidel and Aragon, "Randomized search trees", 1996) through the items themselves. Its nodes are the oldest items of each
/// priority, and each is the door to a ring of the others, oldest to youngest. What makes a treap random is a hash of the priority
/// here: so its shape depends on the priorities that are in, never on how they came, and its depth is O(log P) for P of them unless
/// somebody chooses them by the hash. The highest is known at once.
///
/// Cost: append to the highest priority, or remove another than the last of its priority: a few writes. A priority that appears or goes
/// away: O(log P). How many items there are changes nothing. Allocates nothing, cannot fail. One thread at a time.
class priority_tree {
 public:
  /// The oldest of the highest priority, or null.
  [[nodiscard]] queue_item* top() const noexcept { return top_; }
  /// The oldest of the lowest priority, or null. O(log P).
  [[nodiscard]] queue_item* bottom() const noexcept;
  /// The oldest of the next lower priority, or null. O(1) on average over all priorities.
  [[nodiscard]] queue_item* below(const queue_item& leader) const noexcept;

  /// As the youngest of its priority.
  void append(queue_item& item) noexcept;
  void remove(queue_item& item) noexcept;

  /// For tests: how many nodes were looked at or turned so far.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  [[nodiscard]] static std::uint64_t rank(const queue_item& leader) noexcept;
  /// The pointer that holds the node.
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
