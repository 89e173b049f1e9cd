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

/// This thread is about to block: somebody else takes its place, in a pool or in a runtime.
class absence {
 public:
  absence() noexcept : seat_(crew::here()) {
    if (seat_ != nullptr) {
      seat_->of->enter_region(*seat_);
    } else {
      ports_ = &core::current_thread_ports();
      lent_ = ports_->before_block();
    }
  }
  absence(const absence&) = delete;
  absence& operator=(const absence&) = delete;
  ~absence() {
    if (seat_ != nullptr) {
      seat_->of->leave_region(*seat_);
    } else {
      ports_->after_block(lent_);
    }
  }

 private:
  seat* seat_;
  const core::thread_ports* ports_ = nullptr;
  void* lent_ = nullptr;
};

/// A work that blocks says on what, so that a force stop finds it there: on another work, whose word is turned then, or on a count,
/// which is raised.
class blocked_on {
 public:
  explicit blocked_on(work_core& target) noexcept : me_(work_here()) { set(&target, nullptr); }
  explicit blocked_on(base::atomic<std::uint32_t>& count) noexcept : me_(work_here()) {
    set(nullptr, &count);
  }
  blocked_on(const blocked_on&) = delete;
  blocked_on& operator=(const blocked_on&) = delete;
  ~blocked_on() { set(nullptr, nullptr); }

  /// To be asked after the word, or the count, was read that it is going to sleep on.
  [[nodiscard]] bool is_forced() const noexcept { return me_ != nullptr && me_->load().has(force_asked); }
  void demand_no_force() const {
    if (is_forced()) throw force_stopped();
  }

 private:
  void set(work_core* target, base::atomic<std::uint32_t>* count) noexcept {
    if (me_ == nullptr) return;
    const base::lock_guard guard(me_->lock);
    me_->waits_for = target;
    me_->waits_on = count;
  }
  work_core* me_;
};

}  // namespace rota::pool::detail
