// Shared by the scenarios, which include only public headers.
#pragma once

#include "support/sanitized.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/error.hpp>
#include <rota/leaf.hpp>

#include <csignal>
#include <mutex>
#include <utility>

namespace rota::test {

/// Deaths happen in a process of their own, which has started no threads yet.
class deaths : public testing::Test {
 protected:
  deaths() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};
inline const auto aborted = testing::KilledBySignal(SIGABRT);

/// Fired by hand, from any thread, and stays fired. One task waits for it at a time.
class event {
 public:
  class wait final : public leaf {
   public:
    explicit wait(event& of) noexcept : of_(&of) {}
    [[nodiscard]] bool is_ready() noexcept override {
      const std::lock_guard lock(of_->mutex_);
      return of_->fired_;
    }
    cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
      const waker unlinked = unlink();
      return cancel_progress::ended;
    }
    [[nodiscard]] const char* what() const noexcept override { return "event"; }
    void await_resume() const noexcept {}

   protected:
    bool start() override {
      waker mine = make_waker();
      const std::lock_guard lock(of_->mutex_);
      if (of_->fired_) return true;
      of_->waiting_ = std::move(mine);
      return false;
    }

   private:
    waker unlink() noexcept {
      const std::lock_guard lock(of_->mutex_);
      return std::move(of_->waiting_);
    }
    event* of_;
  };

  event() = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() = default;

  void fire() {
    waker waiting;
    {
      const std::lock_guard lock(mutex_);
      fired_ = true;
      waiting = std::move(waiting_);
    }
    waiting.wake();
  }
  [[nodiscard]] wait operator()() noexcept { return wait(*this); }
  [[nodiscard]] bool is_awaited() const {
    const std::lock_guard lock(mutex_);
    return static_cast<bool>(waiting_);
  }
  /// Returns a waker of the current waiter, for later use.
  [[nodiscard]] waker steal_waker() const {
    const std::lock_guard lock(mutex_);
    return waiting_.clone();
  }

 private:
  mutable std::mutex mutex_;
  bool fired_ = false;
  waker waiting_;
};

/// Waits until the dump contains `words`, such as the name of a state.
inline void wait_for_state(const runtime& rt, const std::string& words) {
  wait_until([&] { return rt.dump().find(words) != std::string::npos; });
}

[[nodiscard]] inline errc code_of(const error& e) noexcept { return static_cast<errc>(e.code().value()); }

inline task<int> number(int n) { co_return n; }

inline task<> wait_for(event& e, witness /*mine*/) { co_await e(); }

}  // namespace rota::test
