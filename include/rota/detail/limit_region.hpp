// The part of timeout(time_limit, ..) that does not depend on what is awaited.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline_region.hpp>
#include <rota/detail/promise.hpp>
#include <rota/detail/task_timer.hpp>
#include <rota/waker.hpp>

namespace rota::core {

class limit_state;

/// An entry in the list of regions that are woken when a limit becomes earlier. Guarded by the lock of the
/// limit.
struct limit_follower {
  base::cell<limit_follower*> before;
  base::cell<limit_follower*> after;
  std::uint64_t told = 0;  // the latest round of wakes that it took part in
  waker wake;
};

/// A limit that moves, around one co_await. It does not take part in header::deadline, which other tasks
/// inherit: only its own task checks it. src/flow/time_limit.cpp has the protocol.
class ROTA_API limit_region : public region {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  void bind(activation& task) noexcept {
    task_ = &task;
    forget_past();  // if the work completes at once, begin() is not called
  }

  [[nodiscard]] bool passed() noexcept final;
  void watch() noexcept final;
  /// Returns the earliest time that holds in the running task: of its limits as they are now, and of the
  /// deadlines. Walks over the regions of the task.
  [[nodiscard]] static time_point deadline_in(activation& task) noexcept;

 protected:
  /// Takes over one reference to `limit`.
  explicit limit_region(limit_state* limit) noexcept : region(kind::deadline), limit_(limit) {}
  ~limit_region();

  void begin(promise_base& frame) noexcept;
  deadline_end end() noexcept;

 private:
  void leave() noexcept;

  activation* task_ = nullptr;
  limit_state* limit_;
  time_point armed_at_{};
  timing::task_timer timer_;
  limit_follower follower_;
  bool is_over_ = false;  // this task has found the limit passed
  bool follows_ = false;
  bool armed_ = false;        // for the region in force now, at armed_at_
  bool is_outermost_ = true;  // among the limits of this task
};

}  // namespace rota::core
