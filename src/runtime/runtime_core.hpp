// The parts of a runtime.
#pragma once

#include "runtime/blocking_pool.hpp"
#include "runtime/watchdog.hpp"
#include "sched/scheduler.hpp"
#if ROTA_MODEL
#include "sched/sleep_driver.hpp"
#else
#include "driver/io_driver.hpp"
#endif

#include <rota/runtime.hpp>

#include <algorithm>
#include <cstdint>

namespace rota::detail {

// PROTOCOL: life of a runtime
//   open        tasks come and go
//   announcing  the same; each task in the registry, and each that enrols, is told that it will be cancelled
//   cancelling  admit() refuses; every task is cancelled: those that have suspended through the registry, the
//               others when they are popped or suspend for the first time; queued closures end as cancelled
//   forcing     after the grace, or at once if there is none: every task is cancelled, and the shields that
//               are active when that reaches it are overridden. It reaches a task once, by the sweep, or
//               before the task is run or begins a clean-up
//   stopping    no task is alive, or only blocking work keeps some from ending: workers leave, threads are
//               joined
//   gone        the runtime object is destroyed; the last task's memory, handle or thread frees this
// Ownership: the thread that brings memories of the ledger to zero frees this object. The runtime, the memory
// of every task, every runtime_handle and every thread that was left behind in a closure count for one.
class runtime_core {
 public:
  /// Checks the options first. When it throws, nothing has started.
  explicit runtime_core(const runtime_options& options, core::clock_source* clock);
  runtime_core(const runtime_core&) = delete;
  runtime_core& operator=(const runtime_core&) = delete;
  ~runtime_core() = default;

  shutdown_report shutdown(base::nanoseconds grace);
  /// Whether the report of survivors is complete.
  enum class [[nodiscard]] on_shutdown : std::uint8_t { done, no_memory_for_report };
  /// Allocates nothing if `into` is null. Must run in the process that made the runtime.
  on_shutdown shut_down(base::nanoseconds grace, shutdown_report* into) noexcept;
  /// Called when the runtime object is destroyed.
  void let_go() noexcept;

  [[nodiscard]] runtime_stats stats();
  [[nodiscard]] std::string dump();
  void describe_tasks(std::string& text);
  [[nodiscard]] const runtime_options& options() const noexcept { return options_; }

  /// Throws errc::forked in a child of the process that made this runtime.
  void demand_own_process() const;
  [[nodiscard]] bool is_own_process() const noexcept;

  sched::scheduler tasks;
  blocking_pool threads;

 private:
  /// Counts of ended tasks.
  struct ends {
    std::uint64_t all;
    std::uint64_t cancelled;
    [[nodiscard]] std::uint64_t completed() const noexcept { return all - std::min(all, cancelled); }
  };
  [[nodiscard]] ends count_ends() noexcept;
  [[nodiscard]] bool runs_a_task_here() const noexcept;
  void open_driver();
  void tell_of_io(runtime_stats& into) const noexcept;
  void connect() noexcept;
  void start_workers();
  void listen_to_clock() noexcept;
  void announce_end() noexcept;
  void cancel_everything() noexcept;
  void pass_end_on_to_each() noexcept;
  void wait_for_end(base::nanoseconds grace) noexcept;
  [[nodiscard]] bool only_closures_are_left() noexcept;
  void stop_threads() noexcept;
  on_shutdown report_survivors(shutdown_report* into) noexcept;
  void on_unhandled(core::header& task, std::exception_ptr what) noexcept;
  void on_shield_overridden(const core::header& task) noexcept;

  const runtime_options options_;
  const std::uint64_t process_;
#if ROTA_MODEL
  sched::sleep_driver driver_;
#else
  driver::io_driver driver_;
#endif
  watchdog watchdog_;
  report_limit shield_reports_;
  base::mutex shutdown_mutex_;
  bool shut_down_ = false;
  base::atomic<std::uint64_t> unhandled_{0};
};

/// Throws std::invalid_argument that names the field and its range.
void check(const runtime_options& options);

/// Returns the backend of the options, or else that of ROTA_IO. Throws std::invalid_argument if ROTA_IO is no
/// backend.
[[nodiscard]] io_backend wanted_backend(const runtime_options& options);

}  // namespace rota::detail
