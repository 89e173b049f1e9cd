// The result of a push or a send.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota::gate {

/// The outcome of sending one message.
enum class [[nodiscard]] send_status : std::uint8_t {
  sent,    // it is in the queue, and is handled unless the queue is destroyed first
  full,    // refused: the queue is at its capacity
  closed,  // refused: the queue accepts no more messages
  forked,  // refused: in a forked child, which has none of the threads that would handle the message
};

[[nodiscard]] constexpr const char* to_string(send_status status) noexcept {
  switch (status) {
    case send_status::sent: return "sent";
    case send_status::full: return "full";
    case send_status::closed: return "closed";
    case send_status::forked: return "forked";
  }
  return "unknown";
}

/// How many of several messages were sent, and why not all.
struct sent_count {
  std::size_t count = 0;
  send_status status = send_status::sent;
};

}  // namespace rota::gate
