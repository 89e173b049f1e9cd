// What a thread says before it blocks: to its pool or its runtime, and to whoever may force it on.
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

/// Nobody: what blocks is no work.
inline void say_blocked(work_core* me, work_core* target, base::atomic<std::uint32_t>* count) noexcept {
  if (me == nullptr) return;
  const base::lock_guard guard(me->lock);
  me->waits_for = target;
  me->waits_on = count;
}
[[nodiscard]] inline bool is_forced(const work_core* me) noexcept {
  return me != nullptr && me->load().has(force_asked);
}

/// This thread is about to block: somebody else takes its place, in a pool or in a runtime.
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

/// A work that blocks says on what, so that a force stop finds it there: on another work, whose word is turned then, or on a count,
/// which is raised.
class blocked_on {
 public:
  explicit blocked_on(work_core& target) noexcept : me_(work_here()) { say_blocked(me_, &target, nullptr); }
  explicit blocked_on(base::atomic<std::uint32_t>& count) noexcept : me_(work_here()) {
    say_blocked(me_, nullptr, &count);
  }
  blocked_on(const blocked_on&) = delete;
  blocked_on& operator=(const blocked_on&) = delete;
  ~blocked_on() { say_blocked(me_, nullptr, nullptr); }

  /// To be asked after the word, or the count, was read that it is going to sleep on.
  [[nodiscard]] bool is_forced() const noexcept { return detail::is_forced(me_); }
  void demand_no_force() const {
    if (is_forced()) throw force_stopped();
  }

 private:
  work_core* me_;
};

}  // namespace rota::pool::detail
