// A leaf of the stress programs: a counter that one task waits for.
#pragma once

#include <rota/leaf.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace stress {

/// Counts strokes; a wait takes one. One waiter at a time; any thread rings. A cancelled wait takes none.
class bell {
 public:
  void ring() {
    rota::waker waiting;
    {
      const std::lock_guard lock(mutex_);
      ++strokes_;
      waiting = std::move(waiting_);
    }
    waiting.wake();
  }
  [[nodiscard]] std::uint64_t strokes() const {
    const std::lock_guard lock(mutex_);
    return strokes_;
  }

  class stroke final : public rota::leaf {
   public:
    explicit stroke(bell& of) noexcept : of_(of) {}
    bool is_ready() noexcept override {
      if (taken_) return true;
      rota::waker mine = make_waker();
      const std::lock_guard lock(of_.mutex_);
      return take_or_wait(mine);
    }
    rota::cancel_progress try_cancel(rota::cancel_reason /*reason*/) noexcept override {
      rota::waker dropped;
      const std::lock_guard lock(of_.mutex_);
      dropped = std::move(of_.waiting_);
      // The stroke was taken, but the task gave up its turn before it went on.
      if (std::exchange(taken_, false)) ++of_.strokes_;
      return rota::cancel_progress::ended;
    }
    const char* what() const noexcept override { return "bell"; }
    static void await_resume() noexcept {}

   protected:
    bool start() override { return is_ready(); }

   private:
    [[nodiscard]] bool take_or_wait(rota::waker& mine) noexcept {
      if (of_.strokes_ == 0) {
        std::swap(of_.waiting_, mine);
        return false;
      }
      --of_.strokes_;
      taken_ = true;
      return true;
    }
    bell& of_;
    bool taken_ = false;
  };
  [[nodiscard]] stroke next() noexcept { return stroke(*this); }

 private:
  mutable std::mutex mutex_;
  std::uint64_t strokes_ = 0;
  rota::waker waiting_;
};

}  // namespace stress
