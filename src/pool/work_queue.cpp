#include "pool/work_queue.hpp"

#include <rota/detail/config.hpp>

#include <algorithm>

namespace rota::pool::detail {

std::optional<std::int64_t> work_queue::highest(base::time_point) const noexcept { return std::nullopt; }
std::optional<int> work_queue::lowest() const noexcept { return std::nullopt; }

priority_queue::priority_queue(queue_order order, base::nanoseconds aging) noexcept
    : order_(order), aging_(aging) {
  ROTA_ASSERT(aging >= base::nanoseconds::zero());
}

priority_queue::~priority_queue() { ROTA_ASSERT(size_ == 0); }

void priority_queue::set(queue_item& item) noexcept {
  ROTA_ASSERT(item.in == nullptr);
  item.in = this;
  tree_.append(item);
  ++size_;
}

queue_item* priority_queue::get(base::time_point now) noexcept {
  return take(order_ == queue_order::fifo ? end::oldest : end::newest, now);
}

queue_item* priority_queue::steal(base::time_point now) noexcept {
  return take(order_ == queue_order::lifo ? end::newest : end::oldest, now);
}

queue_item* priority_queue::discard() noexcept {
  queue_item* const oldest = tree_.bottom();
  if (oldest == nullptr) return nullptr;
  queue_item& lost = order_ == queue_order::fifo ? *oldest : *oldest->previous;
  remove(lost);
  return &lost;
}

void priority_queue::remove(queue_item& item) noexcept {
  ROTA_ASSERT(item.in == this && size_ > 0);
  tree_.remove(item);
  item.in = nullptr;
  --size_;
}

std::optional<std::int64_t> priority_queue::highest(base::time_point now) const noexcept {
  const queue_item* const first = ages() ? heaviest(now) : tree_.top();
  if (first == nullptr) return std::nullopt;
  return weight(*first, now);
}

std::optional<int> priority_queue::lowest() const noexcept {
  const queue_item* const last = tree_.bottom();
  if (last == nullptr) return std::nullopt;
  return last->priority;
}

std::int64_t priority_queue::weight(const queue_item& item, base::time_point now) const noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 62;  // leaves space for an int to be added
  if (!ages() || now <= item.since) return item.priority;
  return item.priority + std::min<std::int64_t>((now - item.since) / aging_, most);
}

/// Returns the item with the largest weight among the oldest items of all priorities; null if the queue is
/// empty.
queue_item* priority_queue::heaviest(base::time_point now) const noexcept {
  queue_item* best = tree_.top();
  if (best == nullptr) return nullptr;
  for (queue_item* other = tree_.below(*best); other != nullptr; other = tree_.below(*other)) {
    const std::int64_t gain = weight(*other, now) - weight(*best, now);
    if (gain > 0 || (gain == 0 && other->since < best->since)) best = other;
  }
  return best;
}

/// Returns the item to take. The queue is not empty.
queue_item& priority_queue::choose(end from, base::time_point now) const noexcept {
  queue_item& oldest = ages() ? *heaviest(now) : *tree_.top();
  if (from == end::oldest) return oldest;
  queue_item& newest = *oldest.previous;
  return weight(oldest, now) > weight(newest, now) ? oldest : newest;
}

queue_item* priority_queue::take(end from, base::time_point now) noexcept {
  if (size_ == 0) return nullptr;
  queue_item& found = choose(from, now);
  remove(found);
  return &found;
}

}  // namespace rota::pool::detail
