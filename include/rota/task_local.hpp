// Values that belong to a task and to the tasks that it spawns.
#pragma once

#include <type_traits>
#include <utility>

#include <rota/detail/locals.hpp>
#include <rota/detail/when_children.hpp>
#include <rota/task.hpp>

namespace rota {

/// A variable that has a value of its own in each task, inherited by the tasks that it spawns: a request's
/// id, a logger.
///
///   rota::task_local<std::string> user("guest");
///
///   rota::task<void> serve(request r) {
///     const auto bound = user.set(r.user());
///     co_await answer(r);  // user.get() is r.user() here, and in the tasks that this one spawns
///   }
///
/// Threads       `get` and `set` work inside of a task, on any thread that runs it; outside `get` returns the
///               default.
/// Ownership     A value lives until its binding has ended and so have all tasks that inherited it. It cannot
///               be changed, only hidden by another `set`. The task_local itself must outlive its uses: make
///               it a global.
/// Ordering      Bindings end in the reverse of the order in which they began. A task inherits the values
///               that were bound where it was spawned.
/// Failure       `set` and `scope` throw `std::bad_alloc`, and `set` throws `errc::no_runtime` outside of a
///               task.
/// Cost          `set`: one allocation. `get`: a walk over the bindings in force. Inheriting: one atomic
///               increment.
/// Example       examples/task_local.cpp
template <class T>
class task_local {
 public:
  task_local()
    requires std::is_default_constructible_v<T>
      : default_() {}
  explicit task_local(T by_default) : default_(std::move(by_default)) {}
  task_local(const task_local&) = delete;
  task_local& operator=(const task_local&) = delete;
  ~task_local() = default;

  /// A value in force until the end of the block. Not movable.
  class [[nodiscard]] binding final : private core::local_binding {
   public:
    binding(const task_local& key, T value) { bind(*new node(&key, std::move(value))); }
    ~binding() = default;
  };

  /// Binds `value`: `auto bound = local.set(value);`
  [[nodiscard]] binding set(T value) const { return binding(*this, std::move(value)); }

  /// Awaits `work` with this value. A task is kept in the frame. Any other awaitable is referred to, and must
  /// live until the co_await is done.
  template <class A>
    requires core::child_argument<A>
  ROTA_DETAIL_WRAPPER task<core::child_result<A>> scope(T value, A&& work) const {
    return bound_while(*this, std::move(value), core::as_child(std::forward<A>(work)));
  }

  /// Returns the innermost value, or the default. The reference stays valid while the binding and this task
  /// last.
  [[nodiscard]] const T& get() const noexcept {
    const T* const found = find();
    return found == nullptr ? default_ : *found;
  }
  /// Returns the innermost value; null if nothing is bound.
  [[nodiscard]] const T* find() const noexcept {
    const core::local_node* const found = core::find_local(this);
    return found == nullptr ? nullptr : &static_cast<const node*>(found)->value;
  }

 private:
  struct node final : core::local_node {
    node(const void* of, T v) : value(std::move(v)) {
      key = of;
      destroy = [](core::local_node* self) noexcept { delete static_cast<node*>(self); };
    }
    T value;
  };

  template <class R>
  static task<R> bound_while(const task_local& local, T value, task<R> work) {
    const binding bound(local, std::move(value));
    co_return co_await std::move(work);
  }

  T default_;
};

}  // namespace rota
