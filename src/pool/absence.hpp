// What a thread declares before it blocks: to its pool or its runtime, and to a force stop.
#pragma once

#include "base/mutex.hpp"
#include "base/tls_slot.hpp"
#include "pool/crew.hpp"
#include "pool/work.hpp"
#include "task/thread_ports.hpp"

#include <rota/pool/this_work.hpp>

namespace rota::pool::detail {

[[nodiscard]] inline work_core* work_here() noexcept {
  return static_cast<work_core*>(base::this_thread_locals().work);
}

/// Records on what the job `me` blocks: on the job `target`, or on `count`. Does nothing if `me` is null:
/// then no job runs on this thread.
inline void say_blocked(work_core* me, work_core* target, base::atomic<std::uint32_t>* count) noexcept {
  if (me == nullptr) return;
  const base::lock_guard guard(me->lock);
  me->waits_for = target;
  me->waits_on = count;
}
[[nodiscard]] inline bool is_forced(const work_core* me) noexcept {
  return me != nullptr && me->load().has(force_asked);
}

/// Declares that this thread is about to block, so that another thread takes its place in a pool or in a
/// runtime.
class absence {
 public:
  absence() noexcept : ports_(core::current_thread_ports()), lent_(ports_.before_block()) {}
  absence(const absence&) = delete;
  absence& operator=(const absence&) = delete;
  ~absence() { ports_.after_block(lent_); }

 private:
  const core::thread_ports& ports_;
  void* lent_;
};

/// Records on what the job that runs here blocks, so that a force stop can wake it. The thread that forces
/// changes the word of that other job, or raises that count.
class blocked_on {
 public:
  explicit blocked_on(work_core& target) noexcept : me_(work_here()) { say_blocked(me_, &target, nullptr); }
  explicit blocked_on(base::atomic<std::uint32_t>& count) noexcept : me_(work_here()) {
    say_blocked(me_, nullptr, &count);
  }
  blocked_on(const blocked_on&) = delete;
  blocked_on& operator=(const blocked_on&) = delete;
  ~blocked_on() { say_blocked(me_, nullptr, nullptr); }

  /// Returns true if a force stop was requested. Call it after the word, or the count, was read on which the
  /// caller is about to sleep.
  [[nodiscard]] bool is_forced() const noexcept { return detail::is_forced(me_); }
  void demand_no_force() const {
    if (is_forced()) throw force_stopped();
  }

 private:
  work_core* me_;
};

}  // namespace rota::pool::detail
