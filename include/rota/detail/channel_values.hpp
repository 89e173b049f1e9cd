// Values that a sender replaces while receivers read them: where they are, and how they are read without
// tearing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/base_frames.hpp>
#include <rota/detail/channel_core.hpp>

namespace rota::channel::detail {

// PROTOCOL: values
//   A slot has one value, or none. A thread that puts one in or takes one out has the lock of the channel's
//   line. No code of T's runs there: a value is in words, which are copied as they are, or in a node of its
//   own, of which only the pointer moves.
//
//   in words, if a T is a few bytes that may be copied as such
//     turn_   0: is being replaced, or none; else the number of the value
//     put     turn_ becomes 0, then each word is written (release), then turn_ becomes the number (release)
//     peek    reads turn_ (acquire), each word (acquire), and turn_ again. If the number is the same, all
//             words are of that value: a reader that has read a word of a later value sees the 0 that was
//             written before that word, or a later turn. If not, it reads under the lock.
//
//   in nodes, for any other T
//     uses    one for the slot, and one for each reader: taken under the lock, given back without it. The
//             thread that gives back the last one frees the node.
//
//   V1  The value in a node never changes; a new value is a new node. A reader may take as long as it likes.
//   V2  There is a node for each value in a slot, for each value that is being sent, and for each that is
//       still read.

template <class T>
inline constexpr bool lies_in_words =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && sizeof(T) <= 64;

/// A private copy of a value, as bytes.
template <class T>
class words_value {
 public:
  static constexpr std::size_t count = (sizeof(T) + 7) / 8;

  words_value() noexcept = default;
  explicit words_value(const T& from) noexcept { __builtin_memcpy(bytes_, &from, sizeof(T)); }
  [[nodiscard]] T& get() noexcept { return *std::launder(reinterpret_cast<T*>(bytes_)); }
  [[nodiscard]] words_value clone() noexcept { return words_value(get()); }

 private:
  template <class>
  friend class words_slot;

  [[nodiscard]] std::uint64_t word(std::size_t i) const noexcept {
    std::uint64_t bits;
    __builtin_memcpy(&bits, bytes_ + 8 * i, 8);
    return bits;
  }
  void set_word(std::size_t i, std::uint64_t bits) noexcept { __builtin_memcpy(bytes_ + 8 * i, &bits, 8); }

  alignas(T) alignas(8) std::byte bytes_[8 * count] = {};
};

template <class T>
class words_slot {
 public:
  using value = words_value<T>;

  void put(value& from, std::uint64_t number) noexcept {
    // relaxed: the stores of the words below release it.
    turn_.store(0, base::order::relaxed);
    for (std::size_t i = 0; i < value::count; ++i) {
      // release: pairs with peek(): a reader that sees this word sees the 0.
      words_[i].store(from.word(i), base::order::release);
    }
    // release: pairs with peek(): a reader that sees the number sees the words.
    turn_.store(number, base::order::release);
  }
  /// Returns the number of the value that was read; 0 if there is none, or if it was being replaced.
  [[nodiscard]] std::uint64_t peek(value& into) const noexcept {
    // acquire: pairs with put(): the words are those of this number, or of a later one.
    const std::uint64_t number = turn_.load(base::order::acquire);
    for (std::size_t i = 0; i < value::count; ++i) {
      // acquire: pairs with put(): a later word makes the 0 visible.
      into.set_word(i, words_[i].load(base::order::acquire));
    }
    // relaxed: ordered after the loads of the words, which acquire.
    return turn_.load(base::order::relaxed) == number ? number : 0;
  }
  /// Reads the value. Under the lock.
  void read(value& into) const noexcept { static_cast<void>(peek(into)); }
  void take_out(value& /*into*/) noexcept {}

 private:
  base::atomic<std::uint64_t> turn_{0};
  base::atomic<std::uint64_t> words_[value::count];
};

/// Holds one use of a node, or none.
template <class T>
class node_value {
  static_assert(std::is_nothrow_destructible_v<T>,
                "what goes through a channel must be destroyed without throwing");

 public:
  node_value() noexcept = default;
  /// Throws std::bad_alloc, and what the constructor of T throws.
  explicit node_value(T&& from) : of_(make(std::move(from))) {}
  node_value(node_value&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  node_value(const node_value&) = delete;
  node_value& operator=(const node_value&) = delete;
  ~node_value() {
    // acq_rel: the release orders this reader's accesses before the end of the node; the acquire does so for
    // those of other readers.
    if (of_ != nullptr && of_->uses.fetch_sub(1, base::order::acq_rel) == 1) end();
  }
  [[nodiscard]] T& get() noexcept {
    base::note_read(of_);
    return of_->value;
  }
  [[nodiscard]] node_value clone() {
    node_value copy;
    copy.of_ = make(std::as_const(get()));
    return copy;
  }

 private:
  template <class>
  friend class node_slot;

  struct node {
    template <class U>
    node(std::in_place_t /*from*/, U&& from) : value(std::forward<U>(from)) {}
    base::atomic<std::uint32_t> uses{1};
    T value;
  };
  static constexpr bool is_wide = alignof(node) > 16;

  template <class U>
  static node* make(U&& from) {
    before_items();
    if constexpr (is_wide) {
      return ::new node(std::in_place, std::forward<U>(from));
    } else {
      void* const memory = base::allocate_frame(sizeof(node));
      try {
        return ::new (memory) node(std::in_place, std::forward<U>(from));
      } catch (...) {
        base::free_frame(memory, sizeof(node));
        throw;
      }
    }
  }
  void end() noexcept {
    before_items();
    base::note_write(of_);
    if constexpr (is_wide) {
      delete of_;
    } else {
      of_->~node();
      base::free_frame(of_, sizeof(node));
    }
  }

  node* of_ = nullptr;
};

template <class T>
class node_slot {
 public:
  using value = node_value<T>;

  /// Puts a value in. `from` holds the previous value then: it ends after the lock.
  void put(value& from, std::uint64_t /*number*/) noexcept { std::swap(holds_.of_, from.of_); }
  /// A read without the lock is not possible.
  [[nodiscard]] static std::uint64_t peek(value& /*into*/) noexcept { return 0; }
  /// Reads the value. Under the lock. `into` is empty.
  void read(value& into) const noexcept {
    // relaxed: the slot's own use keeps the node alive, and the lock orders this after the send.
    holds_.of_->uses.fetch_add(1, base::order::relaxed);
    into.of_ = holds_.of_;
  }
  void take_out(value& into) noexcept { std::swap(holds_.of_, into.of_); }

 private:
  value holds_;
};

template <class T>
using slot_for = std::conditional_t<lies_in_words<T>, words_slot<T>, node_slot<T>>;

}  // namespace rota::channel::detail
