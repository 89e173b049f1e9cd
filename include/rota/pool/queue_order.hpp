// In which order the works of one priority leave a worker's queue.
#pragma once

#include <cstdint>

namespace rota::pool {

/// The larger priority comes first in each of them; this is about works of one priority.
enum class queue_order : std::uint8_t {
  fifo,   // the oldest, for its own worker and for a thief; the oldest is lost where one has to be
  lifo,   // the newest, for both; the newest is lost
  deque,  // the newest for its own worker, the oldest for a thief; the newest is lost
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
