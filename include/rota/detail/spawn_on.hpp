// Spawning a coroutine on a scheduler.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <rota/join_handle.hpp>

namespace rota::core {

struct scheduler;

[[nodiscard]] ROTA_API header& launch(promise_base& root, scheduler& by, const result_vtable& type) noexcept;

template <class T>
[[nodiscard]] join_handle<T> spawn_on(scheduler& by, task<T> work) {
  return join_handle<T>(launch(*work.release(), by, result_vtable_of<T>));
}

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

/// Does a coroutine of this signature copy all its parameters into its frame? Unknown, as for a generic lambda: no.
template <class Signature>
inline constexpr bool takes_values = false;
template <class R, class... P>
inline constexpr bool takes_values<R (*)(P...)> = (!std::is_reference_v<P> && ...);
template <class R, class... P>
inline constexpr bool takes_values<R (*)(P...) noexcept> = takes_values<R (*)(P...)>;
template <class R, class C, class... P>
inline constexpr bool takes_values<R (C::*)(P...)> = takes_values<R (*)(P...)>;
template <class R, class C, class... P>
inline constexpr bool takes_values<R (C::*)(P...) noexcept> = takes_values<R (*)(P...)>;
template <class R, class C, class... P>
inline constexpr bool takes_values<R (C::*)(P...) const> = takes_values<R (*)(P...)>;
template <class R, class C, class... P>
inline constexpr bool takes_values<R (C::*)(P...) const noexcept> = takes_values<R (*)(P...)>;

/// Its coroutine keeps everything that it needs in its own frame.
template <class F, std::size_t Arguments>
[[nodiscard]] consteval bool needs_no_keeper() noexcept {
  if constexpr (std::is_pointer_v<F>) {
    return takes_values<F>;
  } else if constexpr (!std::is_empty_v<F>) {
    return false;
  } else if constexpr (requires { &F::operator(); }) {
    return takes_values<decltype(&F::operator())>;
  } else {
    return Arguments == 0;
  }
}

/// A task from a callable that returns one. A callable without state that takes its parameters by value costs no frame of
/// its own: the coroutine keeps the arguments itself.
template <class F, class... Args>
  requires makes_task<F, Args...>
[[nodiscard]] task<task_result<F, Args...>> make_task(F&& function, Args&&... arguments) {
  using callable = std::decay_t<F>;
  if constexpr (needs_no_keeper<callable, sizeof...(Args)>()) {
    return std::forward<F>(function)(std::decay_t<Args>(std::forward<Args>(arguments))...);
  } else {
    return invoke_task<task_result<F, Args...>, callable, std::decay_t<Args>...>(
        std::forward<F>(function), std::forward<Args>(arguments)...);
  }
}

/// A plain call as a task, for threads that may block.
template <class F, class... Args>
task<std::invoke_result_t<F, Args...>> call_task(F function, Args... arguments) {
  co_return std::move(function)(std::move(arguments)...);
}

template <class F, class... Args>
[[nodiscard]] auto make_blocking(F&& function, Args&&... arguments) {
  return call_task<std::decay_t<F>, std::decay_t<Args>...>(std::forward<F>(function),
                                                           std::forward<Args>(arguments)...);
}

}  // namespace rota::core
