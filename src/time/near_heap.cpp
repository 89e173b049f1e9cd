#include "time/near_heap.hpp"

#include <utility>

namespace rota::timing {

bool near_heap::before(const timer_node& a, const timer_node& b) noexcept {
  if (a.deadline_ != b.deadline_) return a.deadline_ < b.deadline_;
  return static_cast<std::int32_t>(a.sequence_ - b.sequence_) < 0;
}

timer_node* near_heap::meld(timer_node* a, timer_node* b) noexcept {
  if (before(*b, *a)) std::swap(a, b);
  b->prev_ = a;
  b->next_ = a->child_;
  if (b->next_ != nullptr) b->next_->prev_ = b;
  a->child_ = b;
  return a;
}

/// Two passes: pairs from left to right, then all of them from right to left. Loops, since a recursion could
/// be deep.
timer_node* near_heap::meld_siblings(timer_node* first) noexcept {
  timer_node* pairs = nullptr;
  while (first != nullptr) {
    timer_node* left = first;
    timer_node* right = left->next_;
    first = right != nullptr ? right->next_ : nullptr;
    left->next_ = left->prev_ = nullptr;
    if (right != nullptr) {
      right->next_ = right->prev_ = nullptr;
      left = meld(left, right);
    }
    left->next_ = std::exchange(pairs, left);
  }
  timer_node* root = pairs;
  if (root != nullptr) pairs = std::exchange(root->next_, nullptr);
  while (pairs != nullptr) {
    timer_node* rest = std::exchange(pairs->next_, nullptr);
    root = meld(root, pairs);
    pairs = rest;
  }
  return root;
}

void near_heap::unlink(timer_node& node) noexcept {
  (node.prev_->child_ == &node ? node.prev_->child_ : node.prev_->next_) = node.next_;
  if (node.next_ != nullptr) node.next_->prev_ = node.prev_;
}

void near_heap::insert(timer_node& node) noexcept {
  node.next_ = node.prev_ = node.child_ = nullptr;
  root_ = root_ == nullptr ? &node : meld(root_, &node);
}

void near_heap::remove(timer_node& node) noexcept {
  timer_node* orphans = meld_siblings(std::exchange(node.child_, nullptr));
  if (&node == root_) {
    root_ = orphans;
  } else {
    unlink(node);
    if (orphans != nullptr) root_ = meld(root_, orphans);
  }
  node.next_ = node.prev_ = nullptr;
}

}  // namespace rota::timing
