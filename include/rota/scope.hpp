// Structured concurrency: children that cannot outlive a block.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

#include <rota/detail/inner_task.hpp>
#include <rota/detail/nursery.hpp>
#include <rota/join_handle.hpp>

namespace rota {

namespace core {

/// The functions that spawn children into a nursery.
class spawner : public nursery {
 public:
  /// Starts a child. The handle may be dropped.
  template <class T>
  join_handle<T> spawn(task<T> work ROTA_DETAIL_STARTED,
                       std::source_location site = std::source_location::current()) {
    return join_handle<T>(launch(*work.release(), result_vtable_of<T>, site));
  }
  /// Starts `function(args...)`, which returns a task. The function and the arguments live in the child.
  template <class F>
    requires makes_task<F>
  auto spawn(F&& function, std::source_location site = std::source_location::current()) {
    return spawn(make_task(std::forward<F>(function)), site);
  }
  template <class F, class A>
    requires makes_task<F, A>
  auto spawn(F&& function, A&& first, std::source_location site = std::source_location::current()) {
    return spawn(make_task(std::forward<F>(function), std::forward<A>(first)), site);
  }
  template <class F, class A, class B>
    requires makes_task<F, A, B>
  auto spawn(F&& function,
             A&& first,
             B&& second,
             std::source_location site = std::source_location::current()) {
    return spawn(make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)), site);
  }
  /// Reports do not show the spawn site of a task with this many arguments.
  template <class F, class... Args>
    requires(makes_task<F, Args...> && sizeof...(Args) > 2)
  auto spawn(F&& function, Args&&... args) {
    return spawn(make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
  }
  /// Starts a child of which only the end matters. `fork([t]() -> task<> {...})` is right: the lambda lives
  /// in the child. `fork([t]() -> task<> {...}())` is a use after free: it reads a lambda that is gone.
  template <class T>
  void fork(task<T> work, std::source_location site = std::source_location::current()) {
    static_cast<void>(spawn(std::move(work), site));
  }
  template <class F>
    requires makes_task<F>
  void fork(F&& function, std::source_location site = std::source_location::current()) {
    static_cast<void>(spawn(std::forward<F>(function), site));
  }
  template <class F, class A>
    requires makes_task<F, A>
  void fork(F&& function, A&& first, std::source_location site = std::source_location::current()) {
    static_cast<void>(spawn(std::forward<F>(function), std::forward<A>(first), site));
  }
  template <class F, class A, class B>
    requires makes_task<F, A, B>
  void fork(F&& function,
            A&& first,
            B&& second,
            std::source_location site = std::source_location::current()) {
    static_cast<void>(
        spawn(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second), site));
  }
  template <class F, class... Args>
    requires(makes_task<F, Args...> && sizeof...(Args) > 2)
  void fork(F&& function, Args&&... args) {
    static_cast<void>(spawn(std::forward<F>(function), std::forward<Args>(args)...));
  }

 protected:
  using nursery::nursery;
  ~spawner() = default;

 private:
  using nursery::launch;
};

}  // namespace core

/// The children of one with_scope. See there.
class ROTA_API scope final : public core::spawner {
 public:
  /// Called by with_scope only.
  explicit scope(core::promise_base& frame) noexcept : spawner(frame), region_(children(), frame) {}
  ~scope() = default;

  /// Requests cancellation of all children. The body goes on. A child that stops because of this is no
  /// failure. A child that is spawned afterwards is cancelled at once. Any thread.
  void cancel() noexcept { spawner::cancel(cancel_reason::user); }

  /// Ends the body. `thrown`: its exception, if any.
  void leave_body(std::exception_ptr thrown) noexcept;
  [[nodiscard]] core::brood_leaf all_ended() noexcept { return core::brood_leaf(children()); }
  /// Throws the first failure, if there was one.
  void rethrow();

 private:
  core::scope_region region_;
};

namespace core {

template <class F>
using scope_task = std::invoke_result_t<F&, scope&>;

template <class F>
concept scope_body = is_task<std::remove_cvref_t<scope_task<F>>>;

}  // namespace core

/// Runs `body(scope)`, a task, and ends when it and all children that were spawned into the scope have ended:
///
///   int sum = 0;
///   co_await rota::with_scope([&](rota::scope& s) -> rota::task<void> {
///     auto left = s.spawn(count, 1);
///     auto right = s.spawn(count, 2);
///     sum = co_await left + co_await right;
///   });
///
/// The result is the body's. Children may use anything that outlives the with_scope. They may use locals of
/// the body only as long as the body waits for them before these locals are destroyed: a body that has
/// returned, or thrown, has no locals any more.
///
/// For servers: an exception of a child cancels the others. Catch it in the child.
///
/// Threads       `spawn`, `fork`, `cancel` and `size` may be called by any thread that the scope cannot end
///               before: the body, its children, and theirs.
/// Ownership     A handle may be kept, awaited or dropped; the scope waits for the child in any case.
/// Ordering      What the caller of `spawn` did before happens before the child's first line. The child's
///               last line, the destruction of its locals, and that of a result that no handle holds happen
///               before the with_scope ends.
/// Failure       The first child that throws, or that is cancelled otherwise than by its scope, is a failure
///               of the scope, and so is an exception of the body. Then the other children are cancelled
///               (`sibling_failed`), and the body is unwound at its next suspension. When all have ended, the
///               exception is rethrown, or `cancelled_error` is thrown. Later exceptions are only counted. An
///               exception that is taken out of a child's handle, by awaiting it or by `result()`, is no
///               failure of the scope; it is one as soon as the handle is dropped instead. So to stop a
///               single child without harm: cancel it and await its `result()`.
///               If the task around the scope is cancelled, or a deadline around it passes, the children are
///               cancelled at once, with that reason. When they have ended, the body is unwound, and the
///               unwinding goes on.
///               `spawn` throws `std::bad_alloc`, and `errc::no_runtime` where the task has no runtime;
///               nothing was started then. Children inherit the deadline of the place of the with_scope. A
///               scope that is being cancelled starts no more children: the handle is cancelled already, the
///               task has not run, its arguments are destroyed.
/// Cost          Two frames: its own and the body's. A child: as rota::spawn, and two short critical
///               sections.
/// Example       examples/scope.cpp
template <class F>
  requires core::scope_body<F>
task<typename core::scope_task<F>::value_type> with_scope(F body) {
  core::promise_base& here = co_await core::this_frame();
  scope children(here);
  core::inner_task<typename core::scope_task<F>::value_type> inner(body, children);
  co_await inner;
  children.leave_body(inner.exception());
  co_await children.all_ended();
  children.rethrow();
  co_return std::move(inner.end(cancel_reason::sibling_failed)).value();
}

/// Refuses a body that is no coroutine, with a sentence.
template <class F>
  requires(!core::scope_body<F>)
ROTA_DETAIL_WRAPPER task<void> with_scope(F /*body*/) {
  static_assert(detail::never<F>,
                "the body of with_scope takes a rota::scope& and returns a rota::task: [&](rota::scope& s) "
                "-> rota::task<> {...}");
  __builtin_unreachable();
}

}  // namespace rota
