// Values that somebody replaces while others read them: where they lie, and how they are read whole.
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
//   A slot has one value, or none. Who puts one in or takes one out has the lock of the channel's line. No code of T's runs there: a value
//   lies in words, which are copied as they are, or in a node of its own, of which only the pointer moves.
//
//   in words, where a T is a few bytes that may be copied as such
//     turn_   0: is being replaced, or none; else the number of the value
//     put     turn_ becomes 0, then each word is written (release), then turn_ becomes the number (release)
//     peek    turn_ (acquire), each word (acquire), turn_ again: the same number, and all words are of that value. Who has read a word of a
//             later value sees the 0 that was written before that word, or what came after. If not the same: under the lock.
//
//   in nodes, for any other T
//     uses    one is the slot's, and each who reads has one: taken under the lock, given back without. Who gives back the last one ends
//             the node.
//
//   V1  What is in a node never changes; a new value is a new node. A reader may take as long as it likes.
//   V2  There is a node for each value in a slot, for each that is just being sent, and for each that is still read.

template <class T>
inline constexpr bool lies_in_words =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && sizeof(T) <= 64;

/// A value of one's own, as bytes.
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
    // relaxed. The words below release it.
    turn_.store(0, base::order::relaxed);
    for (std::size_t i = 0; i < value::count; ++i) {
      // release. Pairs with peek(): who sees this word sees the 0.
      words_[i].store(from.word(i), base::order::release);
    }
    // release. Pairs with peek(): who sees the number sees the words.
    turn_.store(number, base::order::release);
  }
  /// 0: it was just being replaced, or there is none. Else the number of what was read.
  [[nodiscard]] std::uint64_t peek(value& into) const noexcept {
    // acquire. Pairs with put(): the words are those of this number, or later ones.
    const std::uint64_t number = turn_.load(base::order::acquire);
    for (std::size_t i = 0; i < value::count; ++i) {
      // acquire. Pairs with put(): a later one brings the 0 along.
      into.set_word(i, words_[i].load(base::order::acquire));
    }
    // relaxed. It comes after the words, which acquire.
    return turn_.load(base::order::relaxed) == number ? number : 0;
  }
  /// Under the lock.
  void read(value& into) const noexcept { static_cast<void>(peek(into)); }
  void take_out(value& /*into*/) noexcept {}

 private:
  base::atomic<std::uint64_t> turn_{0};
  base::atomic<std::uint64_t> words_[value::count];
};

/// One use of a node, or none.
template <class T>
class node_value {
  static_assert(std::is_nothrow_destructible_v<T>,
                "what goes through a channel must be destroyed without throwing");

 public:
  node_value() noexcept = default;
  /// Throws std::bad_alloc, and what the constructor throws.
  explicit node_value(T&& from) : of_(make(std::move(from))) {}
  node_value(node_value&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  node_value(const node_value&) = delete;
  node_value& operator=(const node_value&) = delete;
  ~node_value() {
    // acq_rel. release: what was read comes before the end. acquire: so does what others read.
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

  /// What was there is in `from` then: it ends after the lock.
  void put(value& from, std::uint64_t /*number*/) noexcept { std::swap(holds_.of_, from.of_); }
  /// Not without the lock.
  [[nodiscard]] static std::uint64_t peek(value& /*into*/) noexcept { return 0; }
  /// Under the lock. `into` has none.
  void read(value& into) const noexcept {
    // relaxed. The slot's own use keeps it, and the lock orders it after the send.
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
