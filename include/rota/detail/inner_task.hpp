// For use inside a coroutine: its own frame, and a task of which it wants the outcome in any case.
#pragma once

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <rota/task.hpp>

namespace rota::core {

/// Returns the frame of the awaiting coroutine: `promise_base& here = co_await this_frame();`. Does not
/// suspend.
class this_frame {
 public:
  this_frame() noexcept {}

  void bind(activation& /*task*/) noexcept {}
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) noexcept {
    frame_ = &frame.promise();
    return false;
  }
  [[nodiscard]] promise_base& await_resume() const noexcept { return *frame_; }

 private:
  promise_base* frame_ = nullptr;
};

/// Makes a task by a call, and runs it as part of the awaiting coroutine. Keeps the task's frame, with the
/// outcome in front of it, until the end of this object. `co_await` never throws. For coroutines at which
/// unwinding can stop: the task's frame is then destroyed when they go on.
template <class T>
class inner_task {
 public:
  template <class F, class... Args>
  explicit inner_task(F& function, Args&... args) noexcept {
    try {
      task<T> made = function(args...);
      frame_ = made.release();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  inner_task(const inner_task&) = delete;
  inner_task& operator=(const inner_task&) = delete;
  ~inner_task() {
    if (frame_ != nullptr) frame_->handle().destroy();
  }

  void bind(activation& /*task*/) noexcept {}
  [[nodiscard]] bool await_ready() const noexcept { return frame_ == nullptr; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    promise_base& outer = parent.promise();
    frame_->root = outer.root;
    frame_->parent = &outer;
    frame_->owner = &frame_;
    return transfer(*outer.root, *frame_);
  }
  static void await_resume() noexcept {}

  /// Returns true if its frames were destroyed because of a cancellation.
  [[nodiscard]] bool was_unwound() const noexcept { return frame_ == nullptr && thrown_ == nullptr; }
  /// Returns the exception of the task, or of the callable that was to make it.
  [[nodiscard]] std::exception_ptr exception() const noexcept {
    return frame_ == nullptr ? thrown_ : typed().result().exception();
  }
  /// Returns a reference to the outcome. `reason`: why the task was unwound, if it was.
  [[nodiscard]] outcome<T>& end(cancel_reason reason) noexcept {
    if (frame_ != nullptr) return typed().result();
    if (thrown_ != nullptr) {
      end_.set_exception(thrown_);
    } else {
      end_.set_cancelled(reason);
    }
    return end_;
  }

 private:
  [[nodiscard]] promise<T>& typed() const noexcept { return static_cast<promise<T>&>(*frame_); }

  promise_base* frame_ = nullptr;
  std::exception_ptr thrown_;
  outcome<T> end_;  // of a body without a frame
};

}  // namespace rota::core
