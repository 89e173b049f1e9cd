// Spawning a coroutine on a scheduler.
#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include <rota/join_handle.hpp>

namespace rota::core {

struct scheduler;

/// Starts `root` on `by`. `site`: where the program spawned the task, for reports; line 0: not known.
[[nodiscard]] ROTA_API header& launch(promise_base& root,
                                      scheduler& by,
                                      const result_vtable& type,
                                      std::source_location site) noexcept;

template <class T>
[[nodiscard]] join_handle<T> spawn_on(scheduler& by, task<T> work, std::source_location site = {}) {
  return join_handle<T>(launch(*work.release(), by, result_vtable_of<T>, site));
}

/// Starts a task of the library on a runtime. The caller holds the handle.
template <class Runtime>
struct spawner_of {
  [[nodiscard]] static header& start(Runtime& on, task<void> work) {
    if constexpr (requires { on.scheduler(); }) {
      return launch(*work.release(), on.scheduler(), result_vtable_of<void>, {});
    } else {
      return on.launch(*work.release(), result_vtable_of<void>, {});
    }
  }
};

/// Keeps a callable and its arguments in a frame of their own, for callables with state.
template <class T, class F, class... Args>
task<T> invoke_task(F function, Args... arguments) {
  auto work = std::move(function)(std::move(arguments)...);
  co_return co_await std::move(work);
}

template <class F, class... Args>
using task_result = typename std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>::value_type;

template <class F, class... Args>
concept makes_task =
    is_task<std::remove_cvref_t<std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>>>;

/// True if a parameter of type P that is made from an argument of type A needs nothing of the argument
/// afterwards. A type that refers to what it was made from, such as a view, always differs from A; numbers
/// and pointers refer to no argument.
template <class P, class A>
inline constexpr bool stands_alone =
    std::is_same_v<std::remove_cv_t<P>, A> ||
    (std::is_arithmetic_v<P> && (std::is_arithmetic_v<A> || std::is_enum_v<A>)) ||
    std::conjunction_v<std::is_pointer<P>,
                       // With std::conjunction_v, because && of two equal types would be a redundant operand.
                       std::is_pointer<A>>;

/// True if a coroutine of this signature keeps in its frame all that it needs of such arguments. False if
/// this is unknown, as for a generic lambda or for arguments that are left out.
template <class Signature, class... A>
inline constexpr bool keeps_all = false;
template <class R, class... P, class... A>
  requires(sizeof...(P) == sizeof...(A))
inline constexpr bool keeps_all<R (*)(P...), A...> = (stands_alone<P, A> && ...);
template <class R, class... P, class... A>
inline constexpr bool keeps_all<R (*)(P...) noexcept, A...> = keeps_all<R (*)(P...), A...>;
template <class R, class C, class... P, class... A>
inline constexpr bool keeps_all<R (C::*)(P...), A...> = keeps_all<R (*)(P...), A...>;
template <class R, class C, class... P, class... A>
inline constexpr bool keeps_all<R (C::*)(P...) noexcept, A...> = keeps_all<R (*)(P...), A...>;
template <class R, class C, class... P, class... A>
inline constexpr bool keeps_all<R (C::*)(P...) const, A...> = keeps_all<R (*)(P...), A...>;
template <class R, class C, class... P, class... A>
inline constexpr bool keeps_all<R (C::*)(P...) const noexcept, A...> = keeps_all<R (*)(P...), A...>;

/// Returns true if the callable's coroutine keeps everything that it needs in its own frame. `A`: the
/// argument types as passed to it.
template <class F, class... A>
[[nodiscard]] consteval bool needs_no_keeper() noexcept {
  if constexpr (std::is_pointer_v<F>) {
    return keeps_all<F, A...>;
  } else if constexpr (!std::is_empty_v<F>) {
    return false;
  } else if constexpr (requires { &F::operator(); }) {
    return keeps_all<decltype(&F::operator()), A...>;
  } else {
    return sizeof...(A) == 0;
  }
}

/// Makes a task from a callable that returns one. A callable without state needs no frame of its own if it
/// takes its parameters by value and in their own types: the coroutine keeps the arguments itself.
template <class F, class... Args>
  requires makes_task<F, Args...>
ROTA_DETAIL_WRAPPER task<task_result<F, Args...>> make_task(F&& function, Args&&... arguments) {
  using callable = std::decay_t<F>;
  if constexpr (needs_no_keeper<callable, std::decay_t<Args>...>()) {
    return std::forward<F>(function)(std::decay_t<Args>(std::forward<Args>(arguments))...);
  } else {
    return invoke_task<task_result<F, Args...>, callable, std::decay_t<Args>...>(
        std::forward<F>(function), std::forward<Args>(arguments)...);
  }
}

/// Makes a task of a plain call, for threads that may block.
template <class F, class... Args>
task<std::invoke_result_t<F, Args...>> call_task(F function, Args... arguments) {
  co_return std::move(function)(std::move(arguments)...);
}

template <class F, class... Args>
concept callable_with = std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>;

template <class F, class... Args>
[[nodiscard]] auto make_blocking(F&& function, Args&&... arguments) {
  using result = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;
  static_assert(!is_task<std::remove_cvref_t<result>>,
                "spawn_blocking calls a plain function: use spawn for a coroutine");
  return call_task<std::decay_t<F>, std::decay_t<Args>...>(std::forward<F>(function),
                                                           std::forward<Args>(arguments)...);
}

}  // namespace rota::core
