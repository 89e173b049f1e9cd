// From the arguments of a when_* to its children.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/detail/awaited.hpp>
#include <rota/detail/fork_group.hpp>
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
[[nodiscard]] ROTA_DETAIL_WRAPPER task<T> as_child(task<T>&& work) noexcept {
  return std::move(work);
}
template <class T>
[[nodiscard]] ROTA_DETAIL_WRAPPER task<T> as_child(join_handle<T>&& handle) {
  return awaiting_handle(std::move(handle));
}
template <class A>
  requires(bindable<std::remove_reference_t<A>> || gives_awaiter<A&>)
[[nodiscard]] ROTA_DETAIL_WRAPPER auto as_child(A&& awaitable) {
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
[[nodiscard]] std::vector<task<range_result<Range>>> children_of(Range&& range) {
  if constexpr (std::is_same_v<Range, std::vector<task<range_result<Range>>>>) {
    return std::forward<Range>(range);
  } else {
    std::vector<task<range_result<Range>>> children;
    if constexpr (requires { range.size(); }) children.reserve(range.size());
    for (auto& each : range) children.push_back(as_child(static_cast<child_element<Range>>(each)));
    return children;
  }
}

/// What a child has left in front of its room.
template <class T>
[[nodiscard]] outcome<T>& outcome_of(promise_base& from) noexcept {
  outcome<T>& left = *result_at<T>(from.room());
  base::note_write(&left);
  return left;
}
template <class T>
[[nodiscard]] outcome<T> take_end(promise_base& from) {
  return std::exchange(outcome_of<T>(from), outcome<T>());
}

template <class T>
using value_or_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// The value of a child that ended with one.
template <class T>
[[nodiscard]] value_or_monostate<T> take_value(promise_base& from) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(outcome_of<T>(from)).value();
  }
}
/// The same of a child that ended in place with a value.
template <class T>
[[nodiscard, gnu::always_inline]] inline value_or_monostate<T> take_plain_value(promise_base& from) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return known_outcome::take(outcome_of<T>(from));
  }
}
/// And its end, when the value was taken.
template <class T>
[[gnu::always_inline]] inline void free_plain_child(promise_base& child) noexcept {
  known_outcome::destroy(outcome_of<T>(child));
  auto* const frame = static_cast<std::byte*>(frame_of_room(child.room()));
  const frame_tag& tag = tag_of(frame);
  if (tag.lent != 0) [[unlikely]]
    return release_block(frame);
  base::free_frame(frame - typed_promise<T>::lead, tag.bytes);
}

/// A fixed number of children. Whoever derives from it calls let_go() if it has members at its end, as a final class: there a
/// destructor costs nothing else.
template <class... T>
class fixed_group : public fork_group {
 public:
  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    return fork(parent.promise(), sizeof...(T));
  }

 protected:
  [[gnu::always_inline]] fixed_group(group_rule rule, rota::task<T>... children) noexcept
      : fork_group(rule), members_{children.release()...} {
    set_members(members_.data(), members_.size());
  }
  ~fixed_group() = default;

  [[nodiscard]] promise_base& at(std::size_t position) const noexcept { return *members_[position]; }
  /// After the values were taken of children that have all ended in place: then nothing is left to be asked.
  [[gnu::always_inline]] void free_plain() noexcept { free_each(std::index_sequence_for<T...>()); }

 private:
  template <std::size_t... I>
  [[gnu::always_inline]] void free_each(std::index_sequence<I...> /*positions*/) noexcept {
    (free_plain_child<T>(*members_[I]), ...);
    forget_members();
  }
  [[nodiscard]] const result_vtable& type_of(promise_base& child) const noexcept final {
    static constexpr std::array<const result_vtable*, sizeof...(T)> types{&result_vtable_of<T>...};
    std::size_t position = 0;
    while (members_[position] != &child) ++position;
    return *types[position];
  }

  std::array<promise_base*, sizeof...(T)> members_;
};
/// Of nothing.
template <>
class fixed_group<> : public fork_group {
 protected:
  explicit fixed_group(group_rule rule) noexcept : fork_group(rule) {}
  ~fixed_group() = default;
  static void free_plain() noexcept {}

 private:
  [[nodiscard]] const result_vtable& type_of(promise_base& /*child*/) const noexcept final {
    return result_vtable_of<void>;
  }
};

/// As many children as there are.
template <class T>
class range_group : public fork_group {
 protected:
  range_group(group_rule rule, std::vector<rota::task<T>> children)
      : fork_group(rule), children_(std::move(children)) {
    for (const rota::task<T>& each : children_) demand_work(each);
    // A task is the pointer to its frame, so theirs is the list that a group needs.
    static_assert(std::is_standard_layout_v<rota::task<T>> && sizeof(rota::task<T>) == sizeof(promise_base*));
    set_members(reinterpret_cast<promise_base**>(children_.data()), children_.size());
  }
  ~range_group() = default;

  /// As in a fixed_group.
  void free_plain() noexcept {
    for (promise_base*& each : this->members()) free_plain_child<T>(*std::exchange(each, nullptr));
    forget_members();
  }

 private:
  [[nodiscard]] const result_vtable& type_of(promise_base& /*child*/) const noexcept final {
    return result_vtable_of<T>;
  }

  std::vector<rota::task<T>> children_;
};

}  // namespace rota::core
