// What a push, or a send, says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rota::gate {

/// What became of a message.
enum class [[nodiscard]] send_status : std::uint8_t {
  sent,    // it is in, and will be handled unless its queue is destroyed first
  full,    // refused: the queue holds as many as it may
  closed,  // refused: no message comes in any more
  forked,  // refused: this process is a forked child, and the threads that would handle the message are its parent's
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

/// How many of several messages are in, and why not all.
struct sent_count {
  std::size_t count = 0;
  send_status status = send_status::sent;
};

}  // namespace rota::gate
