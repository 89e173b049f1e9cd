// Who must hear of a task's end: the scope, the when_* or the set that started it.
#pragma once

#include <exception>

#include <rota/cancel_reason.hpp>
#include <rota/detail/config.hpp>

namespace rota::core {

struct header;

/// How a child ended, as far as its family is concerned. A value is neither.
struct ending {
  std::exception_ptr thrown;
  cancel_reason cancelled = cancel_reason::none;

  [[nodiscard]] bool failed() const noexcept { return thrown != nullptr || cancelled != cancel_reason::none; }
};

// PROTOCOL: the bond between a task and its family
//   header::bond  the family, from before the task is scheduled on; null for a task that has none, or none any more
//   The thread that exchanges it to null takes the task out of its family: the family's, when a child ends whose outcome it does not need, or when
//   it closes and lets a finished child's handle go; or the thread that gives up the handle of a child that has ended, which then
//   calls dropped(). A family that finds the bond of a child broken by another thread waits for that call.
//   ended() is called once for each child, by the thread that ran it, and after it nothing of the family is touched.
class ROTA_API family {
 public:
  family(const family&) = delete;
  family& operator=(const family&) = delete;

  /// The child's word says `complete`. `unseen`: its handle had been given up before, so nobody else will ever look at the
  /// outcome; it is destroyed already.
  virtual void ended(header& child, const ending& how, bool unseen) noexcept = 0;
  /// The handle of a child that had ended is given up: `how` is what nobody has taken out of it.
  virtual void dropped(header& child, const ending& how) noexcept = 0;
  /// The task that cannot end before its children have; null if there is none.
  [[nodiscard]] virtual header* parent() const noexcept = 0;

 protected:
  family() = default;
  ~family() = default;
};

}  // namespace rota::core
