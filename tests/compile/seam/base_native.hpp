// What cost_test.sh puts in place of the seam: the standard library, and plain fields.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <rota/detail/config.hpp>

namespace rota::base {

enum class order : int {
  relaxed = static_cast<int>(std::memory_order_relaxed),
  acquire = static_cast<int>(std::memory_order_acquire),
  release = static_cast<int>(std::memory_order_release),
  acq_rel = static_cast<int>(std::memory_order_acq_rel),
  seq_cst = static_cast<int>(std::memory_order_seq_cst),
};
constexpr std::memory_order standard(order o) noexcept { return static_cast<std::memory_order>(o); }

template <class T>
class atomic {
 public:
  constexpr atomic() noexcept : value_(T{}) {}
  constexpr explicit atomic(T value) noexcept : value_(value) {}
  T load(order o) const noexcept { return value_.load(standard(o)); }
  void store(T value, order o) noexcept { value_.store(value, standard(o)); }
  T exchange(T value, order o) noexcept { return value_.exchange(value, standard(o)); }
  T fetch_add(T delta, order o) noexcept { return value_.fetch_add(delta, standard(o)); }
  T fetch_sub(T delta, order o) noexcept { return value_.fetch_sub(delta, standard(o)); }
  T fetch_or(T bits, order o) noexcept { return value_.fetch_or(bits, standard(o)); }
  T fetch_and(T bits, order o) noexcept { return value_.fetch_and(bits, standard(o)); }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
    return value_.compare_exchange_weak(expected, desired, standard(success), standard(failure));
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
    return value_.compare_exchange_strong(expected, desired, standard(success), standard(failure));
  }

 private:
  std::atomic<T> value_;
};

template <class T>
class cell {
 public:
  constexpr cell() noexcept : value_{} {}
  constexpr explicit cell(T value) noexcept : value_(value) {}
  T get() const noexcept { return value_; }
  void set(T value) noexcept { value_ = value; }

 private:
  T value_;
};

inline void note_read(const void*) noexcept {}
inline void note_write(const void*) noexcept {}
inline void note_free(const void*, std::size_t) noexcept {}
inline void cpu_relax() noexcept { __builtin_ia32_pause(); }

}  // namespace rota::base
