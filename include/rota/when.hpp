// Waits for several awaitables at once: for all of them, or for the first.
//
// Threads       Any task of a runtime. The children run concurrently, on any worker. The children of when_all
//               and when_all_settled that no other worker has taken run one after the other in their parent's
//               place. Such a child becomes a task of its own when it has to be one: when it awaits anything
//               except a task or another when_all, or uses what only a task has (its id, a local, a stop
//               token). A child that computes for long delays only the children that no free worker takes.
// Ownership     Tasks, and handles that are given as temporaries, are kept. Everything else is referred to: a
//               named handle, or a leaf such as sleep_for(1s). It must live until the co_await is done,
//               together with the temporaries of its expression. All children have ended when the co_await
//               returns, however it returns.
// Ordering      Children start in the order of the arguments, if one thread runs them. A child's last line
//               happens before the when_* returns.
// Failure       An awaiting task that is cancelled cancels the children, waits for their ends, and unwinds. A
//               handle that is awaited here and cancelled has its task cancelled, as by awaiting it.
//               Exceptions that are not thrown, because another child decided, are counted. A task that
//               computes notices a cancellation at its next fork, or at the end of a child that runs in its
//               place. The children that other workers have begun are cancelled then, too. Throws
//               `std::bad_alloc`, and `errc::no_runtime` outside of a runtime; nothing was started then.
//               Awaited a second time it throws `errc::already_joined`.
// Cost          A child that runs in its parent's place: its frame, and no atomic read-modify-write
//               (src/task/README.md has the instructions). Any other child: as rota::spawn. All children are
//               of the second kind in block_on's own task, in a scope's body, under a shield or a deadline of
//               the parent's own, and in when_any. Nothing else is allocated, except for the lists of the
//               forms for ranges.
// Example       examples/when.cpp
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/detail/when_children.hpp>

namespace rota {

/// The result of a when_any: the index of the argument that came first, counted from 0, and its value.
/// `std::monostate` stands for void.
template <class... T>
class any_result {
  static_assert((!std::is_reference_v<T> && ...),
                "when_any cannot yield a reference: let the task return a pointer");
  using values = std::variant<core::value_or_monostate<T>...>;

 public:
  template <std::size_t I, class V>
  explicit any_result(std::in_place_index_t<I> position, V&& value)
      : value_(position, std::forward<V>(value)) {}

  [[nodiscard]] std::size_t index() const noexcept { return value_.index(); }

  /// The value of argument I; throws `std::bad_variant_access` if another one came first.
  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() & {
    return std::get<I>(value_);
  }
  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() const& {
    return std::get<I>(value_);
  }
  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() && {
    return std::get<I>(std::move(value_));
  }

  /// Calls `f` with the value. `f` must accept each possible type of the value, and return the same type for
  /// all.
  template <class F>
  decltype(auto) visit(F&& f) & {
    return std::visit(std::forward<F>(f), value_);
  }
  template <class F>
  decltype(auto) visit(F&& f) const& {
    return std::visit(std::forward<F>(f), value_);
  }
  template <class F>
  decltype(auto) visit(F&& f) && {
    return std::visit(std::forward<F>(f), std::move(value_));
  }

 private:
  values value_;
};

/// The result of a when_any of a range: the index of the element that came first, and its value.
template <class T>
class any_element {
 public:
  any_element(std::size_t position, core::value_or_monostate<T> value)
      : index_(position), value_(std::move(value)) {}

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] core::value_or_monostate<T>& value() & noexcept { return value_; }
  [[nodiscard]] const core::value_or_monostate<T>& value() const& noexcept { return value_; }
  [[nodiscard]] core::value_or_monostate<T> value() && { return std::move(value_); }

 private:
  std::size_t index_;
  core::value_or_monostate<T> value_;
};

namespace core {

template <class... T>
class ROTA_DETAIL_AWAIT_IT all_leaf final : public fixed_group<T...> {
 public:
  [[gnu::always_inline]] explicit all_leaf(rota::task<T>... children) noexcept
      : fixed_group<T...>(group_rule::all, std::move(children)...) {}
  all_leaf(const all_leaf&) = delete;
  all_leaf& operator=(const all_leaf&) = delete;
  ~all_leaf() {
    if (this->has_members()) this->let_go();
  }

  [[gnu::always_inline]] std::tuple<value_or_monostate<T>...> await_resume() {
    if (this->is_plain()) [[likely]]
      return collect_plain(std::index_sequence_for<T...>());
    this->rethrow_failure();
    return collect(std::index_sequence_for<T...>());
  }

 private:
  template <std::size_t... I>
  std::tuple<value_or_monostate<T>...> collect(std::index_sequence<I...> /*positions*/) {
    return std::tuple<value_or_monostate<T>...>{take_value<T>(this->at(I))...};
  }
  template <std::size_t... I>
  [[gnu::always_inline]] std::tuple<value_or_monostate<T>...> collect_plain(
      std::index_sequence<I...> /*positions*/) {
    const freed_at_last<all_leaf> members(*this);
    return std::tuple<value_or_monostate<T>...>{take_plain_value<T>(this->at(I))...};
  }
  friend freed_at_last<all_leaf>;
};

template <class... T>
class ROTA_DETAIL_AWAIT_IT settled_leaf final : public fixed_group<T...> {
 public:
  explicit settled_leaf(rota::task<T>... children) noexcept
      : fixed_group<T...>(group_rule::settled, std::move(children)...) {}
  settled_leaf(const settled_leaf&) = delete;
  settled_leaf& operator=(const settled_leaf&) = delete;
  ~settled_leaf() {
    if (this->has_members()) this->let_go();
  }

  std::tuple<outcome<T>...> await_resume() { return collect(std::index_sequence_for<T...>()); }

 private:
  template <std::size_t... I>
  std::tuple<outcome<T>...> collect(std::index_sequence<I...> /*positions*/) {
    return std::tuple<outcome<T>...>{take_end<T>(this->at(I))...};
  }
};

template <class... T>
class ROTA_DETAIL_AWAIT_IT any_leaf final : public fixed_group<T...> {
 public:
  explicit any_leaf(group_rule rule, rota::task<T>... children) noexcept
      : fixed_group<T...>(rule, std::move(children)...) {}
  any_leaf(const any_leaf&) = delete;
  any_leaf& operator=(const any_leaf&) = delete;
  ~any_leaf() {
    if (this->has_members()) this->let_go();
  }

  // The children race: each is a task from the start.
  using fork_group::await_suspend;

  any_result<T...> await_resume() {
    this->rethrow_failure();
    return take<0>(this->decider());
  }

 private:
  template <std::size_t I>
  any_result<T...> take(std::size_t position) {
    if constexpr (I + 1 < sizeof...(T)) {
      if (position != I) return take<I + 1>(position);
    }
    using chosen = std::tuple_element_t<I, std::tuple<std::type_identity<T>...>>;
    return any_result<T...>(std::in_place_index<I>, take_value<typename chosen::type>(this->at(I)));
  }
};

template <class Container>
class ROTA_DETAIL_AWAIT_IT all_of_range_leaf final : public range_group<Container> {
  using typename range_group<Container>::value_type;
  using value = value_or_monostate<value_type>;
  static_assert(!std::is_reference_v<value_type>,
                "a vector cannot hold references: let the tasks return pointers");

 public:
  explicit all_of_range_leaf(Container&& children)
      : range_group<Container>(group_rule::all, std::move(children)) {}
  all_of_range_leaf(const all_of_range_leaf&) = delete;
  all_of_range_leaf& operator=(const all_of_range_leaf&) = delete;
  ~all_of_range_leaf() {
    if (this->has_members()) this->let_go();
  }

  typename shape<Container, value>::type await_resume() {
    if (this->is_plain()) [[likely]]
      return this->template take_plain<value>();
    this->rethrow_failure();
    return this->template each_of<value>([](promise_base& each) { return take_value<value_type>(each); });
  }
};

template <class Container>
class ROTA_DETAIL_AWAIT_IT settled_range_leaf final : public range_group<Container> {
  using typename range_group<Container>::value_type;

 public:
  explicit settled_range_leaf(Container&& children)
      : range_group<Container>(group_rule::settled, std::move(children)) {}
  settled_range_leaf(const settled_range_leaf&) = delete;
  settled_range_leaf& operator=(const settled_range_leaf&) = delete;
  ~settled_range_leaf() {
    if (this->has_members()) this->let_go();
  }

  typename shape<Container, outcome<value_type>>::type await_resume() {
    return this->template each_of<outcome<value_type>>(
        [](promise_base& each) { return take_end<value_type>(each); });
  }
};

template <class Container>
class ROTA_DETAIL_AWAIT_IT any_of_range_leaf final : public range_group<Container> {
  using typename range_group<Container>::value_type;
  static_assert(!std::is_reference_v<value_type>,
                "when_any cannot yield a reference: let the tasks return pointers");

 public:
  any_of_range_leaf(group_rule rule, Container&& children)
      : range_group<Container>(rule, std::move(children)) {
    if (this->members().empty()) throw_nothing_to_wait_for();
  }
  any_of_range_leaf(const any_of_range_leaf&) = delete;
  any_of_range_leaf& operator=(const any_of_range_leaf&) = delete;
  ~any_of_range_leaf() {
    if (this->has_members()) this->let_go();
  }

  using fork_group::await_suspend;

  any_element<value_type> await_resume() {
    this->rethrow_failure();
    const std::size_t position = this->decider();
    return any_element<value_type>(position, take_value<value_type>(*this->members()[position]));
  }
};

}  // namespace core

/// Waits for all, and yields their values in the order of the arguments. The first failure, an exception or a
/// child's own cancellation, cancels the others (`sibling_failed`). When all have ended, the exception is
/// rethrown, or `cancelled_error` is thrown. Without arguments it yields an empty tuple, at once.
template <class... T>
  requires(sizeof...(T) > 0)
[[nodiscard, gnu::always_inline]] inline core::all_leaf<T...> when_all(task<T>... tasks) {
  (core::demand_work(tasks), ...);
  return core::all_leaf<T...>(std::move(tasks)...);
}
template <class... A>
  requires(core::child_argument<A> && ...)
core::all_leaf<core::child_result<A>...> when_all(A&&... awaitables) {
  return core::all_leaf<core::child_result<A>...>(core::as_child(std::forward<A>(awaitables))...);
}
/// The same for a range: of tasks, which must be given up (std::move), or of handles. Yields the values in a
/// std::vector, in the order of the range. For a `std::array` of tasks, or an `inplace_vector`, it yields
/// another such container, without an allocation.
template <class Range>
  requires core::child_range<Range>
core::all_of_range_leaf<core::children_kept<Range>> when_all(Range&& range) {
  return core::all_of_range_leaf<core::children_kept<Range>>(core::children_of(std::forward<Range>(range)));
}

/// Waits for all, however they end, and yields how each of them ended. Never throws for a child.
template <class... A>
  requires(core::child_argument<A> && ...)
core::settled_leaf<core::child_result<A>...> when_all_settled(A&&... awaitables) {
  return core::settled_leaf<core::child_result<A>...>(core::as_child(std::forward<A>(awaitables))...);
}
template <class Range>
  requires core::child_range<Range>
core::settled_range_leaf<core::children_kept<Range>> when_all_settled(Range&& range) {
  return core::settled_range_leaf<core::children_kept<Range>>(core::children_of(std::forward<Range>(range)));
}

/// The first child that ends decides: its value is the result, its exception is rethrown, or its own
/// cancellation becomes a `cancelled_error`. The others are cancelled (`sibling_failed`), and have ended
/// before this returns. If several end at once, the first to report counts.
template <class... A>
  requires(sizeof...(A) > 0 && (core::child_argument<A> && ...))
core::any_leaf<core::child_result<A>...> when_any(A&&... awaitables) {
  return core::any_leaf<core::child_result<A>...>(core::group_rule::any,
                                                  core::as_child(std::forward<A>(awaitables))...);
}
/// The same for a range, which must not be empty: throws `std::invalid_argument`.
template <class Range>
  requires core::child_range<Range>
core::any_of_range_leaf<core::children_kept<Range>> when_any(Range&& range) {
  return core::any_of_range_leaf<core::children_kept<Range>>(core::group_rule::any,
                                                             core::children_of(std::forward<Range>(range)));
}

/// The first value decides. If there is none, the first failure is rethrown when all have ended.
template <class... A>
  requires(sizeof...(A) > 0 && (core::child_argument<A> && ...))
core::any_leaf<core::child_result<A>...> when_any_success(A&&... awaitables) {
  return core::any_leaf<core::child_result<A>...>(core::group_rule::any_success,
                                                  core::as_child(std::forward<A>(awaitables))...);
}
template <class Range>
  requires core::child_range<Range>
core::any_of_range_leaf<core::children_kept<Range>> when_any_success(Range&& range) {
  return core::any_of_range_leaf<core::children_kept<Range>>(core::group_rule::any_success,
                                                             core::children_of(std::forward<Range>(range)));
}

// Refuses a range of tasks that is no temporary, with a sentence.
template <class Range>
  requires core::kept_tasks<Range>
core::all_leaf<> when_all(Range&& /*tasks*/) {
  static_assert(detail::never<Range>,
                "tasks are awaited once: give the range up, as in when_all(std::move(tasks))");
  __builtin_unreachable();
}
template <class Range>
  requires core::kept_tasks<Range>
core::all_leaf<> when_all_settled(Range&& /*tasks*/) {
  static_assert(detail::never<Range>,
                "tasks are awaited once: give the range up, as in when_all_settled(std::move(tasks))");
  __builtin_unreachable();
}
template <class Range>
  requires core::kept_tasks<Range>
core::all_leaf<> when_any(Range&& /*tasks*/) {
  static_assert(detail::never<Range>,
                "tasks are awaited once: give the range up, as in when_any(std::move(tasks))");
  __builtin_unreachable();
}
template <class Range>
  requires core::kept_tasks<Range>
core::all_leaf<> when_any_success(Range&& /*tasks*/) {
  static_assert(detail::never<Range>,
                "tasks are awaited once: give the range up, as in when_any_success(std::move(tasks))");
  __builtin_unreachable();
}

}  // namespace rota
