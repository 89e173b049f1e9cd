// The queue of works of one worker.
#pragma once

#include "base/clock.hpp"
#include "pool/priority_tree.hpp"

#include <rota/pool/queue_order.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rota::pool::detail {

/// A queue that its owner protects by a lock: the caller of every function holds it, so nothing here is
/// atomic. The queue frees no work and wakes no thread.
///
/// `now` is the time of the caller's clock. Only a queue with aging reads it.
class work_queue {
 public:
  work_queue() = default;
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;
  /// The owner empties the queue before it destroys it: the items may be gone already.
  virtual ~work_queue() = default;

  /// Adds an item that is in no queue. The item stays at its address until it is removed.
  virtual void set(queue_item& item) noexcept = 0;
  /// Removes and returns the next item for the worker that owns the queue. Returns null if the queue is
  /// empty.
  [[nodiscard]] virtual queue_item* get(base::time_point now) noexcept = 0;
  /// Removes and returns the next item for a thief. Returns null if the queue is empty.
  [[nodiscard]] virtual queue_item* steal(base::time_point now) noexcept = 0;
  /// Removes and returns the item to discard, of the lowest priority. Age does not count. Returns null if the
  /// queue is empty, or if it is a custom queue that gives none now.
  [[nodiscard]] virtual queue_item* discard() noexcept = 0;
  /// Removes this item, which is in the queue.
  virtual void remove(queue_item& item) noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Returns the priority that get() would take, with the gain by waiting. Returns nothing if the queue is
  /// empty, or if the priority is not known (custom queues).
  [[nodiscard]] virtual std::optional<std::int64_t> highest(base::time_point now) const noexcept;
  /// Returns the priority that discard() would take. Returns nothing as above.
  [[nodiscard]] virtual std::optional<int> lowest() const noexcept;
};

/// The queue with the three built-in orders. The larger priority comes first; within one priority the order
/// decides.
///
/// Cost          Without aging: a few writes for each call, for any number of items. A call that removes the
///               last item of a priority, or adds the first, is O(log P) for P priorities in the queue, and
///               so is discard(). With aging get(), steal() and highest() are O(P). Nothing is allocated.
///
/// Aging         The weight of an item is its priority, plus one for each whole `aging` since `since`. Among
///               items of equal weight, the one that has waited longer comes first. In every order, the
///               oldest item of a priority comes before the others once its weight is larger than theirs.
///               This is exact if items are added in the order of their `since`. An item that is added behind
///               younger ones of its priority gains only when it has become the oldest.
class priority_queue final : public work_queue {
 public:
  /// `aging` 0: no aging.
  explicit priority_queue(queue_order order, base::nanoseconds aging = {}) noexcept;
  ~priority_queue() override;

  void set(queue_item& item) noexcept override;
  [[nodiscard]] queue_item* get(base::time_point now) noexcept override;
  [[nodiscard]] queue_item* steal(base::time_point now) noexcept override;
  [[nodiscard]] queue_item* discard() noexcept override;
  void remove(queue_item& item) noexcept override;
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::optional<std::int64_t> highest(base::time_point now) const noexcept override;
  [[nodiscard]] std::optional<int> lowest() const noexcept override;

  /// For tests.
  [[nodiscard]] const priority_tree& tree() const noexcept { return tree_; }

 private:
  enum class end : bool { oldest, newest };

  [[nodiscard]] bool ages() const noexcept { return aging_ > base::nanoseconds::zero(); }
  [[nodiscard]] std::int64_t weight(const queue_item& item, base::time_point now) const noexcept;
  [[nodiscard]] queue_item* heaviest(base::time_point now) const noexcept;
  [[nodiscard]] queue_item& choose(end from, base::time_point now) const noexcept;
  queue_item* take(end from, base::time_point now) noexcept;

  const queue_order order_;
  const base::nanoseconds aging_;
  std::size_t size_ = 0;
  priority_tree tree_;
};

}  // namespace rota::pool::detail
