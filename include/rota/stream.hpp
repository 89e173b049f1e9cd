// Stages between a source, which yields values one after the other, and a consumer.
//
//   auto orders = rota::stream::filter(std::move(receiver), is_paid);
//   co_await rota::with_scope([&](rota::scope& s) -> rota::task<void> {
//     // pack returns a task; eight at once, results in order
//     auto parcels = rota::stream::buffered(s, std::move(orders), 8, pack);
//     for (;;) {
//       auto parcel = co_await parcels.next();
//       if (!parcel) break;
//       ship(*parcel);
//     }
//   });
//
// A source is an async_generator, the receiver of a channel, or any type with a next() or a recv() that
// yields a std::optional. A stage is an async_generator, so its next() yields a std::optional, too, and it is
// a source.
//
// Threads       As async_generator. The work of merge and buffered beside the consumer is done by tasks of
//               the scope that they are given.
// Ownership     A stage owns its source and its function. What a function or a source refers to must outlive
//               the stage; for a stage with a scope, it must outlive the scope. Such a stage must be
//               destroyed, or have come to its end, before the body of its scope is over: the scope waits for
//               the stage's tasks.
// Ordering      Values come in the order of their source; those of merge in the order in which they arrive.
// Failure       What a source or a function throws is thrown by next(), and the stage is at its end then. A
//               cancelled stage unwinds with its consumer. A stage that is destroyed before its end destroys
//               its source. The tasks of its scope that work for it are cancelled, and have ended when the
//               scope has. A value that was requested, and not yielded yet, is destroyed with the stage.
// Cost          A frame for each stage, none for a value except the tasks of buffered.
// Example       examples/stream.cpp
#pragma once

#include <cstdint>

#include <rota/detail/stream_stages.hpp>
#include <rota/time.hpp>

namespace rota::stream {

template <class S>
concept source = std::is_object_v<S> && std::is_move_constructible_v<S> && requires(S& from) {
  detail::ask(from);
  requires detail::is_optional<detail::asked<S>>;
};

template <source S>
using item_of = typename detail::asked<S>::value_type;

/// Yields f(value) for each value. `f` returns the result, or a task of it. The tasks run one after the
/// other; see buffered.
template <source S, class F>
  requires std::is_invocable_v<F&, item_of<S>>
async_generator<detail::result_of<F, item_of<S>>> map(S from, F f) {
  for (;;) {
    auto each = co_await detail::ask(from);
    if (!each) co_return;
    if constexpr (detail::returns_task<F, item_of<S>>) {
      auto work = f(std::move(*each));
      detail::result_of<F, item_of<S>> made = co_await std::move(work);
      co_yield std::move(made);
    } else {
      co_yield f(std::move(*each));
    }
  }
}

/// Yields the values for which f(value) is true, or yields true as a task.
template <source S, class F>
  requires std::is_invocable_v<F&, const item_of<S>&>
async_generator<item_of<S>> filter(S from, F f) {
  for (;;) {
    auto each = co_await detail::ask(from);
    if (!each) co_return;
    bool passes = false;
    if constexpr (detail::returns_task<F, const item_of<S>&>) {
      auto work = f(std::as_const(*each));
      passes = co_await std::move(work);
    } else {
      passes = f(std::as_const(*each));
    }
    if (passes) co_yield std::move(*each);
  }
}

/// Yields the first n values, without a request for one more.
template <source S>
async_generator<item_of<S>> take(S from, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    auto each = co_await detail::ask(from);
    if (!each) co_return;
    co_yield std::move(*each);
  }
}

/// Yields at most one value per `period`: the first at once, and each later one at least a period after the
/// previous one. It waits here meanwhile, and does not request more from the source. next() throws
/// `std::invalid_argument` unless the period is above zero.
template <source S, core::span_of_time Span>
async_generator<item_of<S>> throttle(S from, Span period) {
  interval pace(period, missed_tick::delay);
  pace.reset_immediately();
  for (;;) {
    auto each = co_await detail::ask(from);
    if (!each) co_return;
    static_cast<void>(co_await pace.tick());
    co_yield std::move(*each);
  }
}

/// Yields the values of several receivers, fairly, until all have ended. It has no task beside the consumer.
template <source... S>
  requires(sizeof...(S) > 0 && (detail::has_recv<S> && ...))
[[nodiscard]] auto merge(S... from) {
  using item = std::common_type_t<item_of<S>...>;
  static_assert((std::is_same_v<item, item_of<S>> && ...),
                "the sources of a merge give the same type: map them");
  return detail::merge_open<item, S...>(detail::open_source<S>(std::move(from))...);
}

/// The same for any sources. For each source a task of `in` requests values, beginning now, and is one value
/// ahead. Values must move without throwing.
template <source... S>
  requires(sizeof...(S) > 0)
[[nodiscard]] auto merge(scope& in, S... from) {
  using item = std::common_type_t<item_of<S>...>;
  static_assert((std::is_same_v<item, item_of<S>> && ...),
                "the sources of a merge give the same type: map them");
  auto values = channel::bounded<outcome<item>>(1);
  auto going = channel::bounded<char>(1);
  (in.fork(detail::while_wanted(detail::pump<item, S>(std::move(from), values.sender), going.receiver)), ...);
  return detail::received<item>(std::move(values.receiver), std::move(going.sender));
}

/// Yields the results of f(value), a task, with at most `limit` tasks at once, in the order of the source.
/// They are children of a task of `in`, which begins now, and requests the next value as soon as there is
/// room, whether or not the consumer waits. The first exception ends the stage, in its turn. Values, and the
/// results of f, must move without throwing. Throws `std::invalid_argument` for a limit of 0.
template <source S, class F>
  requires detail::returns_task<F, item_of<S>>
[[nodiscard]] async_generator<detail::result_of<F, item_of<S>>> buffered(scope& in,
                                                                         S from,
                                                                         std::size_t limit,
                                                                         F f) {
  using result = detail::result_of<F, item_of<S>>;
  if (limit == 0) detail::throw_no_window();
  auto values = channel::bounded<outcome<result>>(1);
  auto going = channel::bounded<char>(1);
  auto work =
      detail::run_buffered<result, S, F>(std::move(from), limit, std::move(f), std::move(values.sender));
  in.fork(detail::while_wanted(std::move(work), std::move(going.receiver)));
  return detail::received<result>(std::move(values.receiver), std::move(going.sender));
}

}  // namespace rota::stream
