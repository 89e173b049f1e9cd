// A driver without events: it only waits for time and for an interrupt.
#pragma once

#include "base/futex.hpp"
#include "sched/poller.hpp"

namespace rota::sched {

/// For runtimes that do no I/O, and for the model build.
class sleep_driver {
 public:
  sleep_driver() = default;
  sleep_driver(const sleep_driver&) = delete;
  sleep_driver& operator=(const sleep_driver&) = delete;
  ~sleep_driver() = default;

  [[nodiscard]] driver_port port() noexcept { return {&ops_table, this}; }

 private:
  static const driver_ops ops_table;
  void wait(base::time_point deadline) noexcept;
  void interrupt() noexcept;

  base::atomic<std::uint32_t> interrupted_{0};
};

}  // namespace rota::sched
