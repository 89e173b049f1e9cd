#pragma once

#include <utility>

namespace rota::queue {

/// A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, Algorithmica 1, 1986) of intrusive nodes: it
/// allocates nothing. `insert` and `top` are O(1), `remove` is O(log n) amortised. One thread at a time. A
/// node is in at most one heap, and must not move while it is.
///
/// `Node` has three pointers to Node that the heap may change while the node is in it: `next_`, `prev_`,
/// `child_`. `prev_` is the left sibling, or the parent of a first child; the root has none. `Before{}(a, b)`
/// returns true if `a` comes before `b`.
template <class Node, class Before>
class pairing_heap {
 public:
  /// Returns the node that comes before all others, or null if the heap is empty.
  [[nodiscard]] Node* top() const noexcept { return root_; }

  void insert(Node& node) noexcept {
    node.next_ = node.prev_ = node.child_ = nullptr;
    root_ = root_ == nullptr ? &node : meld(root_, &node);
  }

  /// Removes a node that is in the heap.
  void remove(Node& node) noexcept {
    Node* orphans = meld_siblings(std::exchange(node.child_, nullptr));
    if (&node == root_) {
      root_ = orphans;
    } else {
      unlink(node);
      if (orphans != nullptr) root_ = meld(root_, orphans);
    }
    node.next_ = node.prev_ = nullptr;
  }

 private:
  static Node* meld(Node* a, Node* b) noexcept {
    if (Before{}(*b, *a)) std::swap(a, b);
    b->prev_ = a;
    b->next_ = a->child_;
    if (b->next_ != nullptr) b->next_->prev_ = b;
    a->child_ = b;
    return a;
  }

  /// Melds in two passes: pairs from left to right, then all of them from right to left. Loops, since a
  /// recursion could be deep.
  static Node* meld_siblings(Node* first) noexcept {
    Node* pairs = nullptr;
    while (first != nullptr) {
      Node* left = first;
      Node* right = left->next_;
      first = right != nullptr ? right->next_ : nullptr;
      left->next_ = left->prev_ = nullptr;
      if (right != nullptr) {
        right->next_ = right->prev_ = nullptr;
        left = meld(left, right);
      }
      left->next_ = std::exchange(pairs, left);
    }
    Node* root = pairs;
    if (root != nullptr) pairs = std::exchange(root->next_, nullptr);
    while (pairs != nullptr) {
      Node* rest = std::exchange(pairs->next_, nullptr);
      root = meld(root, pairs);
      pairs = rest;
    }
    return root;
  }

  static void unlink(Node& node) noexcept {
    (node.prev_->child_ == &node ? node.prev_->child_ : node.prev_->next_) = node.next_;
    if (node.next_ != nullptr) node.next_->prev_ = node.prev_;
  }

  Node* root_ = nullptr;
};

}  // namespace rota::queue
