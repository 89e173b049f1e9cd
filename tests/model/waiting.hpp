// Scenes for primitives that tasks and threads wait for.
#pragma once

#include "base/frame_allocator.hpp"
#include "model/model_scheduler.hpp"

#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <rota/detail/spawn_on.hpp>

namespace rota::model {

/// Something in heap memory, so that a use after free is detected.
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

/// When a wait for two signals begins: at any time, if only both let it pass; or when both are over.
enum class begins : bool { at_any_time, when_both_are_over };

/// Two threads give the same signal to a `Primitive`, made of `made_of`, each after a write of its own. A
/// waiter sees both, although the second signal may change nothing.
template <class Primitive, class Signal, class... Args>
void expect_both_are_brought_along(std::string_view name, begins when, Signal signal, Args... made_of) {
  struct scene {
    explicit scene(Args... args) : of(args...) {}
    on_heap<Primitive> of;
    base::cell<int> left;
    base::cell<int> right;
    base::atomic<int> signals{0};
  };
  expect_holds_everywhere(name, [=](execution& e) {
    auto& x = e.make<scene>(made_of...);
    const auto signals = [&x, signal](base::cell<int>& mine) {
      mine.set(1);
      signal(*x.of);
      // relaxed. A count of the model's, of signals that are over.
      x.signals.fetch_add(1, base::order::relaxed);
    };
    e.thread("left", [&x, signals] { signals(x.left); });
    e.thread("right", [&x, signals] { signals(x.right); });
    e.thread("waiter", [&x, when] {
      // relaxed. A count of the model's, of signals that are over.
      if (when == begins::when_both_are_over && x.signals.load(base::order::relaxed) != 2) return;
      x.of->blocking_wait();
      check(x.left.get() + x.right.get() == 2, "both are seen");
    });
  });
}

}  // namespace rota::model
