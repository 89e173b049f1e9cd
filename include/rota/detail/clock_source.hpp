// Time that does not come from the machine.
#pragma once

#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>

namespace rota::core {

/// The clock that a runtime reads instead of the monotonic clock, for everything that tasks wait for. It must
/// outlive the runtime.
class ROTA_API clock_source {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Called when time has moved, on the thread that moved it: timers may be due.
  struct listener {
    void (*moved)(void* self) noexcept = nullptr;
    void* self = nullptr;
  };

  clock_source(const clock_source&) = delete;
  clock_source& operator=(const clock_source&) = delete;

  /// Returns the time. Any thread may call it. Time never goes back.
  [[nodiscard]] virtual time_point now() noexcept = 0;
  /// Called by the runtime when no task runs, none is runnable, none is in the blocking pool, and `earliest`
  /// is the first timer, or time_point::max() if there is none. Returns true if time has moved: the runtime
  /// then polls its timers. Returns false if the runtime shall wait until the listener is called.
  [[nodiscard]] virtual bool all_blocked(time_point earliest) noexcept = 0;
  /// Sets the listener, before the first thread of the runtime starts. Called with a default one after the
  /// last thread has ended.
  virtual void listen(const listener& to) noexcept = 0;

 protected:
  clock_source() = default;
  ~clock_source() = default;
};

}  // namespace rota::core
