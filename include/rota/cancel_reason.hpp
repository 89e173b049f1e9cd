// Why a task was cancelled.
#pragma once

namespace rota {

/// The reason of a cancellation. Of several requests the first decides.
enum class cancel_reason : unsigned char {
  none,            // not cancelled
  user,            // join_handle::cancel, scope::cancel
  timeout,         // a deadline passed
  sibling_failed,  // another child of the same scope or when_* failed, or decided it
  shutdown,        // the runtime shuts down
  queue_full,      // a runtime's pool had no place for it: pool_options::queue_limit
};

[[nodiscard]] constexpr const char* to_string(cancel_reason reason) noexcept {
  switch (reason) {
    case cancel_reason::none: return "none";
    case cancel_reason::user: return "user";
    case cancel_reason::timeout: return "timeout";
    case cancel_reason::sibling_failed: return "sibling failed";
    case cancel_reason::shutdown: return "shutdown";
    case cancel_reason::queue_full: return "queue full";
  }
  return "unknown";
}

}  // namespace rota
