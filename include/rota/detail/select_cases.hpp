// The cases of a select: which types may be cases, and how they are stored.
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <rota/channel/selected.hpp>
#include <rota/detail/awaited.hpp>
#include <rota/detail/select_core.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/time.hpp>

namespace rota::channel::detail {

template <class L>
concept leaf_that_may_lose = std::is_base_of_v<leaf, L> && requires { requires L::may_lose; };
template <class L>
concept leaf_that_stays = std::is_base_of_v<leaf, L> && requires { requires !L::may_lose; };

/// Refers to the leaf of a case: the leaf itself, or the leaf that a handle gives.
template <class A>
class held_leaf {
  static_assert(!core::is_task<std::remove_cvref_t<A>>,
                "a task is no case of a select: spawn it and name its handle, or see when_any");
  static_assert(!leaf_that_stays<std::remove_cvref_t<A>>,
                "no case of a select: what happens here cannot be given back if another case wins, as an "
                "arrival at a barrier; await it with a limit, or in a task whose handle is the case");
  static_assert(core::is_task<std::remove_cvref_t<A>> || leaf_that_stays<std::remove_cvref_t<A>>,
                "no case of a select: it needs a leaf that may lose, as recv(), send(), lock(), wait() and "
                "sleep_for(); a limit is a case of its own, sleep_for()");
};

template <class A>
  requires leaf_that_may_lose<std::remove_cvref_t<A>>
class held_leaf<A> {
 public:
  using type = std::remove_reference_t<A>;
  explicit held_leaf(type& it) noexcept : it_(&it) {}
  [[nodiscard]] type& get() noexcept { return *it_; }

 private:
  type* it_;
};

template <class A>
  requires core::gives_awaiter<std::remove_reference_t<A>&>
class held_leaf<A> {
  static_assert(std::is_lvalue_reference_v<A>,
                "the handle of a select's case must have a name: its task goes on if another case wins");

 public:
  using type = decltype(std::declval<std::remove_reference_t<A>&>().operator co_await());
  static_assert(leaf_that_may_lose<type>,
                "no case of a select: what it awaits must be stopped and waited for");
  explicit held_leaf(std::remove_reference_t<A>& handle) : awaiter_(handle.operator co_await()) {}
  [[nodiscard]] type& get() noexcept { return awaiter_; }

 private:
  type awaiter_;
};

/// The argument of a select: refers to a leaf or a handle, and to a handler if F is not void.
template <class A, class F>
class select_case {
 public:
  using awaited = A;
  using handler = F;
  using referred = std::remove_reference_t<A>;

  constexpr select_case(referred& one, F* f, bool enabled) noexcept : one_(&one), f_(f), enabled_(enabled) {}

  [[nodiscard]] constexpr select_case only_if(bool condition) const noexcept {
    return {*one_, f_, enabled_ && condition};
  }
  template <class G>
  [[nodiscard]] constexpr select_case<A, G> with(G& g) const noexcept {
    return {*one_, &g, enabled_};
  }
  [[nodiscard]] constexpr referred& one() const noexcept { return *one_; }
  [[nodiscard]] constexpr F* f() const noexcept { return f_; }
  [[nodiscard]] constexpr bool is_enabled() const noexcept { return enabled_; }

 private:
  referred* one_;
  F* f_;
  bool enabled_;
};

template <class A>
inline constexpr bool is_case = false;
template <class A, class F>
inline constexpr bool is_case<select_case<A, F>> = true;

/// `A`: the type that a forwarding reference was deduced as.
template <class A>
[[nodiscard]] constexpr auto as_case(std::remove_reference_t<A>& one) noexcept {
  if constexpr (is_case<std::remove_cvref_t<A>>) {
    return std::remove_cvref_t<A>(one);
  } else {
    return select_case<A, void>(one, nullptr, true);
  }
}
template <class A>
using case_for = decltype(as_case<A>(std::declval<std::remove_reference_t<A>&>()));

/// A case, as a select stores it.
template <class C>
class kept_case {
  using held = held_leaf<typename C::awaited>;
  using handler = typename C::handler;

 public:
  using leaf_type = typename held::type;
  using value = decltype(std::declval<leaf_type&>().await_resume());

  explicit kept_case(C c) : held_(c.one()), f_(c.f()), enabled_(c.is_enabled()) {}
  kept_case(const kept_case&) = delete;
  kept_case& operator=(const kept_case&) = delete;
  ~kept_case() = default;

  /// Returns the leaf; null if the case is not enabled.
  [[nodiscard]] leaf_type* waits() noexcept { return enabled_ ? &held_.get() : nullptr; }
  /// For a thread, which does not start the leaf. Throws what a start would.
  void prepare() {
    if constexpr (requires(leaf_type& one) { one.prepare(); }) {
      if (enabled_) held_.get().prepare();
    }
  }
  /// Returns the value of the winner, or the result of its handler for that value.
  decltype(auto) finish() {
    if constexpr (std::is_void_v<handler>) {
      return held_.get().await_resume();
    } else if constexpr (std::is_void_v<value>) {
      static_assert(std::is_invocable_v<handler&>, "this case has no value: its handler takes nothing");
      held_.get().await_resume();
      return (*f_)();
    } else {
      static_assert(std::is_invocable_v<handler&, value>, "the handler does not take what its case yields");
      return (*f_)(held_.get().await_resume());
    }
  }

 private:
  held held_;
  handler* f_;
  bool enabled_;
};

template <std::size_t I, class C>
struct nth_case : kept_case<C> {
  using kept_case<C>::kept_case;
};

/// The common type of all handlers' results.
template <class... T>
struct common {
  static_assert((!std::is_void_v<T> && ...), "either every handler of a select returns something, or none");
  using type = std::common_type_t<T...>;
};
template <class... T>
  requires(std::is_void_v<T> && ...)
struct common<T...> {
  using type = void;
};

template <class Positions, class... C>
class all_cases;
template <std::size_t... I, class... C>
class all_cases<std::index_sequence<I...>, C...> : nth_case<I, C>... {
  static_assert(sizeof...(C) <= select_core::most_cases, "a select has at most 64 cases");
  static constexpr bool handled = (!std::is_void_v<typename C::handler> && ...);
  static_assert(handled || (std::is_void_v<typename C::handler> && ...),
                "either every case of a select has a handler, or none");
  template <class T>
  struct plain {
    using type = T;
  };

 public:
  using result = typename std::conditional_t<
      handled,
      common<std::remove_cvref_t<decltype(std::declval<kept_case<C>&>().finish())>...>,
      plain<selected<decltype(std::declval<kept_case<C>&>().finish())...>>>::type;

  explicit all_cases(C... c) : nth_case<I, C>(c)... {}

  template <class Take>
  void for_each(Take take) {
    (take(I, static_cast<nth_case<I, C>&>(*this).waits()), ...);
  }
  void prepare() { (static_cast<nth_case<I, C>&>(*this).prepare(), ...); }
  result finish(std::size_t winner) { return finish_from<0>(winner); }

 private:
  template <std::size_t N>
  result finish_from(std::size_t winner) {
    if constexpr (N + 1 < sizeof...(C)) {
      if (winner != N) return finish_from<N + 1>(winner);
    }
    auto& won = static_cast<nth_case<N, type_at<N, C...>>&>(*this);
    if constexpr (handled) {
      return won.finish();
    } else {
      const auto take = [&won]() -> decltype(auto) { return won.finish(); };
      return result(std::in_place_index<N>, take);
    }
  }
};
template <class... C>
using cases_of = all_cases<std::index_sequence_for<C...>, C...>;

/// The awaitable of select().
template <class... C>
class ROTA_DETAIL_AWAIT_IT select_leaf final : private cases_of<C...>, public select_core {
 public:
  explicit select_leaf(order_of_cases order, C... cases)
      : cases_of<C...>(cases...), select_core(leaves_, order) {
    this->for_each([this](std::size_t i, leaf* one) { leaves_[i] = one; });
  }
  select_leaf(const select_leaf&) = delete;
  select_leaf& operator=(const select_leaf&) = delete;
  ~select_leaf() = default;

  typename cases_of<C...>::result await_resume() { return this->finish(winner()); }

 private:
  std::array<leaf*, sizeof...(C)> leaves_;
};

/// The same for a thread.
template <class... C>
class thread_select : private cases_of<C...> {
  static_assert((std::is_base_of_v<core::wait_leaf, typename kept_case<C>::leaf_type> && ...),
                "a thread can wait for channels and for what is in rota/sync, with a limit by "
                "blocking_select_for; for all others co_await select() in a task");
  using result = typename cases_of<C...>::result;

 public:
  explicit thread_select(C... c) : cases_of<C...>(c...) {
    bool any = false;
    this->for_each([this, &any](std::size_t i, core::wait_leaf* one) {
      any = any || one != nullptr;
      if (one != nullptr) waits_[i] = {&core::wait_of_thread(*one).at(), &core::wait_of_thread(*one).me()};
    });
    demand_a_case(any);
    this->prepare();
  }
  thread_select(const thread_select&) = delete;
  thread_select& operator=(const thread_select&) = delete;
  ~thread_select() = default;

  [[nodiscard]] std::optional<typename keep<result>::type> try_now() {
    const std::size_t winner = core::try_any(waits_, core::draw_of_thread());
    if (winner == core::no_case) return std::nullopt;
    if constexpr (std::is_void_v<result>) {
      this->finish(winner);
      return no_value();
    } else {
      return std::optional<result>(this->finish(winner));
    }
  }
  result block() {
    return this->finish(
        core::block_any(waits_, core::draw_of_thread(), std::chrono::steady_clock::time_point::max()));
  }
  std::expected<result, timed_out> block_until(std::chrono::steady_clock::time_point deadline) {
    const std::size_t winner = core::block_any(waits_, core::draw_of_thread(), deadline);
    if (winner == core::no_case) return std::unexpected(timed_out{});
    if constexpr (std::is_void_v<result>) {
      this->finish(winner);
      return {};
    } else {
      return std::expected<result, timed_out>(std::in_place, this->finish(winner));
    }
  }

 private:
  std::array<core::wait_case, sizeof...(C)> waits_{};
};

}  // namespace rota::channel::detail
