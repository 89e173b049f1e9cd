#include "pool/priority_tree.hpp"

#include <rota/detail/config.hpp>

namespace rota::pool::detail {

/// Computes the rank of a priority. Each step is invertible, so no two priorities have the same rank.
std::uint64_t priority_tree::rank(const queue_item& leader) noexcept {
  std::uint64_t z = (std::uint64_t{static_cast<std::uint32_t>(leader.priority)} + 1) * 0x9E37'79B9'7F4A'7C15U;
  z = (z ^ (z >> 32U)) * 0xD6E8'FEB8'6659'FD93U;
  return z ^ (z >> 32U);
}

queue_item*& priority_tree::link_to(queue_item& leader) noexcept {
  queue_item* const parent = leader.parent;
  if (parent == nullptr) return root_;
  ROTA_ASSERT(parent->left == &leader || parent->right == &leader);
  return parent->left == &leader ? parent->left : parent->right;
}

queue_item* priority_tree::bottom() const noexcept {
  queue_item* lowest = root_;
  while (lowest != nullptr && lowest->left != nullptr) {
    ++steps_;
    lowest = lowest->left;
  }
  return lowest;
}

queue_item* priority_tree::below(const queue_item& leader) const noexcept {
  ROTA_ASSERT(leader.leads);
  ++steps_;
  if (queue_item* lower = leader.left; lower != nullptr) {
    for (; lower->right != nullptr; lower = lower->right) ++steps_;
    return lower;
  }
  const queue_item* node = &leader;
  while (node->parent != nullptr && node->parent->left == node) {
    ++steps_;
    node = node->parent;
  }
  return node->parent;
}

void priority_tree::append(queue_item& item) noexcept {
  // the most frequent case
  if (top_ != nullptr && top_->priority == item.priority) return join(*top_, item);
  queue_item* parent = nullptr;
  queue_item** place = &root_;
  while (*place != nullptr) {
    ++steps_;
    parent = *place;
    if (parent->priority == item.priority) return join(*parent, item);
    place = item.priority < parent->priority ? &parent->left : &parent->right;
  }
  insert(item, parent, *place);
}

void priority_tree::join(queue_item& leader, queue_item& item) noexcept {
  ROTA_ASSERT(leader.leads && leader.priority == item.priority);
  item.leads = false;
  item.next = &leader;
  item.previous = leader.previous;
  leader.previous->next = &item;
  leader.previous = &item;
}

void priority_tree::insert(queue_item& item, queue_item* parent, queue_item*& place) noexcept {
  item.leads = true;
  item.next = item.previous = &item;
  item.left = item.right = nullptr;
  item.parent = parent;
  place = &item;
  while (item.parent != nullptr && rank(item) > rank(*item.parent)) turn_up(item);
  if (top_ == nullptr || item.priority > top_->priority) top_ = &item;
}

/// Rotates the node up: it and its parent change places.
void priority_tree::turn_up(queue_item& leader) noexcept {
  ++steps_;
  queue_item& above = *leader.parent;
  link_to(above) = &leader;
  queue_item*& towards = above.left == &leader ? above.left : above.right;
  queue_item*& away = above.left == &leader ? leader.right : leader.left;
  towards = away;
  if (away != nullptr) away->parent = &above;
  away = &above;
  leader.parent = above.parent;
  above.parent = &leader;
}

void priority_tree::remove(queue_item& item) noexcept {
  ROTA_ASSERT(item.next->previous == &item && item.previous->next == &item);
  queue_item& next = *item.next;
  next.previous = item.previous;
  item.previous->next = &next;
  if (item.leads) {
    if (&next != &item) {
      succeed(item, next);
    } else {
      erase(item);
    }
  }
  item.leads = false;
  item.next = item.previous = nullptr;
}

/// Replaces the node by `next`.
void priority_tree::succeed(queue_item& leader, queue_item& next) noexcept {
  ROTA_ASSERT(!next.leads && next.priority == leader.priority);
  link_to(leader) = &next;
  next.leads = true;
  next.parent = leader.parent;
  next.left = leader.left;
  next.right = leader.right;
  if (next.left != nullptr) next.left->parent = &next;
  if (next.right != nullptr) next.right->parent = &next;
  if (top_ == &leader) top_ = &next;
  // The item after `next` is written when `next` is removed. The thread that submitted it wrote it last.
  __builtin_prefetch(next.next, 1);
}

/// Removes the node of a priority that has no other item: rotates it down until it has at most one child, and
/// unlinks it.
void priority_tree::erase(queue_item& leader) noexcept {
  if (top_ == &leader) top_ = below(leader);
  while (leader.left != nullptr && leader.right != nullptr) {
    turn_up(rank(*leader.left) > rank(*leader.right) ? *leader.left : *leader.right);
  }
  queue_item* const child = leader.left != nullptr ? leader.left : leader.right;
  link_to(leader) = child;
  if (child != nullptr) child->parent = leader.parent;
}

}  // namespace rota::pool::detail
