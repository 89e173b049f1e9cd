// Shared state for programs that link rota::testing: explore() observes every use of it.
//
// In the program itself use std::atomic, std::mutex and plain data. An alias selects between them:
//
//   #if ROTA_MODEL
//   using mutex = rota::testing::mutex;
//   #else
//   using mutex = std::mutex;
//   #endif
#pragma once

#if !ROTA_MODEL
#error "rota/testing/shared.hpp is for programs that link rota::testing, not rota::rota"
#endif

#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include <rota/detail/base.hpp>

namespace rota::testing {

/// relaxed, acquire, release, acq_rel, seq_cst; as std::memory_order.
using base::order;

namespace detail {

/// Matches std::memory_order by its enumerators, so that this header need not include <atomic>.
template <class T>
concept standard_order = std::is_enum_v<T> && requires {
  T::relaxed;
  T::consume;
  T::acquire;
  T::release;
  T::acq_rel;
  T::seq_cst;
};

/// An order of rota or of the standard library.
struct any_order {
  constexpr any_order(order o) noexcept : value(o) {}  // NOLINT(*-explicit-*): both are meant to convert
  template <standard_order Order>
  constexpr any_order(Order o) noexcept : value(of(o)) {}  // NOLINT(*-explicit-*)
  order value;

 private:
  template <standard_order Order>
  static constexpr order of(Order o) noexcept {
    switch (o) {
      case Order::relaxed: return order::relaxed;
      case Order::consume:
      case Order::acquire: return order::acquire;
      case Order::release: return order::release;
      case Order::acq_rel: return order::acq_rel;
      case Order::seq_cst: break;
    }
    return order::seq_cst;
  }
};

template <class T>
concept whole_number = std::is_integral_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>;

}  // namespace detail

/// As std::atomic, for types of at most 8 bytes, without its operators, its wait and its notify. explore()
/// may switch to another thread before each operation. Arithmetic is for integers only.
///
/// Threads       Any.
/// Ownership     Owns its value.
/// Ordering      As std::atomic. seq_cst unless another order is given.
/// Failure       Never.
/// Cost          Some ten nanoseconds for each operation.
/// Example       tests/api/testing_explore_test.cpp
template <class T>
class atomic {
  using place = std::source_location;

 public:
  constexpr atomic() noexcept = default;
  constexpr explicit atomic(T value) noexcept : word_(value) {}

  [[nodiscard]] T load(detail::any_order o = order::seq_cst, place where = place::current()) const noexcept {
    return word_.load(o.value, where);
  }
  void store(T value, detail::any_order o = order::seq_cst, place where = place::current()) noexcept {
    word_.store(value, o.value, where);
  }
  T exchange(T value, detail::any_order o = order::seq_cst, place where = place::current()) noexcept {
    return word_.exchange(value, o.value, where);
  }
  T fetch_add(T delta, detail::any_order o = order::seq_cst, place where = place::current()) noexcept
    requires detail::whole_number<T>
  {
    return word_.fetch_add(delta, o.value, where);
  }
  T fetch_sub(T delta, detail::any_order o = order::seq_cst, place where = place::current()) noexcept
    requires detail::whole_number<T>
  {
    return word_.fetch_sub(delta, o.value, where);
  }
  T fetch_or(T bits, detail::any_order o = order::seq_cst, place where = place::current()) noexcept
    requires detail::whole_number<T>
  {
    return word_.fetch_or(bits, o.value, where);
  }
  T fetch_and(T bits, detail::any_order o = order::seq_cst, place where = place::current()) noexcept
    requires detail::whole_number<T>
  {
    return word_.fetch_and(bits, o.value, where);
  }
  /// On failure `expected` holds the value found.
  bool compare_exchange_strong(T& expected,
                               T desired,
                               detail::any_order success = order::seq_cst,
                               detail::any_order failure = order::seq_cst,
                               place where = place::current()) noexcept {
    return word_.compare_exchange_strong(expected, desired, success.value, failure.value, where);
  }
  bool compare_exchange_weak(T& expected,
                             T desired,
                             detail::any_order success = order::seq_cst,
                             detail::any_order failure = order::seq_cst,
                             place where = place::current()) noexcept {
    return word_.compare_exchange_weak(expected, desired, success.value, failure.value, where);
  }

 private:
  base::atomic<T> word_;
};

/// As std::mutex; std::lock_guard and std::unique_lock accept it. A real std::mutex must not be held during a
/// call into rota: the single real thread would deadlock with itself.
///
/// Threads       Any. The locking thread unlocks.
/// Ownership     Owns its state.
/// Ordering      An unlock happens before the next lock.
/// Failure       A thread that locks a mutex that it holds or unlocks one that it does not hold fails the
///               execution; so does a deadlock.
/// Cost          Some ten nanoseconds for each operation.
/// Example       tests/api/testing_explore_test.cpp
class ROTA_API mutex {
  using place = std::source_location;

 public:
  mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() = default;

  void lock(place where = place::current()) noexcept;
  [[nodiscard]] bool try_lock(place where = place::current()) noexcept;
  void unlock(place where = place::current()) noexcept;

 private:
  base::atomic<std::uint32_t> word_{0};
};

/// Plain data that tasks share. Two unordered uses, one of them a write, fail the execution as a data race,
/// even if no value is ever wrong. The use is recorded at the call. A later access through the returned
/// reference, after an unlock or an await, is not observed.
///
/// Threads       Any. The program must order the uses; that is what is checked.
/// Ownership     Holds a T.
/// Ordering      None.
/// Failure       A data race fails the execution.
/// Cost          Some ten nanoseconds for each use.
/// Example       examples/find_a_race.cpp
template <class T>
class shared {
  using place = std::source_location;

 public:
  template <class... Args>
    requires std::is_constructible_v<T, Args...>
  explicit shared(Args&&... args) : value_(std::forward<Args>(args)...) {
    base::note_write(&value_);
  }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  ~shared() { base::note_free(&value_, sizeof value_); }

  [[nodiscard]] const T& read(place where = place::current()) const noexcept {
    base::note_read(&value_, where);
    return value_;
  }
  /// Records a write and returns the value, to be changed or replaced.
  [[nodiscard]] T& write(place where = place::current()) noexcept {
    base::note_write(&value_, where);
    return value_;
  }

 private:
  T value_;
};

}  // namespace rota::testing
