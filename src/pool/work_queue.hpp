// What the works of one worker wait in.
#pragma once

#include "base/clock.hpp"
#include "pool/priority_tree.hpp"

#include <rota/pool/queue_order.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rota::pool::detail {

/// A queue under a lock of its owner, which every call needs: nothing in here is atomic. Frees nothing, wakes nobody.
///
/// `now` is the caller's clock, and only looked at by a queue that ages.
class work_queue {
 public:
  work_queue() = default;
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;
  /// Whoever destroys it has emptied it: the items may be gone already.
  virtual ~work_queue() = default;

  /// Puts an item in that is in no queue. It stays where it is in memory until it is out.
  virtual void set(queue_item& item) noexcept = 0;
  /// The next one for the worker whose queue it is. Null: the queue is empty.
  [[nodiscard]] virtual queue_item* get(base::time_point now) noexcept = 0;
  /// The next one for another worker. Null: it is empty, or it is a custom queue that gives nothing to thieves.
  [[nodiscard]] virtual queue_item* steal(base::time_point now) noexcept = 0;
  /// The one to lose where one has to be, of the lowest priority. Null as above. Age does not count.
  [[nodiscard]] virtual queue_item* discard() noexcept = 0;
  /// Takes out this one, which is in.
  virtual void remove(queue_item& item) noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// The priority that get() would look for, with what it has gained by waiting. Nothing: empty, or not known (custom queues).
  [[nodiscard]] virtual std::optional<std::int64_t> highest(base::time_point now) const noexcept;
  /// The priority that discard() would look for. Nothing: as above.
  [[nodiscard]] virtual std::optional<int> lowest() const noexcept;
};

/// The three orders. The larger priority first; within one priority, as its order says.
///
/// Cost          Without aging: a few writes for each call, whatever is in; one that takes out the last of a priority, or puts in
///               the first, O(log P) for P priorities that are in; so does discard(). With aging get(), steal() and highest() are O(P).
///               Nothing is allocated.
///
/// Aging         An item counts one priority more for each whole `aging` since `since`. Among items that count the same, the one that
///               has waited longer comes first; whatever the order is, the oldest of a priority comes before the others once it
///               counts more than they do. That is exact where items are put in by the order of their `since`; one that is put in
///               behind younger ones of its priority gains when it has become the oldest.
class priority_queue final : public work_queue {
 public:
  /// Zero: no aging.
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
