// The seam, on the model: each name is a step of the deterministic scheduler in src/testing.
//
// Outside an execution (static initialisation, ordinary tests, the checker itself) every operation is the
// plain one. Objects have the size and the alignment that they have on the real machine: the model keeps its
// own data about a word in a table, by address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
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

}  // namespace rota::base

namespace rota::testing::detail {

using place = std::source_location;

/// A word in memory, of 1, 2, 4 or 8 bytes.
struct word {
  void* address;
  std::size_t size;
};

enum class modification : std::uint8_t { exchange, add, bit_or, bit_and };

struct exchange_request {
  std::uint64_t expected;  // on return: the value found
  std::uint64_t desired;
  base::order success;
  base::order failure;
  bool weak;
};

ROTA_API void begin_lifetime(const void* address) noexcept;
ROTA_API void end_lifetime(const void* address) noexcept;

ROTA_API std::uint64_t load(word w, base::order o, place where) noexcept;
ROTA_API void store(word w, std::uint64_t bits, base::order o, place where) noexcept;
/// Returns the bits that the word held before.
ROTA_API std::uint64_t modify(
    word w, modification how, std::uint64_t operand, base::order o, place where) noexcept;
ROTA_API bool compare_exchange(word w, exchange_request& request, place where) noexcept;

enum class access : std::uint8_t { cell_read, cell_write, plain_read, plain_write };
ROTA_API void touch(const void* address, access how, std::uint64_t bits, place where) noexcept;
ROTA_API void forget(const void* address, std::size_t size, place where) noexcept;
ROTA_API void relax(place where) noexcept;

/// Returns the object as a number, for the trace and for words of any type.
template <class T>
[[nodiscard]] std::uint64_t to_bits(const T& value) noexcept {
  std::uint64_t bits = 0;
  if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof bits)
    std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace rota::testing::detail

namespace rota::base {

/// An atomic word of at most 8 bytes. Before every operation there is a scheduling point.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "an atomic is one machine word");
  static_assert(std::endian::native == std::endian::little, "words travel as the low bytes of 64 bits");
  using place = testing::detail::place;
  using modification = testing::detail::modification;

 public:
  constexpr atomic() noexcept : value_{} { begin(); }
  constexpr explicit atomic(T value) noexcept : value_(value) { begin(); }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  constexpr ~atomic() {
    if (!std::is_constant_evaluated()) testing::detail::end_lifetime(&value_);
  }

  [[nodiscard]] T load(order o, place where = place::current()) const noexcept {
    return testing::detail::from_bits<T>(testing::detail::load(word(), o, where));
  }
  void store(T value, order o, place where = place::current()) noexcept {
    testing::detail::store(word(), testing::detail::to_bits(value), o, where);
  }
  T exchange(T value, order o, place where = place::current()) noexcept {
    return modify(modification::exchange, testing::detail::to_bits(value), o, where);
  }
  T fetch_add(T delta, order o, place where = place::current()) noexcept {
    return modify(modification::add, testing::detail::to_bits(delta), o, where);
  }
  T fetch_sub(T delta, order o, place where = place::current()) noexcept {
    return modify(modification::add, ~testing::detail::to_bits(delta) + 1, o, where);
  }
  T fetch_or(T bits, order o, place where = place::current()) noexcept {
    return modify(modification::bit_or, testing::detail::to_bits(bits), o, where);
  }
  T fetch_and(T bits, order o, place where = place::current()) noexcept {
    return modify(modification::bit_and, testing::detail::to_bits(bits), o, where);
  }

  /// On failure `expected` holds the value found. The weak form may fail spuriously: use it in loops.
  bool compare_exchange_weak(
      T& expected, T desired, order success, order failure, place where = place::current()) noexcept {
    return compare_exchange(expected, {0, testing::detail::to_bits(desired), success, failure, true}, where);
  }
  bool compare_exchange_strong(
      T& expected, T desired, order success, order failure, place where = place::current()) noexcept {
    return compare_exchange(expected, {0, testing::detail::to_bits(desired), success, failure, false}, where);
  }

 private:
  constexpr void begin() noexcept {
    if (!std::is_constant_evaluated()) testing::detail::begin_lifetime(&value_);
  }
  [[nodiscard]] testing::detail::word word() const noexcept { return {const_cast<T*>(&value_), sizeof(T)}; }

  T modify(modification how, std::uint64_t operand, order o, place where) noexcept {
    return testing::detail::from_bits<T>(testing::detail::modify(word(), how, operand, o, where));
  }
  bool compare_exchange(T& expected, testing::detail::exchange_request request, place where) noexcept {
    request.expected = testing::detail::to_bits(expected);
    if (testing::detail::compare_exchange(word(), request, where)) return true;
    expected = testing::detail::from_bits<T>(request.expected);
    return false;
  }

  alignas(sizeof(T)) T value_;
};

/// Plain data. A protocol decides which thread owns it at a time. Every access, and the end of its lifetime,
/// is checked for races.
template <class T>
class cell {
  using place = testing::detail::place;
  using access = testing::detail::access;

 public:
  constexpr cell() noexcept : value_{} { begin(); }
  constexpr explicit cell(T value) noexcept : value_(value) { begin(); }
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;
  constexpr ~cell() {
    if (!std::is_constant_evaluated()) testing::detail::end_lifetime(&value_);
  }

  [[nodiscard]] T get(place where = place::current()) const noexcept {
    testing::detail::touch(&value_, access::cell_read, testing::detail::to_bits(value_), where);
    return value_;
  }
  void set(T value, place where = place::current()) noexcept {
    testing::detail::touch(&value_, access::cell_write, testing::detail::to_bits(value), where);
    value_ = value;
  }

 private:
  constexpr void begin() noexcept {
    if (!std::is_constant_evaluated()) testing::detail::begin_lifetime(&value_);
  }

  T value_;
};

/// Tells the model that plain memory at `address` is read or written here.
inline void note_read(const void* address,
                      std::source_location where = std::source_location::current()) noexcept {
  testing::detail::touch(address, testing::detail::access::plain_read, 0, where);
}
inline void note_write(const void* address,
                       std::source_location where = std::source_location::current()) noexcept {
  testing::detail::touch(address, testing::detail::access::plain_write, 0, where);
}

/// Tells the model that memory goes back to the heap here. That is a race with every earlier access that is
/// not ordered before it. The next allocation at this address is a new object.
inline void note_free(const void* address,
                      std::size_t size,
                      std::source_location where = std::source_location::current()) noexcept {
  testing::detail::forget(address, size, where);
}

/// Pauses in a spin loop: lets another thread step first.
inline void cpu_relax(std::source_location where = std::source_location::current()) noexcept {
  testing::detail::relax(where);
}

/// The cheap half of a barrier that only `barrier_heavy()` completes. Empty: the model's compiler moves no
/// access.
inline void barrier_light() noexcept {}

}  // namespace rota::base
