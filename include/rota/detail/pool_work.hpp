// The typed part of a work: its function, arguments and result.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/pool_token.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/outcome.hpp>
#include <rota/pool/work_end.hpp>
#include <rota/pool/work_options.hpp>

namespace rota::pool::detail {

class pool_core;
class work_core;

/// Closures and results up to this size are stored inside of the work. Larger ones take an allocation of
/// their own.
inline constexpr std::size_t body_room = 128;

/// The operations of a type-erased body.
struct body_type {
  std::size_t bytes;
  const void* result;  // identifies the type of the result
  /// True if the function can be called more than once.
  bool repeatable;
  /// True if the destruction of the result runs no code of the user.
  bool is_quiet;
  /// Calls the function and keeps its result. `last`: the function will not be called again. Passes its
  /// exception on.
  void (*run)(void* body, work_core& self, bool last);
  /// For functions that return a task: calls the function, and makes the task. The end of that task is the
  /// end of the work. Null for other functions: run() does everything.
  task<void> (*begin)(void* body, work_core& self, bool last);
  void (*destroy_function)(void* body) noexcept;
  void (*destroy_result)(void* body) noexcept;
  void (*set_exception)(void* body, std::exception_ptr thrown) noexcept;
  std::exception_ptr (*exception)(const void* body) noexcept;
  const void* (*value)(const void* body) noexcept;  // returns null if there is no value
  void* (*outcome)(void* body) noexcept;
};

/// Converts to any token type for which token_of is defined.
struct any_token {
  work_core* work;
  template <class Token>
    requires requires(work_core& w) { token_of<Token>::make(w); }
  operator Token() const {
    return token_of<Token>::make(*work);
  }
};

template <class F>
concept callable = std::is_invocable_v<F> || std::is_invocable_v<F, any_token>;

template <class T>
struct result_of_call {
  using type = T;
  static constexpr bool is_task = false;
};
template <class T>
struct result_of_call<task<T>> {
  using type = T;
  static constexpr bool is_task = true;
};

template <std::size_t I, class T>
struct kept_argument {
  T value;
};
template <class Positions, class... Args>
struct kept_arguments;
/// Stores the arguments of a call, like a tuple.
template <std::size_t... I, class... Args>
struct kept_arguments<std::index_sequence<I...>, Args...> : kept_argument<I, Args>... {
  template <class... A>
  explicit kept_arguments(std::in_place_t /*tag*/, A&&... args)
      : kept_argument<I, Args>{static_cast<Args>(std::forward<A>(args))}... {}

  /// Calls `f(args...)` with the arguments as lvalues. call_moved() moves them.
  template <class F>
  ROTA_DETAIL_PASSES_ON decltype(auto) call(F&& f) {
    return std::forward<F>(f)(static_cast<kept_argument<I, Args>&>(*this).value...);
  }
  template <class F>
  ROTA_DETAIL_PASSES_ON decltype(auto) call_moved(F&& f) {
    return std::forward<F>(f)(std::move(static_cast<kept_argument<I, Args>&>(*this).value)...);
  }
};

template <class... T>
struct types {};

/// Calls `function(values...)`: for each type that is not void, with the value at the address
/// `get(position)`.
template <class F, class Get, class... V>
decltype(auto) call_with_results(
    F& function, types<> /*rest*/, Get /*get*/, std::size_t /*position*/, const V&... values) {
  return function(values...);
}
template <class F, class First, class... Rest, class Get, class... V>
decltype(auto) call_with_results(
    F& function, types<First, Rest...> /*rest*/, Get get, std::size_t position, const V&... values) {
  if constexpr (std::is_void_v<First>) {
    return call_with_results(function, types<Rest...>{}, get, position + 1, values...);
  } else {
    return call_with_results(
        function, types<Rest...>{}, get, position + 1, values..., *static_cast<const First*>(get(position)));
  }
}

/// A function, its arguments and its result.
template <class F, class... Args>
class call_body {
  static constexpr bool takes_token =
      !std::is_invocable_v<F, Args...> && std::is_invocable_v<F, Args..., any_token>;
  using returned = typename std::conditional_t<takes_token,
                                               std::invoke_result<F, Args..., any_token>,
                                               std::invoke_result<F, Args...>>::type;
  static constexpr bool by_lvalue =
      takes_token ? std::is_invocable_v<F&, Args&..., any_token> : std::is_invocable_v<F&, Args&...>;

 public:
  using result = typename result_of_call<std::remove_cvref_t<returned>>::type;
  static constexpr bool gives_task = result_of_call<std::remove_cvref_t<returned>>::is_task;
  using value_type = std::conditional_t<gives_task, result, returned>;

  template <class G, class... A>
  explicit call_body(G&& function, A&&... args)
      : work_{std::forward<G>(function), kept(std::in_place, std::forward<A>(args)...)} {}
  call_body(const call_body&) = delete;
  call_body& operator=(const call_body&) = delete;
  ~call_body() {}  // its parts are destroyed one by one

  static const body_type type;

 private:
  using kept = kept_arguments<std::index_sequence_for<Args...>, Args...>;
  struct callee {
    F function;
    kept args;
  };
  [[nodiscard]] static call_body& of(void* body) noexcept { return *static_cast<call_body*>(body); }

  template <class G, class... A>
  ROTA_DETAIL_PASSES_ON static decltype(auto) invoke(G&& function, work_core& self, A&&... args) {
    if constexpr (takes_token) {
      return std::forward<G>(function)(std::forward<A>(args)..., any_token{&self});
    } else {
      static_cast<void>(self);
      return std::forward<G>(function)(std::forward<A>(args)...);
    }
  }
  ROTA_DETAIL_PASSES_ON decltype(auto) call(work_core& self, bool last) {
    if constexpr (by_lvalue) {
      if (!last) {
        return work_.args.call([&] ROTA_DETAIL_PASSES_ON(auto&... args) -> decltype(auto) {
          return invoke(work_.function, self, args...);
        });
      }
    }
    return work_.args.call_moved([&] ROTA_DETAIL_PASSES_ON(auto&&... args) -> decltype(auto) {
      return invoke(std::move(work_.function), self, std::move(args)...);
    });
  }
  void run(work_core& self, bool last) {
    if constexpr (gives_task) {
      static_cast<void>(self), static_cast<void>(last);
    } else if constexpr (std::is_void_v<value_type>) {
      call(self, last);
      end_.emplace();
    } else {
      end_.emplace(call(self, last));
    }
  }
  /// A member function, so that the coroutine frame has this type.
  task<void> drive(task<result> inner) {
    try {
      if constexpr (std::is_void_v<result>) {
        co_await std::move(inner);
        end_.emplace();
      } else {
        end_.emplace(co_await std::move(inner));
      }
    } catch (...) {
      end_.set_exception(std::current_exception());
    }
  }

  union {
    callee work_;
  };
  outcome<value_type> end_;
};

template <class F, class... Args>
inline constexpr body_type call_body<F, Args...>::type{
    .bytes = sizeof(call_body),
    .result = &type_tag<std::remove_cv_t<value_type>>,
    .repeatable = by_lvalue,
    .is_quiet = std::is_void_v<value_type> || std::is_trivially_destructible_v<value_type>,
    .run = [](void* body, work_core& self, bool last) { of(body).run(self, last); },
    .begin = [] -> task<void> (*)(void*, work_core&, bool) {
      if constexpr (gives_task) {
        return [] ROTA_DETAIL_WRAPPER(void* body, work_core& self, bool last) {
          return of(body).drive(of(body).call(self, last));
        };
      } else {
        return nullptr;
      }
    }(),
    .destroy_function = [](void* body) noexcept { of(body).work_.~callee(); },
    .destroy_result = [](void* body) noexcept { of(body).end_.~outcome<value_type>(); },
    .set_exception =
        [](void* body, std::exception_ptr thrown) noexcept {
          of(body).end_.set_exception(std::move(thrown));
        },
    .exception =
        [](const void* body) noexcept { return static_cast<const call_body*>(body)->end_.exception(); },
    .value = [](const void* body) noexcept -> const void* {
      const outcome<value_type>& end = static_cast<const call_body*>(body)->end_;
      if (!end.has_value()) return nullptr;
      if constexpr (std::is_void_v<value_type>) {
        return &end;
      } else {
        return &end.value();
      }
    },
    .outcome = [](void* body) noexcept -> void* { return &of(body).end_; },
};

/// A callable that returns a task that was made before.
template <class T>
class given_task {
 public:
  explicit given_task(task<T> work) noexcept : work_(std::move(work)) {}
  given_task(given_task&&) noexcept = default;
  given_task& operator=(given_task&&) noexcept = default;
  given_task(const given_task&) = delete;
  given_task& operator=(const given_task&) = delete;
  ~given_task() = default;
  ROTA_DETAIL_WRAPPER task<T> operator()() && { return std::move(work_); }

 private:
  task<T> work_;
};

}  // namespace rota::pool::detail
