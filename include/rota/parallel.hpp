// Parallel loops: a call for each item, a reduction to one value, a sort.
//
// Threads       Any task of a runtime. The calls come from several threads at once: shared data needs
//               synchronization.
// Ownership     The callables are kept, and called through references, until the loop is over. The elements
//               that the iterators refer to must live as long. All calls have returned when the co_await
//               returns, however it returns.
// Ordering      None between the calls for two items. All of them happen before the co_await returns.
// Failure       As when_all: the first exception stops the other parts, and is rethrown when they have
//               stopped. A part checks for a cancellation, and for other tasks that wait for its worker,
//               after every few items: as many as take 1 to 4 us, estimated from the items before, or as many
//               as the grain says. What was done until then stays done. If a worker is busy with other tasks,
//               the parts that wait for it notice a cancellation when they run.
// Cost          A frame for each part. There are as many parts as workers can run: a part splits off half of
//               its remaining items when a thread that looks for work would find none with this worker (lazy
//               binary splitting: A. Tzannes and others, 2010). Without a grain it does not split before its
//               loop has run for 8 us. On the thread of a block_on, which is no worker, the first split comes
//               at once.
// Example       examples/parallel.cpp
#pragma once

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <rota/detail/loop_pace.hpp>
#include <rota/detail/sorting.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>
#include <rota/when.hpp>

namespace rota {

struct parallel_options {
  /// A range of so many items is not split any more. 0: automatic, by the time that the items take; for a
  /// body that returns a task it means 1; for sorting 4096, which are sorted in one go.
  std::size_t grain = 0;
};

namespace core {

template <class I>
concept loop_index = std::integral<I> && !std::same_as<std::remove_cv_t<I>, bool>;
template <class I>
concept loop_bound = loop_index<I> || std::random_access_iterator<I>;

/// Returns the argument of the body: the index itself, or what the iterator points to.
template <loop_bound I>
[[nodiscard, gnu::always_inline]] inline decltype(auto) item_at(const I& at) {
  if constexpr (loop_index<I>) {
    return I{at};
  } else {
    return *at;
  }
}
template <loop_bound I>
using loop_item = decltype(item_at(std::declval<const I&>()));

/// Returns the number of items. 0 also if the bounds are in the wrong order. The whole range of a type does
/// not overflow.
template <loop_bound I>
[[nodiscard]] constexpr std::size_t items_between(const I& first, const I& last) noexcept {
  if (!(first < last)) return 0;
  if constexpr (loop_index<I>) {
    // Types smaller than int are subtracted as int, hence the casts.
    using bits = std::make_unsigned_t<I>;
    return static_cast<bits>(static_cast<bits>(last) - static_cast<bits>(first));
  } else {
    return static_cast<std::size_t>(last - first);
  }
}
template <loop_bound I>
[[nodiscard]] constexpr I item_after(const I& first, std::size_t items) noexcept {
  if constexpr (loop_index<I>) {
    using bits = std::make_unsigned_t<I>;
    return static_cast<I>(static_cast<bits>(static_cast<bits>(first) + static_cast<bits>(items)));
  } else {
    return first + static_cast<std::iter_difference_t<I>>(items);
  }
}

template <class F, class I>
concept loop_body = loop_bound<I> && requires(F& body, const I& at) { body(item_at(at)); };
template <class F, class I>
using body_result = decltype(std::declval<F&>()(item_at(std::declval<const I&>())));
template <class F, class I>
concept loop_body_of_tasks = loop_body<F, I> && is_task<std::remove_cvref_t<body_result<F, I>>>;

/// True if the result of a body is an awaitable, which the loop would not await.
template <class R>
inline constexpr bool is_left_unawaited = bindable<std::remove_reference_t<R>> || gives_awaiter<R>;

template <class F, class T>
concept combines = requires(F& f, T one, T other) { T(f(std::move(one), std::move(other))); };

struct as_it_is {
  template <class T>
  [[nodiscard]] constexpr T operator()(T&& item) const {
    return std::forward<T>(item);
  }
};
struct less_than {
  [[nodiscard]] constexpr bool operator()(const auto& one, const auto& other) const { return one < other; }
};

/// A plain function and not part of the coroutine, so that the compiler optimizes it like any other loop.
template <class I, class F>
[[gnu::noinline]] void call_for(I first, const I last, F& body) {
  for (; first != last; ++first) static_cast<void>(body(item_at(first)));
}

/// Does not check after the last items: a request that is consumed there would be lost, because this part has
/// no more items to stop.
[[nodiscard]] inline loop_pace::step next_step(loop_pace& pace, std::size_t left) noexcept {
  return left == 0 ? loop_pace::step::go_on : pace.look(left);
}

template <class I, class F>
task<void> for_each_in(I first, I last, F& body, loop_pace pace) {
  std::size_t left = items_between(first, last);
  for (loop_pace::step then = pace.first_look(left); left != 0; then = next_step(pace, left)) {
    if (then == loop_pace::step::split) {
      const I middle = item_after(first, left / 2);
      co_await when_all(for_each_in(first, middle, body, pace), for_each_in(middle, last, body, pace));
      co_return;
    }
    if (then == loop_pace::step::suspend) {
      co_await yield();
      pace.begin();
    }
    const std::size_t now = std::min(left, pace.items());
    const I next = item_after(first, now);
    call_for(first, next, body);
    first = next;
    left -= now;
  }
}

/// For a body that returns tasks. Each item may wait, so all parts exist at once.
template <class I, class F>
task<void> for_each_task_in(I first, I last, F& body, std::size_t grain) {
  const std::size_t items = items_between(first, last);
  if (items > grain) {
    const I middle = item_after(first, items / 2);
    co_await when_all(for_each_task_in(first, middle, body, grain),
                      for_each_task_in(middle, last, body, grain));
    co_return;
  }
  for (; first != last; ++first) static_cast<void>(co_await body(item_at(first)));
}

template <class T, class I, class Combine, class Transform>
[[gnu::noinline]] T fold_into(T sum, I first, const I last, Combine& combine, Transform& transform) {
  for (; first != last; ++first) sum = combine(std::move(sum), static_cast<T>(transform(item_at(first))));
  return sum;
}

/// Folds at least one item.
template <class T, class I, class Combine, class Transform>
task<T> fold_in(I first, I last, Combine& combine, Transform& transform, loop_pace pace) {
  T sum = static_cast<T>(transform(item_at(first)));
  ++first;
  std::size_t left = items_between(first, last);
  for (loop_pace::step then = pace.first_look(left); left != 0; then = next_step(pace, left)) {
    if (then == loop_pace::step::split) {
      const I middle = item_after(first, left / 2);
      auto [a, b] = co_await when_all(fold_in<T>(first, middle, combine, transform, pace),
                                      fold_in<T>(middle, last, combine, transform, pace));
      T both = combine(std::move(a), std::move(b));
      co_return combine(std::move(sum), std::move(both));
    }
    if (then == loop_pace::step::suspend) {
      co_await yield();
      pace.begin();
    }
    const std::size_t now = std::min(left, pace.items());
    const I next = item_after(first, now);
    sum = fold_into(std::move(sum), first, next, combine, transform);
    first = next;
    left -= now;
  }
  co_return sum;
}

/// Runs a part of a sort that other workers cannot help with, and checks for a suspension between its steps.
template <class Work>
task<void> done_in_steps(Work& work) {
  loop_pace pace(0);
  pace.begin();
  for (;;) {
    const bool is_done = work.step(static_cast<unsigned>(pace.items()));
    if (is_done) break;
    const loop_pace::step then = pace.look(0);
    if (then == loop_pace::step::suspend) {
      co_await yield();
      pace.begin();
    }
  }
}

template <class I, class Less>
task<void> sort_in(I first, I last, Less& less, std::size_t grain, unsigned cuts) {
  while (items_between(first, last) > grain) {
    if (cuts-- == 0) {
      heap_sort_in_steps heap(first, last, less);
      co_await done_in_steps(heap);
      co_return;
    }
    auto halves = cut_in_steps(first, last, less);
    co_await done_in_steps(halves);
    const I pivot = halves.pivot();
    if (pivot != first) {
      co_await when_all(sort_in(first, pivot, less, grain, cuts),
                        sort_in(pivot + 1, last, less, grain, cuts));
      co_return;
    }
    auto equal = cut_off_equal_in_steps(first, last, less);
    co_await done_in_steps(equal);
    first = equal.pivot() + 1;
  }
  sort_here(first, last, less, cuts);
}

/// Converts a bound for bounds of two types, such as 0 and v.size(). Throws `std::invalid_argument` if the
/// value does not fit.
template <loop_index C, loop_index I>
[[nodiscard]] constexpr C bound_as(I bound, const char* what) {
  const auto same = static_cast<C>(bound);
  if (static_cast<I>(same) != bound || (bound < I{}) != (same < C{})) throw std::invalid_argument(what);
  return same;
}

}  // namespace core

/// Calls `body(i)` for each i from `first` to before `last`; for iterators `body(*it)`. Does nothing if
/// `last` is not above `first`. If the body returns a task, the loop awaits it: the items wait concurrently,
/// each as a child of its own, unless a grain says how many run one after the other.
template <core::loop_bound I, core::loop_body<I> F>
task<void> parallel_for(I first, I last, F body, parallel_options options = {}) {
  if constexpr (core::loop_body_of_tasks<F, I>) {
    co_await core::for_each_task_in(first, last, body, options.grain == 0 ? 1 : options.grain);
  } else {
    static_assert(
        !core::is_left_unawaited<core::body_result<F, I>>,
        "parallel_for: the body returns an awaitable, which would never be awaited: let it return a task");
    co_await core::for_each_in(first, last, body, core::loop_pace(options.grain));
  }
}
/// The same for bounds of two integer types. The indices are of their common type. Throws
/// `std::invalid_argument` if a bound does not fit.
template <core::loop_index I, core::loop_index J, core::loop_body<std::common_type_t<I, J>> F>
  requires(!std::same_as<I, J>)
ROTA_DETAIL_WRAPPER task<void> parallel_for(I first, J last, F body, parallel_options options = {}) {
  using index = std::common_type_t<I, J>;
  const index from = core::bound_as<index>(first, "parallel_for: first is negative, and last is unsigned");
  const index to = core::bound_as<index>(last, "parallel_for: last is negative, and first is unsigned");
  return parallel_for(from, to, std::move(body), options);
}

/// Combines `init` with `transform` of each item, in the order of the items. `transform` is called as
/// parallel_for's body. `combine(T, T)` must be associative, and need not be commutative. The grouping of the
/// items depends on which workers were free, so a sum of floating-point numbers may differ in its last bits
/// from run to run.
template <class T, core::loop_bound I, class Combine, core::loop_body<I> Transform>
  requires core::combines<Combine, T>
task<T> parallel_reduce(
    I first, I last, T init, Combine combine, Transform transform, parallel_options options = {}) {
  static_assert(!core::is_task<core::body_result<Transform, I>> &&
                    !core::is_left_unawaited<core::body_result<Transform, I>>,
                "parallel_reduce: transform returns an awaitable, which would never be awaited");
  if (!(first < last)) co_return init;
  T sum = co_await core::fold_in<T>(first, last, combine, transform, core::loop_pace(options.grain));
  co_return combine(std::move(init), std::move(sum));
}
/// The same for the items themselves.
template <class T, core::loop_bound I, class Combine>
  requires core::combines<Combine, T>
ROTA_DETAIL_WRAPPER task<T> parallel_reduce(
    I first, I last, T init, Combine combine, parallel_options options = {}) {
  return parallel_reduce(first, last, std::move(init), std::move(combine), core::as_it_is(), options);
}

/// Sorts as std::sort does: in place, not stable, O(n log n) comparisons. Each of the first cuts is made by
/// one thread, so it is at most log2(n) / 2 times as fast as one thread. If it is cancelled, or a comparison
/// throws between two cuts, the elements are in any order. If a comparison throws in a part that is being
/// sorted, the elements are valid, as with std::sort.
template <std::random_access_iterator I, class Less = core::less_than>
  requires std::sortable<I, Less> && requires(Less& less, const I& at) { less(*at, *at); }
task<void> parallel_sort(I first, I last, Less less = {}, parallel_options options = {}) {
  constexpr std::size_t usual = 4096;
  const std::size_t grain = options.grain == 0 ? usual : std::max<std::size_t>(options.grain, core::few);
  co_await core::sort_in(first, last, less, grain, core::most_cuts(first, last));
}

}  // namespace rota
