// A vector that contains the memory of its elements: for the children of a node in a search, without a list
// on the heap.
#pragma once

#include <version>
#if defined(__cpp_lib_inplace_vector)
#include <inplace_vector>

namespace rota {
using std::inplace_vector;
}  // namespace rota
#else
#include <cstddef>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rota {

/// A vector with a fixed capacity and without an allocation: std::inplace_vector of C++26, for compilers
/// without it, as far as lists of tasks and of their values need. If the standard library has one, this name
/// is that one.
///
/// Threads       As std::vector.
/// Ownership     Owns its elements. Moved from, it has as many elements as before, all moved from, or none.
/// Failure       An element that does not fit is refused: `std::bad_alloc`. `at` throws `std::out_of_range`.
///               If an element's constructor throws, push_back and emplace_back have changed nothing, and an
///               assignment keeps the elements before it.
/// Cost          N * sizeof(T) and one word, in the object itself: a local of a coroutine lies in its frame.
///               No allocation.
/// Example       examples/queens.cpp
template <class T, std::size_t N>
class inplace_vector {
  static_assert(N > 0, "without room for anything");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;

  inplace_vector() noexcept {}
  inplace_vector(std::initializer_list<T> values) : inplace_vector(values.begin(), values.end()) {}
  template <class Iterator>
    requires requires(Iterator i) { *++i; }
  inplace_vector(Iterator first, Iterator last) : inplace_vector() {
    for (; first != last; ++first) emplace_back(*first);
  }
  // (The delegated constructor is complete: if an element's constructor throws, the destructor destroys the
  // other elements.)
  inplace_vector(const inplace_vector& other)
    requires std::is_copy_constructible_v<T>
      : inplace_vector(other.begin(), other.end()) {}
  inplace_vector(inplace_vector&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : inplace_vector() {
    take(std::move(other));
  }
  inplace_vector& operator=(const inplace_vector& other)
    requires std::is_copy_constructible_v<T>
  {
    if (this != &other) {
      clear();
      for (const T& each : other) emplace_back(each);
    }
    return *this;
  }
  inplace_vector& operator=(inplace_vector&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this != &other) {
      clear();
      take(std::move(other));
    }
    return *this;
  }
  ~inplace_vector() { clear(); }

  [[nodiscard]] static constexpr size_type capacity() noexcept { return N; }
  [[nodiscard]] static constexpr size_type max_size() noexcept { return N; }
  static void reserve(size_type wanted) {
    if (wanted > N) throw std::bad_alloc();
  }
  [[nodiscard]] size_type size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    reserve(size_ + 1);
    T* const made = ::new (static_cast<void*>(room_ + size_)) T(std::forward<Args>(args)...);
    ++size_;
    return *made;
  }
  T& push_back(T&& value) { return emplace_back(std::move(value)); }
  T& push_back(const T& value) { return emplace_back(value); }
  void pop_back() noexcept { room_[--size_].~T(); }
  void clear() noexcept {
    const size_type count = std::exchange(size_, 0);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for (size_type i = 0; i < count; ++i) room_[i].~T();
    }
  }

  [[nodiscard]] T* data() noexcept { return room_; }
  [[nodiscard]] const T* data() const noexcept { return room_; }
  [[nodiscard]] iterator begin() noexcept { return data(); }
  [[nodiscard]] iterator end() noexcept { return data() + size_; }
  [[nodiscard]] const_iterator begin() const noexcept { return data(); }
  [[nodiscard]] const_iterator end() const noexcept { return data() + size_; }
  [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
  [[nodiscard]] const_iterator cend() const noexcept { return end(); }
  [[nodiscard]] T& operator[](size_type i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](size_type i) const noexcept { return data()[i]; }
  [[nodiscard]] T& at(size_type i) { return data()[demand(i)]; }
  [[nodiscard]] const T& at(size_type i) const { return data()[demand(i)]; }
  [[nodiscard]] T& front() noexcept { return data()[0]; }
  [[nodiscard]] const T& front() const noexcept { return data()[0]; }
  [[nodiscard]] T& back() noexcept { return data()[size_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data()[size_ - 1]; }

  friend bool operator==(const inplace_vector& a, const inplace_vector& b) {
    if (a.size_ != b.size_) return false;
    for (size_type i = 0; i < a.size_; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

 private:
  void take(inplace_vector&& other) {
#if defined(__clang__)
    // Relocates the elements as bytes, the whole array, if that is a few instructions.
    if constexpr (__is_trivially_relocatable(T) && sizeof(room_) <= 256) {
      size_ = std::exchange(other.size_, 0);
      __builtin_memcpy(static_cast<void*>(room_), static_cast<const void*>(other.room_), sizeof(room_));
      return;
    }
#endif
    for (T& each : other) emplace_back(std::move(each));
  }
  [[nodiscard]] size_type demand(size_type i) const {
    if (i >= size_) throw std::out_of_range("inplace_vector::at");
    return i;
  }

  size_type size_ = 0;
  union {
    T room_[N];  // the first size_ elements are alive
  };
};

}  // namespace rota
#endif
