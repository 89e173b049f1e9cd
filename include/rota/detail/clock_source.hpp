// Time that does not come from the machine.
#pragma once

#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>

namespace rota::core {

/// What a runtime asks instead of the monotonic clock, for everything that tasks wait for. Must outlive the
/// runtime.
class ROTA_API clock_source {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Told when time has moved, on the thread that moved it: timers may be due.
  struct listener {
    void (*moved)(void* self) noexcept = nullptr;
    void* self = nullptr;
  };

  clock_source(const clock_source&) = delete;
  clock_source& operator=(const clock_source&) = delete;

  /// Any thread. Never goes back.
  [[nodiscard]] virtual time_point now() noexcept = 0;
  /// The runtime says that no task runs, none is runnable, none is in the blocking pool, and `earliest` is
  /// the first timer: time_point::max() if there is none. True: time has moved, so look at the timers. False:
  /// wait until told.
  [[nodiscard]] virtual bool all_blocked(time_point earliest) noexcept = 0;
  /// Before the runtime's first thread starts; a default one after its last has ended.
  virtual void listen(const listener& to) noexcept = 0;

 protected:
  clock_source() = default;
  ~clock_source() = default;
};

}  // namespace rota::core
