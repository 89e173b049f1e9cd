// For functions that spawn: a task inherits the deadline of the place where it is spawned.
#pragma once

#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/task_timer.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>

namespace rota::core {

/// Cancels the task that it is constructed in, with the reason `timeout`, when the time has come: at once, if
/// it has already.
class ROTA_API expiry {
 public:
  explicit expiry(std::chrono::steady_clock::time_point at) noexcept;
  expiry(const expiry&) = delete;
  expiry& operator=(const expiry&) = delete;
  ~expiry() { timer_.disarm(); }

 private:
  timing::task_timer timer_;
};

/// Runs `work`, which ends as cancelled if `at` comes first. If `at` has come already, `work` never starts.
///
///   const auto deadline = core::deadline_to_inherit();
///   if (deadline != time_point::max()) work = core::under_deadline(deadline, std::move(work));
template <class T>
task<T> under_deadline(std::chrono::steady_clock::time_point at, task<T> work) {
  const expiry limit(at);
  co_await checkpoint();
  co_return co_await std::move(work);
}

/// Returns the deadline of tasks that are spawned here. A time_limit is not inherited: it may move.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point deadline_to_inherit() noexcept;

/// Wraps `work` in what a task that is spawned here needs: in most cases nothing.
template <class T>
ROTA_DETAIL_WRAPPER task<T> inherit_deadline(task<T> work) {
  demand_work(work);
  const auto deadline = deadline_to_inherit();
  if (deadline == std::chrono::steady_clock::time_point::max()) [[likely]]
    return work;
  return under_deadline(deadline, std::move(work));
}

}  // namespace rota::core
