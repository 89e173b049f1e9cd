// The result of a select: the index of the case that won, and its value.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/config.hpp>

namespace rota::channel {

/// The value of a case that yields none.
struct no_value {
  friend bool operator==(no_value, no_value) = default;
};

namespace detail {

template <class T>
struct keep {
  using type = T;
  using reference = T&;
  using rvalue = T&&;
  static reference of(type& kept) noexcept { return kept; }
  template <class Make>
  static void make(void* room, Make&& how) {
    ::new (room) T(how());
  }
};
template <>
struct keep<void> {
  using type = no_value;
  using reference = no_value&;
  using rvalue = no_value&&;
  static reference of(type& kept) noexcept { return kept; }
  template <class Make>
  static void make(void* room, Make&& how) {
    how();
    ::new (room) no_value;
  }
};
template <class T>
struct keep<T&> {
  using type = T*;
  using reference = T&;
  using rvalue = T&;
  static reference of(type& kept) noexcept { return *kept; }
  template <class Make>
  static void make(void* room, Make&& how) {
    ::new (room) type(&how());
  }
};

template <std::size_t I, class T>
struct nth_type {
  using type = T;
};
template <class Positions, class... T>
struct types_by_position;
template <std::size_t... I, class... T>
struct types_by_position<std::index_sequence<I...>, T...> : nth_type<I, T>... {};
template <std::size_t I, class T>
nth_type<I, T> pick_type(nth_type<I, T>);
/// The I-th of T... without <tuple>.
template <std::size_t I, class... T>
using type_at =
    typename decltype(pick_type<I>(types_by_position<std::index_sequence_for<T...>, T...>{}))::type;

constexpr std::size_t largest(std::size_t first, auto... others) noexcept {
  ((first = first < others ? others : first), ...);
  return first;
}

}  // namespace detail

/// The index of the case that won, counted from 0, and its value. T: what each case yields, as its co_await
/// would; a no_value stands for void.
///
/// Threads       A value.
/// Ownership     Holds the value; a reference is kept as a reference. It moves as its value does.
/// Ordering      None of its own.
/// Failure       get<I>() of a case that did not win ends the program with a message.
/// Cost          The size of the largest value, and a number.
/// Example       examples/select.cpp
template <class... T>
class selected {
  template <std::size_t I>
  using nth = detail::keep<detail::type_at<I, T...>>;

 public:
  /// For select: `make()` gives the value.
  template <std::size_t I, class Make>
  selected(std::in_place_index_t<I> /*position*/, Make&& make) : index_(I) {
    nth<I>::make(room_, make);
  }
  selected(selected&& other) noexcept((std::is_nothrow_move_constructible_v<typename detail::keep<T>::type> &&
                                       ...))
      : index_(other.index_) {
    take(other, std::index_sequence_for<T...>());
  }
  selected(const selected&) = delete;
  selected& operator=(const selected&) = delete;
  ~selected() { destroy(std::index_sequence_for<T...>()); }

  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  /// Returns the value of case I, which must have won.
  template <std::size_t I>
  [[nodiscard]] typename nth<I>::reference get() & noexcept {
    if (index_ != I) [[unlikely]]
      ROTA_FATAL("get<I>() of what a select yielded, and another case has won", index_);
    return nth<I>::of(at<I>());
  }
  template <std::size_t I>
  [[nodiscard]] typename nth<I>::rvalue get() && noexcept {
    return static_cast<typename nth<I>::rvalue>(get<I>());
  }
  /// The same, or null if another case has won.
  template <std::size_t I>
  [[nodiscard]] std::remove_reference_t<typename nth<I>::reference>* get_if() noexcept {
    return index_ == I ? &nth<I>::of(at<I>()) : nullptr;
  }

  /// Calls `f` with the value. `f` must accept each type that the value may have, and return the same type
  /// for all.
  template <class F>
  decltype(auto) visit(F&& f) {
    return visit_from<0>(f);
  }

 private:
  template <std::size_t I>
  [[nodiscard]] typename nth<I>::type& at() noexcept {
    return *std::launder(reinterpret_cast<typename nth<I>::type*>(room_));
  }
  template <std::size_t I, class F>
  decltype(auto) visit_from(F& f) {
    if constexpr (I + 1 < sizeof...(T)) {
      if (index_ != I) return visit_from<I + 1>(f);
    }
    return f(nth<I>::of(at<I>()));
  }
  template <std::size_t... I>
  void take(selected& from, std::index_sequence<I...> /*positions*/) {
    static_cast<void>(((index_ == I && take_nth<I>(from)) || ...));
  }
  template <std::size_t I>
  bool take_nth(selected& from) {
    ::new (static_cast<void*>(room_)) typename nth<I>::type(std::move(from.template at<I>()));
    return true;
  }
  template <std::size_t... I>
  void destroy(std::index_sequence<I...> /*positions*/) noexcept {
    static_cast<void>(((index_ == I && destroy_nth<I>()) || ...));
  }
  template <std::size_t I>
  bool destroy_nth() noexcept {
    using kept = typename nth<I>::type;
    at<I>().~kept();
    return true;
  }

  alignas(detail::largest(alignof(typename detail::keep<T>::type)...))
      std::byte room_[detail::largest(sizeof(typename detail::keep<T>::type)...)];
  std::size_t index_;
};

/// The index of the case of a list that won, counted from 0, and its value. T: what a case yields, as its
/// co_await would; a no_value stands for void.
///
/// Threads       A value.
/// Ownership     Holds the value; a reference is kept as a reference. It moves as its value does.
/// Ordering      None of its own.
/// Failure       None.
/// Cost          The size of the value, and a number.
/// Example       examples/select.cpp
template <class T>
class chosen {
  using kept = detail::keep<T>;

 public:
  /// For select: `make()` gives the value.
  template <class Make>
  chosen(std::size_t index, Make&& make) : index_(index), value_(value_of(make)) {}
  chosen(chosen&&) = default;
  chosen(const chosen&) = delete;
  chosen& operator=(const chosen&) = delete;
  ~chosen() = default;

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] typename kept::reference get() & noexcept { return kept::of(value_); }
  [[nodiscard]] typename kept::rvalue get() && noexcept {
    return static_cast<typename kept::rvalue>(kept::of(value_));
  }

 private:
  template <class Make>
  static typename kept::type value_of(Make& make) {
    if constexpr (std::is_void_v<T>) {
      make();
      return {};
    } else if constexpr (std::is_reference_v<T>) {
      return &make();
    } else {
      return make();
    }
  }

  std::size_t index_;
  typename kept::type value_;
};

}  // namespace rota::channel
