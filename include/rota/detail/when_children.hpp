// From the arguments of a when_* to its children.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/detail/awaited.hpp>
#include <rota/detail/group.hpp>
#include <rota/join_handle.hpp>
#include <rota/outcome.hpp>

namespace rota::core {

/// Awaits what must live until then.
template <class A>
task<await_result<A&>> awaiting(A& awaitable) {
  co_return co_await awaitable;
}
/// A temporary handle is kept.
template <class T>
task<T> awaiting_handle(join_handle<T> handle) {
  co_return co_await handle;
}

template <class T>
[[nodiscard]] task<T> as_child(task<T>&& work) noexcept {
  return std::move(work);
}
template <class T>
[[nodiscard]] task<T> as_child(join_handle<T>&& handle) {
  return awaiting_handle(std::move(handle));
}
template <class A>
  requires(bindable<std::remove_reference_t<A>> || gives_awaiter<A&>)
[[nodiscard]] auto as_child(A&& awaitable) {
  return awaiting(awaitable);
}

/// What the child for an argument yields.
template <class A>
using child_result = typename decltype(as_child(std::declval<A>()))::value_type;

template <class A>
concept child_argument = requires(A&& a) { as_child(std::forward<A>(a)); };

/// A vector, say, of tasks that is given up, or of handles.
template <class Range>
concept child_range = !child_argument<Range> && requires(Range&& range) {
  range.begin();
  range.end();
};
/// An element as a child takes it: moved out of a range that is given up, else referred to.
template <class Range>
using child_element =
    std::conditional_t<std::is_lvalue_reference_v<Range>,
                       decltype(*std::declval<Range&>().begin()),
                       std::remove_reference_t<decltype(*std::declval<Range&>().begin())>&&>;
template <class Range>
using range_result = child_result<child_element<Range>>;

template <class Range>
[[nodiscard]] auto children_of(Range&& range) {
  std::vector<task<range_result<Range>>> children;
  for (auto& each : range) children.push_back(as_child(static_cast<child_element<Range>>(each)));
  return children;
}

template <class T>
[[nodiscard]] group_leaf::member member_of(task<T>& child) noexcept {
  return {child.release(), nullptr, &result_vtable_of<T>};
}

template <class T>
using value_or_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The value of a child that ended with one.
template <class T>
[[nodiscard]] value_or_monostate<T> take_value(const group_leaf::member& from) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return take_outcome<T>(*from.task).value();
  }
}

/// A fixed number of children.
template <class... T>
class fixed_group : public group_leaf {
 protected:
  fixed_group(group_rule rule, rota::task<T>... children) noexcept
      : group_leaf(rule), members_{member_of(children)...} {
    set_members(members_.data(), members_.size());
  }
  ~fixed_group() { let_go(); }

  [[nodiscard]] const member& at(std::size_t position) const noexcept { return members_[position]; }

 private:
  std::array<member, sizeof...(T)> members_;
};

/// As many children as there are.
template <class T>
class range_group : public group_leaf {
 protected:
  range_group(group_rule rule, std::vector<rota::task<T>> children) : group_leaf(rule) {
    members_.reserve(children.size());
    for (rota::task<T>& each : children) members_.push_back(member_of(each));
    set_members(members_.data(), members_.size());
  }
  ~range_group() { let_go(); }

  [[nodiscard]] const std::vector<member>& members() const noexcept { return members_; }

 private:
  std::vector<member> members_;
};

}  // namespace rota::core
