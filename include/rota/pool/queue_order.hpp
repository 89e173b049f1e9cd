// The order in which works of one priority leave the queue of a worker.
#pragma once

#include <cstdint>

namespace rota::pool {

/// In each order the larger priority comes first. The order applies to works of one priority.
enum class queue_order : std::uint8_t {
  fifo,   // the oldest, for the worker and for a thief; discards the oldest
  lifo,   // the newest, for both; discards the newest
  deque,  // the newest for the worker, the oldest for a thief; discards the newest
};

[[nodiscard]] constexpr const char* to_string(queue_order order) noexcept {
  switch (order) {
    case queue_order::fifo: return "fifo";
    case queue_order::lifo: return "lifo";
    case queue_order::deque: return "deque";
  }
  return "unknown";
}

}  // namespace rota::pool
