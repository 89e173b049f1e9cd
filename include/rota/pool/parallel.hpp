// Parallel loops on the threads of a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/pool/thread_pool.hpp>

namespace rota::pool {

/// How the indices of a loop are divided among the threads.
enum class chunking : unsigned char {
  fixed,    // one equal piece for each thread: for bodies that take equally long
  dynamic,  // pieces of `grain`, each to the next free thread
  guided,   // pieces that become smaller, but never smaller than `grain`
};

[[nodiscard]] constexpr const char* to_string(chunking how) noexcept {
  switch (how) {
    case chunking::fixed: return "fixed";
    case chunking::dynamic: return "dynamic";
    case chunking::guided: return "guided";
  }
  return "unknown";
}

/// A body may return this instead of nothing.
enum class loop : unsigned char { go_on, stop };

struct loop_options {
  chunking how = chunking::guided;
  std::size_t grain = 1;    // indices; at least 1
  unsigned threads = 0;     // number of threads, with the calling one; 0: as many as the pool may have
  std::ptrdiff_t step = 0;  // from one index to the next; 0: 1 or -1, towards the last index
  int priority = 0;         // of the helping works
  std::string group{};
};

/// Thrown by a loop if several bodies threw. If one body threw, its own exception is thrown.
class ROTA_API loop_error : public error {
 public:
  explicit loop_error(std::vector<std::exception_ptr> all)
      : error(errc::cancelled, "several bodies of a loop threw"), all_(std::move(all)) {}

  /// Returns the exceptions in the order in which they were thrown.
  [[nodiscard]] const std::vector<std::exception_ptr>& all() const noexcept { return all_; }

 private:
  std::vector<std::exception_ptr> all_;
};

namespace detail {

/// Runs `count` turns on this thread and on threads of the pool. `run(body, thread, first, last)` runs some
/// of them, and returns false to end the loop. `thread` is a number from 0, less than `threads`.
struct loop_plan {
  void* body;
  bool (*run)(void* body, unsigned thread, std::size_t first, std::size_t last);
  std::size_t count;
  unsigned threads = 0;  // 0: threads_of_loop()
};
ROTA_API void run_loop(thread_pool& pool, const loop_plan& plan, const loop_options& options);
[[nodiscard]] ROTA_API unsigned threads_of_loop(const thread_pool& pool, const loop_options& options);
/// Returns the number of indices for this distance, and sets a `step` of 0. Throws std::invalid_argument.
[[nodiscard]] ROTA_API std::size_t turns_of_loop(bool upwards, std::uint64_t distance, std::ptrdiff_t& step);
/// The distance is unsigned: the distance of a wide loop does not fit into a signed number.
template <class Index>
std::size_t turns_between(Index first, Index last, std::ptrdiff_t& step) {
  const bool upwards = first <= last;
  const auto lower = static_cast<std::uint64_t>(upwards ? first : last);
  const auto upper = static_cast<std::uint64_t>(upwards ? last : first);
  return turns_of_loop(upwards, upper - lower, step);
}

/// Unsigned arithmetic: the number of turns of a wide loop does not fit into a signed number.
template <class Index>
Index index_at(Index first, std::size_t turn, std::ptrdiff_t step) noexcept {
  return static_cast<Index>(static_cast<std::uint64_t>(first) + turn * static_cast<std::uint64_t>(step));
}

template <class F, class... Args>
bool goes_on(F& body, Args&&... args) {
  if constexpr (std::is_same_v<std::invoke_result_t<F&, Args...>, loop>) {
    return body(std::forward<Args>(args)...) == loop::go_on;
  } else {
    body(std::forward<Args>(args)...);
    return true;
  }
}

template <class F>
void run_turns(
    thread_pool& pool, std::size_t count, F turn, const loop_options& options, unsigned threads = 0) {
  run_loop(pool,
           {.body = &turn,
            .run =
                [](void* body, unsigned thread, std::size_t first, std::size_t last) {
                  for (; first != last; ++first) {
                    if (!(*static_cast<F*>(body))(thread, first)) return false;
                  }
                  return true;
                },
            .count = count,
            .threads = threads},
           options);
}

}  // namespace detail

/// Calls `body(i)` for each index from `first` up to, but not including, `last`: on this thread and on
/// threads of the pool, in no order.
///
/// Threads       Any, also inside of works of the pool. Blocks until every body that has begun has returned.
/// Ownership     `body` and what it refers to stay the caller's.
/// Ordering      All bodies happen before the return.
/// Failure       If a body throws, the loop ends: its thread calls no further body, and no thread takes
///               another piece, except a thread that claims one at the same moment. A piece that another
///               thread has begun is run to its end. Then the exception is thrown. If several bodies threw,
///               loop_error is thrown. A body that returns loop::stop ends the loop in the same way, without
///               an exception. If the calling work is asked to stop, the loop ends before the calling thread
///               takes its next piece, and work_stopped is thrown. Throws std::invalid_argument for a grain
///               of 0 or a step in the wrong direction, and std::bad_alloc for the loop itself: then nothing
///               has begun. If submit() throws for a helping work, the loop ends as if a body had thrown:
///               some bodies may have begun. But a full queue, a pool that ends, or errc::too_many_works does
///               not end the loop: the threads that take part run all of it.
/// Cost          One work for each helping thread. Helping works that have not begun at the end are
///               cancelled.
/// Example       examples/pool_loops.cpp
template <std::integral Index, class F>
void for_index(thread_pool& pool, Index first, Index last, const loop_options& options, F&& body) {
  std::ptrdiff_t step = options.step;
  const std::size_t turns = detail::turns_between(first, last, step);
  detail::run_turns(
      pool,
      turns,
      [&](unsigned, std::size_t turn) {
        const auto index = detail::index_at(first, turn, step);
        return detail::goes_on(body, index);
      },
      options);
}
template <std::integral Index, class F>
void for_index(thread_pool& pool, Index first, Index last, F&& body) {
  const loop_options options{};
  for_index(pool, first, last, options, std::forward<F>(body));
}

/// Calls `body(item)`, or `body(item, position)`, for each item of a range that has a size and can be
/// indexed.
template <class Range, class F>
void for_each(thread_pool& pool, Range&& range, const loop_options& options, F&& body) {
  const auto begin = range.begin();
  detail::run_turns(
      pool,
      static_cast<std::size_t>(range.end() - begin),
      [&](unsigned, std::size_t position) {
        auto&& item = begin[static_cast<std::ptrdiff_t>(position)];
        if constexpr (std::is_invocable_v<F&, decltype(item), std::size_t>) {
          return detail::goes_on(body, item, position);
        } else {
          return detail::goes_on(body, item);
        }
      },
      options);
}
template <class Range, class F>
void for_each(thread_pool& pool, Range&& range, F&& body) {
  const loop_options options{};
  for_each(pool, std::forward<Range>(range), options, std::forward<F>(body));
}

/// Returns the combination of `identity` and `map(i)` for all indices. The order is undefined, so `combine`
/// must be associative and commutative.
template <std::integral Index, class T, class Map, class Combine>
// NOLINTNEXTLINE(readability-function-size): the parameters of a loop, and those of a reduction
[[nodiscard]] T reduce(thread_pool& pool,
                       Index first,
                       Index last,
                       T identity,
                       const loop_options& options,
                       Map&& map,
                       Combine&& combine) {
  std::ptrdiff_t step = options.step;
  const std::size_t turns = detail::turns_between(first, last, step);
  struct alignas(64) part {
    std::optional<T> sum;
  };
  const unsigned threads = detail::threads_of_loop(pool, options);
  std::vector<part> parts(threads);
  detail::run_turns(
      pool,
      turns,
      [&](unsigned thread, std::size_t turn) {
        const auto index = detail::index_at(first, turn, step);
        std::optional<T>& sum = parts[thread].sum;
        sum.emplace(combine(sum.has_value() ? std::move(*sum) : identity, map(index)));
        return true;
      },
      options,
      threads);
  T total = std::move(identity);
  for (part& each : parts) {
    if (each.sum.has_value()) total = combine(std::move(total), std::move(*each.sum));
  }
  return total;
}
template <std::integral Index, class T, class Map, class Combine>
[[nodiscard]] T reduce(thread_pool& pool, Index first, Index last, T identity, Map&& map, Combine&& combine) {
  const loop_options options{};
  return reduce(pool,
                first,
                last,
                std::move(identity),
                options,
                std::forward<Map>(map),
                std::forward<Combine>(combine));
}

}  // namespace rota::pool
