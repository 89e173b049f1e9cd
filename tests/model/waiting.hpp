// Scenes for primitives that tasks and threads wait for.
#pragma once

#include "base/frame_allocator.hpp"
#include "model/model_scheduler.hpp"

#include <new>
#include <optional>
#include <utility>

#include <rota/detail/spawn_on.hpp>

namespace rota::model {

/// Something in memory of the heap's, so that whoever touches it after its end is seen.
template <class T>
class on_heap {
 public:
  template <class... Args>
  explicit on_heap(Args&&... args)
      : object_(::new(base::allocate_frame(sizeof(T))) T(std::forward<Args>(args)...)) {}
  on_heap(const on_heap&) = delete;
  on_heap& operator=(const on_heap&) = delete;
  ~on_heap() { destroy(); }

  void destroy() {
    if (object_ == nullptr) return;
    object_->~T();
    base::free_frame(std::exchange(object_, nullptr), sizeof(T));
  }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }

 private:
  T* object_;
};

/// A task and what became of it.
template <class T>
class watched {
 public:
  watched(model_scheduler& by, task<T> work) : task_(&by.launch(std::move(work))), handle_(*task_) {}

  [[nodiscard]] core::header& header() noexcept { return *task_; }
  /// In the end.
  [[nodiscard]] bool was_cancelled() {
    if (!was_cancelled_.has_value()) {
      auto got = handle_.wait_for(std::chrono::nanoseconds(0));
      check(got.has_value(), "the task has ended");
      was_cancelled_ = got->is_cancelled();
    }
    return *was_cancelled_;
  }

 private:
  core::header* task_;
  join_handle<T> handle_;
  std::optional<bool> was_cancelled_;
};

inline void add_workers(execution& e, model_scheduler& s, int count) {
  for (int i = 0; i < count; ++i) e.daemon("worker", [&s] { s.work(); });
}

}  // namespace rota::model
