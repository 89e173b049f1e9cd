// How an awaitable keeps another one inside.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include <rota/task.hpp>

namespace rota::core {

/// Awaits what a task may await. A is the type that a forwarding reference to it was deduced as. Tasks are
/// kept. Any other awaitable must live until the co_await is done, as temporaries in its expression do.
template <class A>
class awaited {
  static_assert(!is_task<std::remove_cvref_t<A>>, "a task is awaited once: std::move(it)");
  static_assert(bindable<std::remove_reference_t<A>> || gives_awaiter<A>,
                "rota tasks await rota's awaitables, or a class derived from rota::leaf");
};

template <class T>
class awaited<task<T>> {
 public:
  explicit awaited(task<T>&& work) noexcept : work_(std::move(work)) {}

  static void bind(activation& /*task*/) noexcept {}
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> frame) noexcept {
    return std::move(work_).operator co_await().await_suspend(frame);
  }
  T await_resume() { return std::move(work_).operator co_await().await_resume(); }
  static void abandon() noexcept {}

 private:
  task<T> work_;
};

template <class A>
  requires bindable<std::remove_reference_t<A>>
class awaited<A> {
 public:
  explicit awaited(A&& inner) noexcept : inner_(&inner) {}

  void bind(activation& task) noexcept { inner_->bind(task); }
  bool await_ready() { return inner_->await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> frame) {
    return inner_->await_suspend(frame);
  }
  decltype(auto) await_resume() { return inner_->await_resume(); }
  /// Returns true if the operation was late but is done: its effect cannot be passed on.
  [[nodiscard]] bool has_passed() noexcept
    requires requires(std::remove_reference_t<A>& a) { a.has_passed(); }
  {
    return inner_->has_passed();
  }
  /// Called if it was cancelled: its result will not be asked for.
  void abandon() noexcept {
    if constexpr (requires { inner_->abandon(); }) inner_->abandon();
  }

 private:
  std::remove_reference_t<A>* inner_;
};

template <class A>
  requires(!bindable<std::remove_reference_t<A>> && !is_task<std::remove_cvref_t<A>> && gives_awaiter<A>)
class awaited<A> {
 public:
  explicit awaited(A&& inner) noexcept : awaiter_(std::forward<A>(inner).operator co_await()) {}

  void bind(activation& task) noexcept { awaiter_.bind(task); }
  bool await_ready() { return awaiter_.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> frame) {
    return awaiter_.await_suspend(frame);
  }
  decltype(auto) await_resume() { return awaiter_.await_resume(); }
  void abandon() noexcept {
    if constexpr (requires { awaiter_.abandon(); }) awaiter_.abandon();
  }

 private:
  decltype(std::declval<A>().operator co_await()) awaiter_;
};

/// The type that awaiting an A yields.
template <class A>
using await_result = decltype(std::declval<awaited<A>&>().await_resume());

}  // namespace rota::core
