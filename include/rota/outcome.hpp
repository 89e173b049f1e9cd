// How a task ended: with a value, an exception, or cancelled.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/cancel_reason.hpp>
#include <rota/error.hpp>

namespace rota {

namespace core {
template <class T>
class promise;
struct known_outcome;
}  // namespace core

namespace detail {

[[noreturn]] ROTA_API void throw_cancelled(cancel_reason reason);
[[noreturn]] ROTA_API void throw_no_value();

struct unit {};

/// What an outcome stores for T: a pointer for a reference, `unit` for void.
template <class T>
using stored_t = std::conditional_t<std::is_void_v<T>,
                                    unit,
                                    std::conditional_t<std::is_reference_v<T>,
                                                       std::add_pointer_t<std::remove_reference_t<T>>,
                                                       std::remove_const_t<T>>>;

}  // namespace detail

/// How a task ended. Plain data: copying it copies the value.
///
/// Ownership     Owns the value or the exception. Threads: as any value.
/// Failure       `value()` rethrows the exception, or throws `cancelled_error`. Nothing else throws.
/// Cost          sizeof(T) and one word.
/// Example       examples/outcome.cpp
template <class T>
class [[nodiscard]] outcome {
  using stored = detail::stored_t<T>;

 public:
  using value_type = T;

  /// Makes an empty outcome: the result of a task before it ends. `has_value()` is false, `reason()` is none.
  outcome() noexcept : kind_(kind::empty) {}
  outcome(outcome&& other) noexcept(std::is_nothrow_move_constructible_v<stored>) : kind_(kind::empty) {
    take(std::move(other));
  }
  outcome(const outcome& other)
    requires std::is_copy_constructible_v<stored>
      : kind_(kind::empty) {
    take(other);
  }
  outcome& operator=(outcome other) noexcept(std::is_nothrow_move_constructible_v<stored>) {
    clear();
    take(std::move(other));
    return *this;
  }
  ~outcome() { clear(); }

  template <class... Args>
  [[nodiscard]] static outcome from_value(Args&&... args) {
    outcome made;
    made.emplace(std::forward<Args>(args)...);
    return made;
  }
  [[nodiscard]] static outcome from_exception(std::exception_ptr e) noexcept {
    outcome made;
    made.set_exception(std::move(e));
    return made;
  }
  [[nodiscard]] static outcome from_cancel(cancel_reason reason) noexcept {
    outcome made;
    made.set_cancelled(reason);
    return made;
  }

  [[nodiscard]] bool has_value() const noexcept { return kind_ == kind::value; }
  [[nodiscard]] bool has_exception() const noexcept { return kind_ == kind::exception; }
  [[nodiscard]] bool is_cancelled() const noexcept { return kind_ == kind::cancelled; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// Returns why the task was cancelled; `none` if it was not.
  [[nodiscard]] cancel_reason reason() const noexcept {
    return is_cancelled() ? reason_ : cancel_reason::none;
  }
  /// Returns the exception that the task threw; null if it threw none.
  [[nodiscard]] std::exception_ptr exception() const noexcept {
    return has_exception() ? exception_ : nullptr;
  }

  /// Returns the value. Rethrows the task's exception, or throws `cancelled_error`. On an rvalue: moves the
  /// value out.
  decltype(auto) value() & {
    demand_value();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else if constexpr (!std::is_void_v<T>) {
      return (value_);
    }
  }
  decltype(auto) value() const& {
    demand_value();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else if constexpr (!std::is_void_v<T>) {
      return (value_);
    }
  }
  T value() && {
    demand_value();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*value_);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(value_);
    }
  }

  template <class... Args>
  void emplace(Args&&... args) {
    clear();
    construct(std::forward<Args>(args)...);
  }
  void set_exception(std::exception_ptr e) noexcept {
    clear();
    ::new (static_cast<void*>(&exception_)) std::exception_ptr(std::move(e));
    kind_ = kind::exception;
  }
  void set_cancelled(cancel_reason reason) noexcept {
    clear();
    reason_ = reason;
    kind_ = kind::cancelled;
  }

 private:
  template <class U>
  friend class core::promise;
  friend core::known_outcome;
  enum class kind : unsigned char { empty, value, exception, cancelled };

  /// Constructs the value. Requires an empty outcome.
  template <class... Args>
  void construct(Args&&... args) {
    if constexpr (std::is_reference_v<T>) {
      ::new (static_cast<void*>(&value_)) stored(&args...);
    } else {
      ::new (static_cast<void*>(&value_)) stored(std::forward<Args>(args)...);
    }
    kind_ = kind::value;
  }

  void demand_value() const {
    if (kind_ == kind::value) [[likely]]
      return;
    if (kind_ == kind::exception) std::rethrow_exception(exception_);
    if (kind_ == kind::cancelled) detail::throw_cancelled(reason_);
    detail::throw_no_value();
  }

  void clear() noexcept {
    if (kind_ == kind::value) value_.~stored();
    if (kind_ == kind::exception) exception_.~exception_ptr();
    kind_ = kind::empty;
  }

  template <class Other>
  void take(Other&& other) {
    const kind from = other.kind_;
    if (from == kind::exception) {
      ::new (static_cast<void*>(&exception_)) std::exception_ptr(other.exception_);
    } else if (from == kind::cancelled) {
      reason_ = other.reason_;
    } else if (from == kind::value) {
      ::new (static_cast<void*>(&value_)) stored(std::forward<Other>(other).value_);
    }
    kind_ = from;
  }

  union {
    stored value_;
    std::exception_ptr exception_;
    cancel_reason reason_;
  };
  kind kind_;
};

namespace core {

/// Access to an outcome without a check. Requires that the caller has checked that it has a value.
struct known_outcome {
  template <class T>
  [[nodiscard, gnu::always_inline]] static T take(outcome<T>& from) {
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(*from.value_);
    } else {
      return std::move(from.value_);
    }
  }
  /// Destroys the value in place. `which` is no longer an outcome afterwards.
  template <class T>
  [[gnu::always_inline]] static void destroy(outcome<T>& which) noexcept {
    using stored = typename outcome<T>::stored;
    which.value_.~stored();
  }
};

}  // namespace core
}  // namespace rota
