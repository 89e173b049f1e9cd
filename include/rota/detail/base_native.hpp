// The seam, on the real machine: each name is one instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <rota/detail/config.hpp>

namespace rota::base {

/// The memory orders of C++, one to one. Spelled out at every operation: there is no default.
enum class order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST,
};

#if defined(ROTA_COUNT_OPERATIONS)
/// How many operations all threads have done so far: only in the build that `./dev bench --count` makes.
struct operation_counts {
  unsigned long long read_modify_writes = 0;
  unsigned long long seq_cst_stores = 0;
  unsigned long long system_calls = 0;
};
inline constinit operation_counts counted{};
inline void count(unsigned long long& sum) noexcept { __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED); }
inline void count_rmw() noexcept { count(counted.read_modify_writes); }
inline void count_store(order o) noexcept {
  if (o == order::seq_cst) count(counted.seq_cst_stores);
}
inline void count_system_call() noexcept { count(counted.system_calls); }
#else
inline void count_rmw() noexcept {}
inline void count_store(order /*o*/) noexcept {}
inline void count_system_call() noexcept {}
#endif

#if defined(ROTA_CHAOS)
/// Sometimes yields to other threads, or waits: only in the build that `./dev stress --build chaos` makes.
ROTA_API void chaos_point() noexcept;
#else
inline void chaos_point() noexcept {}
#endif

inline void before_rmw() noexcept {
  chaos_point();
  count_rmw();
}
inline void before_store(order o) noexcept {
  chaos_point();
  count_store(o);
}
inline void before_system_call() noexcept {
  chaos_point();
  count_system_call();
}

/// An atomic word of at most 8 bytes. It is `std::atomic` without its header, which alone costs a tenth of a
/// translation unit.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an atomic is one machine word");

 public:
  constexpr atomic() noexcept : value_{} {}
  constexpr explicit atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  ~atomic() = default;

  // The generic forms of the builtins, since T may be an enumeration.
  [[nodiscard]] T load(order o) const noexcept {
    chaos_point();
    T value;
    __atomic_load(&value_, &value, static_cast<int>(o));
    return value;
  }
  void store(T value, order o) noexcept {
    before_store(o);
    __atomic_store(&value_, &value, static_cast<int>(o));
  }
  T exchange(T value, order o) noexcept {
    before_rmw();
    T before;
    __atomic_exchange(&value_, &value, &before, static_cast<int>(o));
    return before;
  }
  T fetch_add(T delta, order o) noexcept {
    before_rmw();
    return __atomic_fetch_add(&value_, delta, static_cast<int>(o));
  }
  T fetch_sub(T delta, order o) noexcept {
    before_rmw();
    return __atomic_fetch_sub(&value_, delta, static_cast<int>(o));
  }
  T fetch_or(T bits, order o) noexcept {
    before_rmw();
    return __atomic_fetch_or(&value_, bits, static_cast<int>(o));
  }
  T fetch_and(T bits, order o) noexcept {
    before_rmw();
    return __atomic_fetch_and(&value_, bits, static_cast<int>(o));
  }

  /// On failure `expected` holds the value found. The weak form may fail spuriously: use it in loops.
  bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
    before_rmw();
    return __atomic_compare_exchange(
        &value_, &expected, &desired, true, static_cast<int>(success), static_cast<int>(failure));
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure) noexcept {
    before_rmw();
    return __atomic_compare_exchange(
        &value_, &expected, &desired, false, static_cast<int>(success), static_cast<int>(failure));
  }

 private:
  alignas(sizeof(T)) T value_;
};

/// Plain data. A protocol decides which thread owns it at a time. It costs nothing here; in the model build
/// every access is checked for races.
template <class T>
class cell {
 public:
  constexpr cell() noexcept : value_{} {}
  constexpr explicit cell(T value) noexcept : value_(value) {}
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;
  ~cell() = default;

  [[nodiscard]] T get() const noexcept {
    chaos_point();
    return value_;
  }
  void set(T value) noexcept {
    chaos_point();
    value_ = value;
  }

 private:
  T value_;
};

/// Tells the model that plain memory at `address` is read or written here. Does nothing in the ordinary
/// build.
inline void note_read(const void* /*address*/) noexcept {}
inline void note_write(const void* /*address*/) noexcept {}

/// Tells the model that memory goes back to the heap here. Does nothing in the ordinary build.
inline void note_free(const void* /*address*/, std::size_t /*size*/) noexcept {}

/// Pauses in a spin loop. In the model build it lets another thread step first.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

/// The cheap half of a barrier that only `barrier_heavy()` completes: the compiler moves no access across it.
inline void barrier_light() noexcept { asm volatile("" ::: "memory"); }

}  // namespace rota::base
