// Stages between what gives values one after the other and who uses them.
//
//   auto orders = rota::stream::filter(std::move(receiver), is_paid);
//   co_await rota::with_scope([&](rota::scope& s) -> rota::task<void> {
//     auto parcels = rota::stream::buffered(s, std::move(orders), 8, pack);    // pack: a task; eight at once, in order
//     for (;;) {
//       auto parcel = co_await parcels.next();
//       if (!parcel) break;
//       ship(*parcel);
//     }
//   });
//
// A source is an async_generator, the receiver of a channel, or whatever else has a next() or a recv() that yields a std::optional. A stage
// is an async_generator, so its next() gives a std::optional, too, and it is a source.
//
// Threads       As async_generator. What works for merge and buffered beside the consumer are tasks of the scope that they are given.
// Ownership     A stage owns its source and its function. Where a function or a source refers to something, that must outlive the stage;
//               for those with a scope, the scope. Such a stage must go, or have come to its end, before the body of its scope is over:
//               the scope waits for what works for it.
// Ordering      Values come in the order of their source; of merge in the order in which they come.
// Failure       What a source or a function throws comes out of next(), and the stage is at its end then. Cancelled, a stage unwinds with its
//               consumer. One that goes in the middle takes its source along; what a scope's tasks do for it is cancelled, and has ended when
//               the scope has. A value that was asked for, and not given yet, goes with it.
// Cost          A frame a stage, none for each value but the tasks of buffered.
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

/// f(value) of each. `f` returns that, or a task of it: one after the other, then; see buffered.
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

/// Those for which f(value) is true, or gives true as a task.
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

/// The first n, without asking for one more.
template <source S>
async_generator<item_of<S>> take(S from, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    auto each = co_await detail::ask(from);
    if (!each) co_return;
    co_yield std::move(*each);
  }
}

/// At most one each `period`: the first at once, and each at least a period after the one before was given; it waits here meanwhile, and
/// the source is not asked for more. Throws `std::invalid_argument` from next() unless the period is above zero.
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

/// What comes from any of some receivers, fairly, until all have ended. Nobody works for it beside the consumer.
template <source... S>
  requires(sizeof...(S) > 0 && (detail::has_recv<S> && ...))
[[nodiscard]] auto merge(S... from) {
  using item = std::common_type_t<item_of<S>...>;
  static_assert((std::is_same_v<item, item_of<S>> && ...),
                "the sources of a merge give the same type: map them");
  return detail::merge_open<item, S...>(detail::open_source<S>(std::move(from))...);
}

/// The same of any sources. A task of `in` asks each of them, beginning now, and is one value ahead. Values must move without throwing.
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

/// f(value) of each, a task, at most `limit` of them at once, their values in the order of the source. They are children of a task of `in`,
/// which begins now, and asks the source for one more as soon as there is room, whether or not the consumer asks. The first exception ends
/// it, in its turn. Values, and what f gives, must move without throwing. Throws `std::invalid_argument` for a limit of 0.
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
