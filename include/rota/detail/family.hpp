// The receiver of a task's end: the scope, the when_* or the set that started the task.
#pragma once

#include <exception>

#include <rota/cancel_reason.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>

namespace rota::core {

struct header;

/// How a child ended, as far as its family is concerned. Both members are empty if it ended with a value.
struct ending {
  std::exception_ptr thrown;
  cancel_reason cancelled = cancel_reason::none;

  [[nodiscard]] bool failed() const noexcept { return thrown != nullptr || cancelled != cancel_reason::none; }
};

// PROTOCOL: the bond between a task and its family
//   header::bond  the family, set before the task is scheduled; null for a task that never had one, or has
//   none any more
//
// The thread that exchanges it to null takes the task out of its family. The family does this when a child
// ends and its outcome is not needed, or when the family closes and releases the handle of a finished child.
// Otherwise the thread that gives up the handle of a child that has ended does it, and then calls dropped().
// A family that finds the bond of a child broken by another thread waits for that call.
//
// The thread that ran a child calls ended() once for it, and touches nothing of the family afterwards.
class ROTA_API family {
 public:
  family(const family&) = delete;
  family& operator=(const family&) = delete;

  /// Called when the child's word says `complete`. `unseen`: its handle had been given up before, so no
  /// handle can take the outcome, and it is destroyed already.
  virtual void ended(header& child, const ending& how, bool unseen) noexcept = 0;
  /// Called when the handle of a child that had ended is given up. `how` is what was not taken out of it.
  virtual void dropped(header& child, const ending& how) noexcept = 0;
  /// Returns the task that cannot end before its children have ended; null if there is none.
  [[nodiscard]] virtual header* parent() const noexcept = 0;
  /// Returns the deadline that the parent's own regions make around the children. Called by a thread that
  /// runs a child, if parent() is not null.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point own_deadline_of_parent() const noexcept = 0;

 protected:
  family() = default;
  ~family() = default;
};

}  // namespace rota::core
