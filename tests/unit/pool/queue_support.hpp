// Items for queues, and a function that drains a queue.
#pragma once

#include "pool/work_queue.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace rota::pool::detail {

/// Items with the ids 1, 2, 3 ...
class items {
 public:
  queue_item& make(int priority, base::time_point since = {}) {
    queue_item& item = made_.emplace_back();
    item.id = made_.size();
    item.priority = priority;
    item.since = since;
    return item;
  }
  queue_item& operator[](std::uint64_t id) { return made_.at(id - 1); }

 private:
  std::deque<queue_item> made_;
};

enum class way : std::uint8_t { get, steal, discard };

inline queue_item* take(work_queue& queue, way by, base::time_point now = {}) {
  switch (by) {
    case way::get: return queue.get(now);
    case way::steal: return queue.steal(now);
    case way::discard: return queue.discard();
  }
  return nullptr;
}

/// Takes all items out. Returns their ids in that order.
inline std::vector<std::uint64_t> drain(work_queue& queue, way by, base::time_point now = {}) {
  std::vector<std::uint64_t> ids;
  while (queue_item* const item = take(queue, by, now)) ids.push_back(item->id);
  return ids;
}

}  // namespace rota::pool::detail
