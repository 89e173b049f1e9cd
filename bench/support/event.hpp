// An event that one task waits for and that resets itself: these benchmarks use it in place of a channel.
#pragma once

#include <rota/leaf.hpp>

#include <atomic>
#include <utility>

namespace bench {

// PROTOCOL: state
//   idle     no waiter, no notification
//   waiting  waker_ is set; only the thread that changes the state may access it
//   taking   a notifier is about to move waker_ out
//   said     a notification is stored; the next wait, or the woken one, consumes it
// The waiter moves idle -> waiting -> idle and said -> idle.
// A notifier moves idle -> said and waiting -> taking -> said.
class event {
 public:
  /// Notifies the waiter. Any thread. Two calls before a wait count as one.
  void notify() noexcept {
    state seen = state_.load(std::memory_order_relaxed);
    for (;;) {
      // A second notifier: the wake of the first one suffices, and the write still publishes what this one
      // did before.
      const state next = seen == state::waiting ? state::taking : seen == state::idle ? state::said : seen;
      if (state_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed))
        break;
    }
    if (seen != state::waiting) return;
    rota::waker who = std::move(waker_);
    state_.store(state::said, std::memory_order_release);
    who.wake();
  }

  class wait_leaf final : public rota::leaf {
   public:
    explicit wait_leaf(event& on) noexcept : on_(&on) {}
    [[nodiscard]] bool is_ready() noexcept override {
      return on_->state_.load(std::memory_order_acquire) == state::said;
    }
    rota::cancel_progress try_cancel(rota::cancel_reason /*reason*/) noexcept override {
      state seen = state::waiting;
      if (!on_->move(seen, state::idle)) {
        return seen == state::taking ? rota::cancel_progress::pending : rota::cancel_progress::ended;
      }
      on_->waker_ = rota::waker();
      return rota::cancel_progress::ended;
    }
    [[nodiscard]] const char* what() const noexcept override { return "event"; }
    void await_resume() noexcept { on_->state_.exchange(state::idle, std::memory_order_acquire); }

   protected:
    bool start() override {
      if (is_ready()) return true;
      on_->waker_ = make_waker();
      state seen = state::idle;
      if (on_->move(seen, state::waiting)) return false;
      on_->waker_ = rota::waker();
      return true;
    }

   private:
    event* on_;
  };

  [[nodiscard]] wait_leaf wait() noexcept { return wait_leaf(*this); }

 private:
  enum class state : unsigned char { idle, waiting, taking, said };

  bool move(state& from, state to) noexcept {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_acquire);
  }

  std::atomic<state> state_{state::idle};
  rota::waker waker_;
};

}  // namespace bench
