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

/// How children are spawned into a nursery.
class spawner : public nursery {
 public:
  /// Starts a child. The handle may be dropped.
  template <class T>
  join_handle<T> spawn(task<T> work ROTA_DETAIL_STARTED,
                       std::source_location site = std::source_location::current()) {
    return join_handle<T>(launch(*work.release(), result_vtable_of<T>, site));
  }
  /// `function(args...)` returns a task; both live in the child.
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
  /// Reports do not know the spawn site of a task of so many arguments.
  template <class F, class... Args>
    requires(makes_task<F, Args...> && sizeof...(Args) > 2)
  auto spawn(F&& function, Args&&... args) {
    return spawn(make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
  }
  /// A child whose end alone is of interest. `fork([t]() -> task<> {...})` is right: the lambda lives in the child;
  /// `fork([t]() -> task<> {...}())` reads a lambda that is gone.
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

/// The children of one with_scope; see there.
class ROTA_API scope final : public core::spawner {
 public:
  /// with_scope makes them.
  explicit scope(core::promise_base& frame) noexcept : spawner(frame), region_(children(), frame) {}
  ~scope() = default;

  /// Asks all children to stop. The body goes on; a child that stops because of this is no failure. What is spawned
  /// afterwards is cancelled at once. Any thread.
  void cancel() noexcept { spawner::cancel(cancel_reason::user); }

  /// The body is over. `thrown`: with this.
  void leave_body(std::exception_ptr thrown) noexcept;
  [[nodiscard]] core::brood_leaf all_ended() noexcept { return core::brood_leaf(children()); }
  /// The first failure, if there was one.
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
/// The result is the body's. Children may use whatever outlives the with_scope, and what is local to the body as long as
/// the body waits for them before that goes: a body that has returned, or thrown, has no locals any more.
///
/// For servers: a child's exception cancels the others; catch in the child.
///
/// Threads       `spawn`, `fork`, `cancel` and `size` may be called by any thread that the scope cannot end before: the
///               body, its children, and theirs.
/// Ownership     A handle may be kept, awaited or dropped; the scope waits for the child in any case.
/// Ordering      What the caller of `spawn` did before happens before the child's first line; the child's last line, and
///               the end of its locals and of a result that nobody holds, happen before the with_scope ends.
/// Failure       The first child that throws, or that is cancelled otherwise than by its scope, is a failure of the scope,
///               and so is an exception of the body: the other children are cancelled (`sibling_failed`), the body is
///               unwound at its next suspension, and when all have ended the exception is rethrown, or `cancelled_error`
///               is thrown. Later exceptions are only counted. What somebody takes out of a child's handle, by awaiting it
///               or by `result()`, is no failure of the scope; it is one as soon as the handle is dropped instead. So to
///               stop a single child without harm: cancel it and await its `result()`.
///               If the task around it is cancelled, or a deadline around it passes, the children are cancelled at once,
///               with that reason; when they have ended, the body is unwound, and the unwinding goes on.
///               `spawn` throws `std::bad_alloc`, and then nothing was started, and `errc::no_runtime` where the task has
///               no runtime. Children inherit the deadline of the place of the with_scope. A scope that is being cancelled takes no more: the handle is cancelled already, the task has
///               not run, its arguments are destroyed.
/// Cost          Two frames: its own and the body's. A child: as rota::spawn, and two short critical sections.
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

/// What is no coroutine is refused with a sentence.
template <class F>
  requires(!core::scope_body<F>)
ROTA_DETAIL_WRAPPER task<void> with_scope(F /*body*/) {
  static_assert(detail::never<F>,
                "the body of with_scope takes a rota::scope& and returns a rota::task: [&](rota::scope& s) "
                "-> rota::task<> {...}");
  __builtin_unreachable();
}

}  // namespace rota
