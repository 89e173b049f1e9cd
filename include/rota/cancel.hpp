// Shields: code that holds cancellation off for a while.
#pragma once

#include <rota/cancel_reason.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/detail/timed_region.hpp>
#include <rota/error.hpp>

namespace rota {

/// The result of shield(). See there.
class ROTA_API [[nodiscard]] shield_guard final : private core::timed_region {
 public:
  /// Throws what shield() throws.
  explicit shield_guard(std::chrono::nanoseconds limit);
  /// Ends `other`. The shield and its limit go on here. Within the same task.
  shield_guard(shield_guard&& other) noexcept;
  shield_guard& operator=(shield_guard&& other) noexcept;
  ~shield_guard() { lower(); }

  /// Returns false if the guard was moved from.
  [[nodiscard]] explicit operator bool() const noexcept { return is_linked(); }

 private:
  void lower() noexcept;
};

/// Holds cancellation off, and the deadlines around this place, while the guard lives. It is meant for a few
/// lines that must not be interrupted, and for clean-up that has to wait.
///
/// A cancellation that comes meanwhile is delivered at the first suspension or checkpoint after the guard was
/// destroyed, or as soon as the limit has passed. In the second case the shield is overridden, and the
/// runtime counts that. Deadlines that were set inside of the shield are not held off. A loop that only waits
/// under shields needs a checkpoint between them, where it can be cancelled.
///
/// Threads       Inside a task. The same task destroys the guard.
/// Ownership     The guard may be moved within its task: returned, kept in an optional or a member. The order
///               in which guards are destroyed does not matter.
/// Ordering      Shields nest. Cancellation is held off until the limits of all active shields have passed: a
///               short shield inside does not break a longer one around it. A deadline is held off until this
///               is true of the shields inside of it.
/// Failure       Throws `shield_overflow` at the 256th nesting, and `error` with `errc::no_runtime` outside
///               of a task; nothing has changed then. A limit of zero or less holds nothing off. A limit
///               beyond the range of the clock, such as hours::max(), never passes: only the end of a
///               shutdown's grace then overrides the shield, and a task that hangs under it hangs its scope.
/// Cost          No allocation. Two read-modify-writes of the task's word, and one read of the clock. A task
///               that has never suspended is also put into the list of tasks; otherwise its first suspension
///               does that. A timer only if the task waits while a cancellation is held off.
/// Example       examples/shield.cpp
template <core::span_of_time Span>
[[nodiscard]] shield_guard shield(Span limit) {
  return shield_guard(detail::saturating_span(limit));
}

}  // namespace rota
