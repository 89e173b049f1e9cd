// What a thread does around its sleep in a blocking wait.
#pragma once

#include "base/clock.hpp"
#include "task/header.hpp"
#include "task/thread_ports.hpp"

#include <rota/detail/thread_wait.hpp>

namespace rota::core {

/// Says, while it lives, that this thread sleeps on a word: other threads take its place, and a force stop
/// finds the word.
class asleep {
 public:
  explicit asleep(base::atomic<std::uint32_t>& on) noexcept
      : ports_(current_thread_ports()), force_(current_force_ports()), lent_(ports_.before_block()) {
    force_.sleeps_on(&on);
  }
  asleep(const asleep&) = delete;
  asleep& operator=(const asleep&) = delete;
  ~asleep() {
    force_.sleeps_on(nullptr);
    ports_.after_block(lent_);
  }

  [[nodiscard]] bool is_forced() const noexcept { return force_.is_forced(); }

 private:
  const thread_ports& ports_;
  const force_ports& force_;
  void* lent_;
};

/// Runs another task, in a task of a scheduler with only this thread. Returns true if it ran a task, or moved
/// time.
inline bool run_another(scheduler& alone, base::time_point deadline) noexcept {
  if (alone.ops->run_another(alone, deadline)) return true;
  if (deadline == base::never)
    ROTA_FATAL("a blocking wait on a testing::runtime, where nothing can run that would end it: co_await it",
               0);
  return false;
}

/// Returns the scheduler of the task around, if it has only this thread; otherwise null.
inline scheduler* alone_here() noexcept {
  const header* const me = task_in_sight();
  return me != nullptr && me->owner->ops->run_another != nullptr ? me->owner : nullptr;
}

}  // namespace rota::core
