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
#include <rota/inplace_vector.hpp>
#include <rota/join_handle.hpp>
#include <rota/outcome.hpp>

namespace rota::core {

/// Awaits an object that must live until then. Such a child begins in any case: a handle, or a job of the
/// pool, is asked to stop, and has ended before the group ends.
template <class A>
task<await_result<A&>> awaiting(A& awaitable) {
  co_return co_await awaitable;
}
/// Awaits a temporary handle, which it keeps.
template <class T>
task<T> awaiting_handle(join_handle<T> handle) {
  co_return co_await handle;
}

template <class T>
ROTA_DETAIL_WRAPPER task<T> as_child(task<T>&& work) noexcept {
  return std::move(work);
}
template <class T>
ROTA_DETAIL_WRAPPER task<T> as_child(join_handle<T>&& handle) {
  auto child = awaiting_handle(std::move(handle));
  demand_begin(child);
  return child;
}
template <class A>
  requires(bindable<std::remove_reference_t<A>> || gives_awaiter<A&>)
[[nodiscard]] ROTA_DETAIL_WRAPPER auto as_child(A&& awaitable) {
  auto child = awaiting(awaitable);
  demand_begin(child);
  return child;
}

/// The type that the child for an argument yields.
template <class A>
using child_result = typename decltype(as_child(std::declval<A>()))::value_type;

template <class A>
concept child_argument = requires(A&& a) { as_child(std::forward<A>(a)); };

/// An element as a child takes it: moved out of an rvalue range, otherwise referred to.
template <class Range>
using child_element =
    std::conditional_t<std::is_lvalue_reference_v<Range>,
                       decltype(*std::declval<Range&>().begin()),
                       std::remove_reference_t<decltype(*std::declval<Range&>().begin())>&&>;
template <class Range>
using range_result = child_result<child_element<Range>>;

/// A range of children, such as an rvalue vector of tasks, or a vector of handles.
template <class Range>
concept child_range = !child_argument<Range> && requires(Range&& range) {
  range.begin();
  range.end();
  typename range_result<Range>;
};

/// An lvalue range of tasks. A task is awaited once, so the caller must not keep it.
template <class Range>
concept kept_tasks = std::is_lvalue_reference_v<Range> && !child_argument<Range> && requires(Range range) {
  range.begin();
  range.end();
  typename std::remove_cvref_t<decltype(*range.begin())>::promise_type;
};

/// The containers that a group keeps as they are when they are passed as rvalues. Results go into a container
/// of the same shape.
template <class Container, class V>
struct shape {};
template <class T, class V>
struct shape<std::vector<task<T>>, V> {
  using type = std::vector<V>;
};
template <class T, std::size_t N, class V>
struct shape<std::array<task<T>, N>, V> {
  using type = std::array<V, N>;
};
template <class T, std::size_t N, class V>
struct shape<inplace_vector<task<T>, N>, V> {
  using type = inplace_vector<V, N>;
};
template <class Range>
concept keepable_range = requires { typename shape<Range, int>::type; };

// No type for an argument that is no range: clang 19 asks for it before it checks the constraint of an
// overload, also for one awaitable.
template <class Range>
struct kept_range {};
template <class Range>
  requires(child_range<Range> && !keepable_range<Range>)
struct kept_range<Range> {
  using type = std::vector<task<range_result<Range>>>;
};
template <class Range>
  requires keepable_range<Range>
struct kept_range<Range> {
  using type = Range;
};
/// The container that a group keeps for a range.
template <class Range>
using children_kept = typename kept_range<Range>::type;

template <class Range>
[[nodiscard]] decltype(auto) children_of(Range&& range) {
  if constexpr (keepable_range<Range>) {
    return std::forward<Range>(range);
  } else {
    children_kept<Range> children;
    if constexpr (requires { range.size(); }) children.reserve(range.size());
    for (auto& each : range) children.push_back(as_child(static_cast<child_element<Range>>(each)));
    return children;
  }
}

/// True if the container's destructor only destroys the elements.
template <class Container>
inline constexpr bool keeps_in_itself = false;
template <class T, std::size_t N>
inline constexpr bool keeps_in_itself<std::array<T, N>> = true;
template <class T, std::size_t N>
inline constexpr bool keeps_in_itself<inplace_vector<T, N>> = true;
/// True if the number of elements is part of the type.
template <class Container>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

/// Returns the outcome that a child has left in front of its header.
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

/// Returns the value of a child that ended with one.
template <class T>
[[nodiscard]] value_or_monostate<T> take_value(promise_base& from) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(outcome_of<T>(from)).value();
  }
}
/// Returns the value of a child that ended in place with one.
template <class T>
[[nodiscard, gnu::always_inline]] inline value_or_monostate<T> take_plain_value(promise_base& from) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return known_outcome::take(outcome_of<T>(from));
  }
}
/// Destroys such a child's outcome and frees its memory, after the value was taken.
template <class T>
[[gnu::always_inline]] inline void free_plain_child(promise_base& child) noexcept {
  known_outcome::destroy(outcome_of<T>(child));
  auto* const frame = static_cast<std::byte*>(frame_of_room(child.room()));
  const std::uint8_t list = tag_of(frame).list;
  if (list == 0 || !base::keep_frame(frame - typed_promise<T>::lead, list)) [[unlikely]]
    release_block(frame);
}

/// Frees the memory of a group's children when their values were taken.
template <class Group>
class freed_at_last {
 public:
  [[gnu::always_inline]] explicit freed_at_last(Group& group) noexcept : group_(&group) {}
  freed_at_last(const freed_at_last&) = delete;
  freed_at_last& operator=(const freed_at_last&) = delete;
  [[gnu::always_inline]] ~freed_at_last() { group_->free_plain(); }

 private:
  Group* group_;
};

/// A fixed number of children. A derived class calls let_go() in its destructor if it has members. It should
/// be final: the destructor then costs nothing else.
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
  /// Frees the children. Requires that all have ended in place and that their values were taken.
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
/// A group without children.
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

/// Any number of children, kept in the container that was passed.
template <class Container>
class range_group : public fork_group {
 public:
  template <class Promise>
  [[gnu::always_inline]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    if constexpr (is_array<Container>) return fork(parent.promise(), std::tuple_size_v<Container>);
    return fork_group::await_suspend(parent);
  }

 protected:
  using value_type = typename Container::value_type::value_type;

  range_group(group_rule rule, Container&& children) : fork_group(rule), children_(std::move(children)) {
    // A task is the pointer to its frame, so the container is the list that a group needs.
    static_assert(std::is_standard_layout_v<rota::task<value_type>> &&
                  sizeof(rota::task<value_type>) == sizeof(promise_base*));
    set_members(reinterpret_cast<promise_base**>(children_.data()), children_.size());
  }
  ~range_group() {
    // After free_plain() it contains only nulls, and a container that keeps its elements in itself has
    // nothing else to free.
    if (keeps_in_itself<Container> && !has_members()) return;
    children_.~Container();
  }

  /// The container for the results of `take`.
  template <class V>
  using collection = typename shape<Container, V>::type;
  template <class V, class Take>
    requires(!is_array<Container>)
  [[nodiscard]] collection<V> each_of(Take take) {
    collection<V> made;
    made.reserve(this->members().size());
    for (promise_base* const each : this->members()) made.push_back(take(*each));
    return made;
  }
  template <class V, class Take>
    requires is_array<Container>
  [[nodiscard]] collection<V> each_of(Take take) {
    return each_at<V>(take, std::make_index_sequence<std::tuple_size_v<Container>>());
  }

  /// Does what fixed_group::free_plain() does.
  void free_plain() noexcept {
    for (promise_base*& each : this->members()) free_plain_child<value_type>(*std::exchange(each, nullptr));
    forget_members();
  }
  /// Takes the values of children that have all ended in place, and frees the children.
  template <class V>
  [[nodiscard]] collection<V> take_plain() {
    if constexpr (!is_array<Container> && std::is_nothrow_move_constructible_v<V>) {
      collection<V> made;
      made.reserve(this->members().size());
      // One loop: the exit jump of each loop is often mispredicted.
      for (promise_base*& each : this->members()) {
        promise_base& child = *std::exchange(each, nullptr);
        made.push_back(take_plain_value<value_type>(child));
        free_plain_child<value_type>(child);
      }
      forget_members();
      return made;
    } else {
      const freed_at_last members(*this);
      return each_of<V>([](promise_base& each) { return take_plain_value<value_type>(each); });
    }
  }

 private:
  [[nodiscard]] const result_vtable& type_of(promise_base& /*child*/) const noexcept final {
    return result_vtable_of<value_type>;
  }

  template <class V, class Take, std::size_t... I>
  [[nodiscard]] collection<V> each_at([[maybe_unused]] Take take, std::index_sequence<I...> /*positions*/) {
    return collection<V>{take(*this->members()[I])...};
  }

  friend freed_at_last<range_group>;

  union {
    Container children_;
  };
};

}  // namespace rota::core
