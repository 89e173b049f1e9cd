// Waits for the first of several: receives, sends, locks, timers, ends of tasks, sockets.
#pragma once

#include <type_traits>
#include <utility>

#include <rota/channel/selected.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/select_cases.hpp>
#include <rota/detail/select_list.hpp>

namespace rota::channel {

/// Makes a case with a handler for its value: `f(value)`, or `f()` if it has none.
template <class A, class F>
[[nodiscard]] constexpr auto on(A&& one ROTA_DETAIL_KEPT, F&& f ROTA_DETAIL_KEPT) noexcept {
  const auto made = detail::as_case<A>(one);
  static_assert(std::is_void_v<typename decltype(made)::handler>, "this case has a handler already");
  return made.with(f);
}

/// Makes a case that takes part only if `condition` holds; else it is not even started. `one` is made in any
/// case: recv() of an empty half ends the program, whatever `condition` is.
template <class A>
[[nodiscard]] constexpr auto when(bool condition, A&& one ROTA_DETAIL_KEPT) noexcept {
  return detail::as_case<A>(one).only_if(condition);
}

/// Waits until the first of its cases is ready, and takes the value of that case, and nothing else.
///
///   auto first = co_await rota::channel::select(requests.recv(), stop.wait(), rota::sleep_for(1s));
///   switch (first.index()) {
///     case 0: ...  first.get<0>()   // std::optional<request>, as co_await requests.recv() gives it
///     case 1: co_return;
///     case 2: ...                   // a second without a request
///   }
///
///   co_await rota::channel::select(       // or each with a handler: the select yields what that returns
///       rota::channel::on(requests.recv(), [&](std::optional<request> got) { ... }),
///       rota::channel::on(rota::sleep_for(1s), [&] { ... }));
///
/// A case is: recv() and send() of a channel; lock(), acquire(), wait() and their like of the types in
/// rota/sync, except a condition_variable; sleep_for, sleep_until, tick() of an interval; a handle by its
/// name, its result() or detached_wait(); next() of a join_set and of a unix_signal; accept() of a listener;
/// read(), write() of a socket; and each leaf of your own that declares may_lose. A task is not a case: spawn
/// it, and wait for its handle; or see when_any. For the same reason a work of a pool, next() of a generator,
/// get_or_init(), and run() of a strand are not cases. Nor is an operation that cannot be given back, such as
/// an arrival at a barrier (its wait() after arrive() is a case), nor a select in a select. At most 64 cases.
/// There is no case for "none is ready": try_select() never waits, in a task, too.
///
/// Threads       Any task of a runtime. Other threads and tasks may use the objects of the cases meanwhile.
/// Ownership     A case, and a handler, is referred to: temporaries live until the co_await is done. A select
///               may be kept in a variable only if its cases have names, too. Handlers run in the awaiting
///               task, when all other cases have lost.
/// Ordering      The case that is asked first is drawn, from the runtime's seed, so several ready cases win
///               equally often. select_in_order() asks them as they are written.
/// Failure       One case wins, and its value is delivered; if that throws, as for a handle of a task that
///               threw, so does the co_await. The others lose: nothing is received, sent, locked or ticked by
///               them, what had been granted to them goes to the next in line, and the task of a handle goes
///               on. A select that is cancelled, or late, has taken nothing; tasks of handles are cancelled
///               then, and have ended before it unwinds, except for detached_wait(). A write_all() that loses
///               may have sent a part. A recv() of a channel that is closed and empty wins at once, with
///               nothing: leave it out by when(). No case enabled: throws `std::invalid_argument`. The same
///               handle, or next() of the same join_set, twice; an empty handle; a handle that another task
///               awaits: errc::already_joined, before any case is asked, whatever is ready.
/// Cost          No allocation. The cost of the cases one after the other: each is tried, and joins its line;
///               then each leaves.
/// Example       examples/select.cpp
template <class... C>
  requires(sizeof...(C) > 0)
[[nodiscard]] auto select(C&&... cases ROTA_DETAIL_KEPT) {
  return detail::select_leaf<detail::case_for<C>...>(detail::order_of_cases::drawn,
                                                     detail::as_case<C>(cases)...);
}

/// As select, but the first of several ready cases wins. Later ones may starve.
template <class... C>
  requires(sizeof...(C) > 0)
[[nodiscard]] auto select_in_order(C&&... cases ROTA_DETAIL_KEPT) {
  return detail::select_leaf<detail::case_for<C>...>(detail::order_of_cases::as_written,
                                                     detail::as_case<C>(cases)...);
}

/// The same for a list, the length of which is known when the program runs: anything that a std::span can
/// refer to, with handles or receivers in it.
///
///   std::vector<rota::channel::receiver<request>> clients = ...;
///   auto first = co_await rota::channel::select(clients);
///   if (!first.get().has_value())                                        // closed and empty
///     clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(first.index()));
///
/// With a function, which is called once with each element, in order, before anything is awaited, and returns
/// a leaf that may be a case.
///
///   const auto lock = [](rota::sync::mutex* each) { return each->lock(); };
///   auto first = co_await rota::channel::select(mutexes, lock);    // first.index(), first.get(): the guard
///
/// Yields a chosen<T>, with the position in the list as index(). To wait for a list with a limit, put a
/// timeout around it.
///
/// Threads       As select.
/// Ownership     The list has a name, unless it is a std::span. Neither the list nor its elements may change
///               until the co_await is done: a std::vector must not grow. A handle that has won is empty:
///               erase it before the next select.
/// Ordering      As select: several ready cases are equally likely to win. select_in_order() takes the first
///               of the list.
/// Failure       As select. What the winner throws is thrown, and then there is no index: erase the handles
///               that are not valid(), or select over result() of each, which yields an outcome with its
///               index. An empty list: `std::invalid_argument` at the co_await. More than 64 elements:
///               `std::invalid_argument`; for more tasks, use a join_set. What the function throws is thrown,
///               and nothing was started. std::bad_alloc: nothing was started.
/// Cost          One allocation, for the leaves; else as select.
/// Example       examples/select.cpp
template <detail::list_of_cases List, class Make>
[[nodiscard]] auto select(List&& list ROTA_DETAIL_KEPT, Make&& make) {
  using all = detail::list_case<List, std::remove_reference_t<Make>>;
  return typename all::type(detail::order_of_cases::drawn, typename all::elements(list), make);
}
template <detail::list_of_cases List>
[[nodiscard]] auto select(List&& list ROTA_DETAIL_KEPT) {
  return select(std::forward<List>(list), detail::await_element());
}
template <detail::list_of_cases List, class Make>
[[nodiscard]] auto select_in_order(List&& list ROTA_DETAIL_KEPT, Make&& make) {
  using all = detail::list_case<List, std::remove_reference_t<Make>>;
  return typename all::type(detail::order_of_cases::as_written, typename all::elements(list), make);
}
template <detail::list_of_cases List>
[[nodiscard]] auto select_in_order(List&& list ROTA_DETAIL_KEPT) {
  return select_in_order(std::forward<List>(list), detail::await_element());
}

// The forms for threads, and try_select. Only cases of channels and of the types in rota/sync are allowed:
// timers, handles and sockets belong to tasks, and do not compile here; for a limit there is the _for of
// each. They throw as select does.

/// Selects without waiting. Returns nothing if no case is ready. Needs no runtime. A case that is not ready
/// is in its line for a moment: a concurrent try_acquire(), or another try, finds a waiter then, and may
/// return `empty`. An item that another thread is moving in, and a place that another thread is emptying, are
/// not ready; a try_recv(), or a try_send(), waits for that move.
template <class... C>
  requires(sizeof...(C) > 0)
[[nodiscard]] auto try_select(C&&... cases) {
  detail::thread_select<detail::case_for<C>...> all(detail::as_case<C>(cases)...);
  return all.try_now();
}

/// Blocks the thread; a worker lends its role meanwhile, a thread of a pool counts as absent. In a task,
/// co_await select() instead. A force stop of the work that runs on this thread ends the wait: throws
/// pool::force_stopped.
template <class... C>
  requires(sizeof...(C) > 0)
auto blocking_select(C&&... cases) {
  detail::thread_select<detail::case_for<C>...> all(detail::as_case<C>(cases)...);
  return all.block();
}
/// The same with a limit: a time span or a deadline. Returns a std::expected<.., timed_out>.
template <core::span_of_time Span, class... C>
  requires(sizeof...(C) > 0)
auto blocking_select_for(Span span, C&&... cases) {
  detail::thread_select<detail::case_for<C>...> all(detail::as_case<C>(cases)...);
  return all.block_until(core::deadline_in(rota::detail::saturating_span(span)));
}
template <class Duration, class... C>
  requires(sizeof...(C) > 0)
auto blocking_select_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time, C&&... cases) {
  detail::thread_select<detail::case_for<C>...> all(detail::as_case<C>(cases)...);
  return all.block_until(rota::detail::saturating_deadline(time));
}

/// The forms for threads of a list, the length of which is known when the program runs, as select() takes it:
/// anything that a std::span can refer to, with receivers in it, or with a function that returns for each
/// element a leaf of a channel or of a type in rota/sync.
///
///   std::vector<rota::channel::receiver<request>> clients = ...;
///   while (!clients.empty()) {
///     auto first = rota::channel::blocking_select(clients);
///     if (first.get().has_value()) serve(*first.get());
///     else clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(first.index()));  // closed and empty
///   }
///
/// `try_select(list)` never waits: a std::optional<chosen<T>>. `blocking_select(list)`: a chosen<T>.
/// `blocking_select_for(span, list)` and `blocking_select_until(time, list)`: a std::expected<chosen<T>,
/// timed_out>. Each takes the function as its last argument.
///
/// Threads       As try_select() and blocking_select() of cases. Other threads and tasks may use the objects
///               that the list refers to meanwhile.
/// Ownership     As select() of a list: the list has a name, unless it is a std::span, and neither it nor its
///               elements may change until the call returns. An element may be in the list several times.
/// Ordering      Several ready cases are equally likely to win.
/// Failure       As select() of a list, thrown by the call: `std::invalid_argument` for an empty list and for
///               more than 64 elements; what the function throws, and std::bad_alloc, when nothing was
///               started. A receiver of a channel that is closed and empty wins at once, with nothing: erase
///               it. A late select has taken nothing. A force stop of the work that runs on this thread:
///               pool::force_stopped.
/// Cost          One allocation, for the leaves; else as blocking_select() of so many cases.
/// Example       examples/select.cpp
template <detail::list_of_cases List, class Make>
[[nodiscard]] auto try_select(List&& list, Make&& make) {
  using all = detail::list_case<List, std::remove_reference_t<Make>>;
  return typename all::of_thread(typename all::elements(list), make).try_now();
}
template <detail::list_of_cases List>
[[nodiscard]] auto try_select(List&& list) {
  return try_select(std::forward<List>(list), detail::await_element());
}
template <detail::list_of_cases List, class Make>
auto blocking_select(List&& list, Make&& make) {
  using all = detail::list_case<List, std::remove_reference_t<Make>>;
  return typename all::of_thread(typename all::elements(list), make).block();
}
template <detail::list_of_cases List>
auto blocking_select(List&& list) {
  return blocking_select(std::forward<List>(list), detail::await_element());
}
template <core::span_of_time Span, detail::list_of_cases List, class Make>
auto blocking_select_for(Span span, List&& list, Make&& make) {
  using all = detail::list_case<List, std::remove_reference_t<Make>>;
  return typename all::of_thread(typename all::elements(list), make)
      .block_until(core::deadline_in(rota::detail::saturating_span(span)));
}
template <core::span_of_time Span, detail::list_of_cases List>
auto blocking_select_for(Span span, List&& list) {
  return blocking_select_for(span, std::forward<List>(list), detail::await_element());
}
template <class Duration, detail::list_of_cases List, class Make>
auto blocking_select_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                           List&& list,
                           Make&& make) {
  using all = detail::list_case<List, std::remove_reference_t<Make>>;
  return typename all::of_thread(typename all::elements(list), make)
      .block_until(rota::detail::saturating_deadline(time));
}
template <class Duration, detail::list_of_cases List>
auto blocking_select_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time, List&& list) {
  return blocking_select_until(time, std::forward<List>(list), detail::await_element());
}

}  // namespace rota::channel
