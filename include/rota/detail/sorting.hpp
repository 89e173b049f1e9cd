// The parts of parallel_sort that do not use tasks.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#if __has_include(<bits/stl_algo.h>)
#include <bits/stl_algo.h>  // no ranges of <algorithm>, no streams of <iterator>: halves a translation unit
#else
#include <algorithm>
#include <iterator>
#endif

namespace rota::core {

template <class I, class Less>
[[nodiscard]] I median_of_three(I a, I b, I c, Less& less) {
  if (less(*b, *a)) std::swap(a, b);
  if (!less(*c, *b)) return b;
  return less(*c, *a) ? a : c;
}

/// Returns the median of some elements that are spread over the range. Their distances are uneven, so that no
/// pattern in the range makes it a bad pivot again and again.
template <class I, class Less>
[[nodiscard, gnu::noinline]] I choose_pivot(I first, I last, Less& less) {
  using difference = std::iter_difference_t<I>;
  const difference size = last - first;
  if (size < 512) return median_of_three(first + size / 4, first + size / 2, first + size / 4 * 3, less);
  constexpr difference most = 127;
  const difference count = size < (1 << 16) ? 15 : most;
  const difference stride = size / count;
  std::array<I, most> chosen;
  auto state = static_cast<std::uint64_t>(size);
  for (difference i = 0; i < count; ++i) {
    // Knuth's MMIX generator.
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    const auto aside = static_cast<difference>((state >> 33U) % static_cast<std::uint64_t>(stride));
    chosen[static_cast<std::size_t>(i)] = first + (i * stride + aside);
  }
  const auto begin = chosen.begin();
  std::nth_element(
      begin, begin + count / 2, begin + count, [&](const I& a, const I& b) { return less(*a, *b); });
  return chosen[static_cast<std::size_t>(count / 2)];
}

/// A partition that runs in steps. No branch depends on a comparison (S. Edelkamp, A. Weiss: BlockQuicksort,
/// 2016): from either end, a block at a time, it notes the positions of the elements that are on the wrong
/// side, and then swaps them.
///
/// Between two steps, and if a comparison throws, the range is a permutation of what it was.
template <class I, class GoesLeft>
class partition_in_steps {
 public:
  /// Partitions around the element at `first`. `goes_left(element, pivot)` tells for each other element
  /// whether it belongs left of the pivot.
  partition_in_steps(I first, I last, GoesLeft goes_left)
      : pivot_(first), left_(first + 1), right_(last), goes_left_(std::move(goes_left)) {}

  /// Handles `blocks` blocks, or a few less. Returns true if the partition is done.
  [[nodiscard, gnu::noinline]] bool step(unsigned blocks) {
    for (; left_ != right_; --blocks) {
      if (blocks == 0) return false;
      const auto unknown = static_cast<std::size_t>(right_ - left_);
      std::size_t of_left = 0;
      if (wrong_left_.count == 0) of_left = wrong_right_.count == 0 ? unknown / 2 : unknown;
      const std::size_t of_right = wrong_right_.count == 0 ? unknown - of_left : 0;
      if (of_left != 0) note_left(std::min(of_left, block));
      if (of_right != 0) note_right(std::min(of_right, block));
      swap_wrong_ones();
    }
    // The noted positions of one side have no partners: their elements go to the middle, which moves.
    I middle = left_;
    while (wrong_left_.count != 0) std::iter_swap(left_base_ + wrong_left_.last(), --middle);
    for (; wrong_right_.count != 0; ++middle) std::iter_swap(right_base_ - 1 - wrong_right_.last(), middle);
    std::iter_swap(pivot_, --middle);
    pivot_ = middle;
    return true;
  }
  /// When it is done: the position of the pivot. The elements before it belong left of it; those behind it do
  /// not.
  [[nodiscard]] I pivot() const noexcept { return pivot_; }

 private:
  static constexpr std::size_t block = 64;
  using difference = std::iter_difference_t<I>;
  using value = std::iter_value_t<I>;
  using known_pivot = std::conditional_t<std::is_trivially_copyable_v<value> &&
                                             std::is_copy_constructible_v<value> && sizeof(value) <= 16,
                                         value,
                                         const value&>;

  /// Positions in a block, counted from its outer end.
  struct positions {
    std::array<unsigned char, block> at;
    unsigned begin = 0;
    unsigned count = 0;

    [[nodiscard]] unsigned last() noexcept { return at[begin + --count]; }
  };

  void note_left(std::size_t size) {
    const I left = left_;
    const known_pivot pivot = *pivot_;
    note(wrong_left_, size, [left, &pivot, goes_left = &goes_left_](difference i) {
      return !(*goes_left)(left[i], pivot);
    });
    left_base_ = left;
    left_ = left + static_cast<difference>(size);
  }
  void note_right(std::size_t size) {
    const I right = right_;
    const known_pivot pivot = *pivot_;
    note(wrong_right_, size, [right, &pivot, goes_left = &goes_left_](difference i) {
      return (*goes_left)(*(right - 1 - i), pivot);
    });
    right_base_ = right;
    right_ = right - static_cast<difference>(size);
  }
  /// Notes the positions of a block that are wrong. The state of `is_wrong` is no part of this object: a
  /// position is stored as a byte, and the compiler must assume that such a store may change any object that
  /// it can reach.
  template <class IsWrong>
  [[gnu::always_inline]] static void note(positions& wrong, std::size_t size, IsWrong is_wrong) {
    unsigned char* const at = wrong.at.data();
    unsigned count = 0;
    for (unsigned i = 0; i < size; ++i) {
      at[count] = static_cast<unsigned char>(i);
      count += is_wrong(static_cast<difference>(i)) ? 1U : 0U;
    }
    wrong.begin = 0;
    wrong.count = count;
  }
  void swap_wrong_ones() {
    const unsigned count = std::min(wrong_left_.count, wrong_right_.count);
    for (unsigned i = 0; i < count; ++i) {
      std::iter_swap(left_base_ + wrong_left_.at[wrong_left_.begin + i],
                     right_base_ - 1 - wrong_right_.at[wrong_right_.begin + i]);
    }
    wrong_left_.begin += count;
    wrong_left_.count -= count;
    wrong_right_.begin += count;
    wrong_right_.count -= count;
  }

  I pivot_;
  I left_;  // the elements from here to right_ were not compared yet
  I right_;
  I left_base_{};
  I right_base_{};
  [[no_unique_address]] GoesLeft goes_left_;
  positions wrong_left_;
  positions wrong_right_;
};

/// Cuts a range into the elements that are less than the pivot, the pivot, and the others.
template <class Less>
struct is_less {
  Less* less;
  [[nodiscard]] bool operator()(const auto& element, const auto& pivot) const {
    return (*less)(element, pivot);
  }
};
/// Cuts a range without elements less than the pivot: into those that are equal to it, the pivot as the last
/// of them, and the others.
template <class Less>
struct is_equal {
  Less* less;
  [[nodiscard]] bool operator()(const auto& element, const auto& pivot) const {
    return !(*less)(pivot, element);
  }
};

/// Cuts a range of two elements or more.
template <class I, class Less>
[[nodiscard]] auto cut_in_steps(I first, I last, Less& less) {
  std::iter_swap(first, choose_pivot(first, last, less));
  return partition_in_steps(first, last, is_less<Less>{&less});
}
/// Cuts off the elements that are equal to the pivot. It is at `first`, and no element is less.
template <class I, class Less>
[[nodiscard]] auto cut_off_equal_in_steps(I first, I last, Less& less) {
  return partition_in_steps(first, last, is_equal<Less>{&less});
}

/// Returns how often a range may be cut. A range that needs more cuts is an adversarial input and is
/// heap-sorted.
template <class I>
[[nodiscard]] unsigned most_cuts(I first, I last) noexcept {
  return 2 * static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(last - first)));
}

/// Sorts in O(n log n) for any input.
template <class I, class Less>
class heap_sort_in_steps {
 public:
  heap_sort_in_steps(I first, I last, Less& less) : first_(first), heap_(first), last_(last), less_(&less) {}

  /// Moves `elements` elements into the heap, or out of it. Returns true if the range is sorted.
  [[nodiscard]] bool step(unsigned elements) {
    const auto by_reference = [this](const auto& a, const auto& b) { return (*less_)(a, b); };
    for (; elements != 0 && !is_heap_ && heap_ != last_; --elements) {
      ++heap_;
      std::push_heap(first_, heap_, by_reference);
    }
    is_heap_ = is_heap_ || heap_ == last_;
    for (; elements != 0 && is_heap_ && heap_ != first_; --elements) {
      std::pop_heap(first_, heap_, by_reference);
      --heap_;
    }
    return is_heap_ && heap_ == first_;
  }

 private:
  I first_;
  I heap_;  // its end
  I last_;
  Less* less_;
  bool is_heap_ = false;
};

/// Does all steps at once.
template <class Work>
[[nodiscard]] Work finished(Work work) {
  while (!work.step(1'000)) {
  }
  return work;
}

/// Ranges of at most this size are left to std::sort, which inserts each element, or cuts once more.
inline constexpr std::ptrdiff_t few = 24;

/// Sorts the range at once, without steps.
template <class I, class Less>
void sort_here(I first, I last, Less& less, unsigned cuts) {
  while (last - first > few) {
    if (cuts-- == 0) {
      static_cast<void>(finished(heap_sort_in_steps(first, last, less)));
      return;
    }
    const I pivot = finished(cut_in_steps(first, last, less)).pivot();
    if (pivot == first) {
      first = finished(cut_off_equal_in_steps(first, last, less)).pivot() + 1;
    } else {
      sort_here(first, pivot, less, cuts);
      first = pivot + 1;
    }
  }
  std::sort(first, last, [&](const auto& a, const auto& b) { return less(a, b); });
}

}  // namespace rota::core
