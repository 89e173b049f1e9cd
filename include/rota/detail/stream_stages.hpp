// The parts of which the stages of a stream are built.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/async_generator.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/scope.hpp>
#include <rota/when.hpp>

namespace rota::stream::detail {

template <class S>
concept has_next = requires(S& from) { from.next(); };
template <class S>
concept has_recv = requires(S& from) { from.recv(); };

/// Requests the next value. Returns an awaitable.
template <class S>
  requires(has_next<S> || has_recv<S>)
auto ask(S& from) {
  if constexpr (has_next<S>) {
    return from.next();
  } else {
    return from.recv();
  }
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class S>
using asked = core::await_result<decltype(ask(std::declval<S&>()))>;

template <class T>
struct without_task {
  using type = T;
};
template <class T>
struct without_task<task<T>> {
  using type = T;
};
/// The final result of a function of a stage: it may return that, or a task of it.
template <class F, class... Args>
using result_of = std::remove_cvref_t<typename without_task<std::invoke_result_t<F&, Args...>>::type>;
template <class F, class... Args>
concept returns_task = core::is_task<std::remove_cvref_t<std::invoke_result_t<F&, Args...>>>;

/// A receiver, and whether it has not ended yet.
template <class S>
struct open_source {
  explicit open_source(S source) : from(std::move(source)) {}
  S from;
  bool is_open = true;
};

template <class T, class... S>
async_generator<T> merge_open(open_source<S>... each) {
  const std::array<bool*, sizeof...(S)> opens{&each.is_open...};
  std::size_t left = sizeof...(S);
  while (left != 0) {
    auto first = co_await channel::select(channel::when(each.is_open, each.from.recv())...);
    std::optional<T> got = first.visit([](std::optional<T>& one) { return std::move(one); });
    if (got) {
      co_yield std::move(*got);
    } else {
      *opens[first.index()] = false;
      --left;
    }
  }
}

/// Ends when the other half has been destroyed.
inline task<void> has_gone(channel::receiver<char> other) { static_cast<void>(co_await other.recv()); }

/// Runs `work` until the consumer has gone: `work` is cancelled then, and has ended when this task has.
inline task<void> while_wanted(task<void> work, channel::receiver<char> going) {
  auto gone = has_gone(std::move(going));
  static_cast<void>(co_await when_any(std::move(work), std::move(gone)));
}

/// The consumer's end of a stage that tasks of a scope work for. `going` is destroyed with its frame, which
/// tells those tasks.
template <class T>
async_generator<T> received(channel::receiver<outcome<T>> from,
                            [[maybe_unused]] channel::sender<char> going) {
  for (;;) {
    auto each = co_await from.recv();
    if (!each) co_return;
    T value = std::move(*each).value();
    co_yield std::move(value);
  }
}

/// Sends all values of `from`, and what it throws.
template <class T, class S>
task<void> pump(S from, channel::sender<outcome<T>> to) {
  std::exception_ptr thrown;
  bool goes_on = true;
  while (goes_on) {
    outcome<T> got;
    try {
      auto each = co_await ask(from);
      if (!each) co_return;
      got = outcome<T>::from_value(std::move(*each));
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown != nullptr) got = outcome<T>::from_exception(thrown);
    const channel::send_status how = co_await to.send(std::move(got));
    goes_on = thrown == nullptr && how == channel::send_status::sent;
  }
}

/// The tasks under way, in the order of their values.
template <class R>
class window {
 public:
  explicit window(std::size_t limit) : all_(limit) {}
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool is_full() const noexcept { return count_ == all_.size(); }
  [[nodiscard]] join_handle<R>& oldest() noexcept { return all_[first_]; }
  void push(join_handle<R> one) noexcept {
    all_[(first_ + count_) % all_.size()] = std::move(one);
    ++count_;
  }
  void pop() noexcept {
    first_ = (first_ + 1) % all_.size();
    --count_;
  }

 private:
  std::vector<join_handle<R>> all_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// Runs f for each value in a child of `in`, and sends the results in the order of the values.
template <class R, class T, class F>
task<void> run_window(
    scope& in, channel::receiver<outcome<T>> from, std::size_t limit, F& f, channel::sender<outcome<R>> to) {
  window<R> under_way(limit);
  bool is_open = true;
  while (is_open || !under_way.is_empty()) {
    auto first = co_await channel::select(channel::when(is_open && !under_way.is_full(), from.recv()),
                                          channel::when(!under_way.is_empty(), under_way.oldest().result()));
    outcome<R> end;
    if (first.index() == 0) {
      std::optional<outcome<T>>& came = first.template get<0>();
      is_open = came.has_value() && came->has_value();
      if (is_open) under_way.push(in.spawn(f(std::move(*came).value())));
      if (is_open || !came.has_value()) continue;
      end = outcome<R>::from_exception(came->exception());
    } else {
      end = std::move(first).template get<1>();
      under_way.pop();
    }
    const bool goes_on = end.has_value();
    const channel::send_status how = co_await to.send(std::move(end));
    if (goes_on && how == channel::send_status::sent) continue;
    in.cancel();
    co_return;
  }
}

template <class R, class S, class F>
task<void> run_buffered(S from, std::size_t limit, F f, channel::sender<outcome<R>> to) {
  using item = typename asked<S>::value_type;
  auto source = channel::bounded<outcome<item>>(1);
  const auto body = [&](scope& in) {
    in.fork(pump<item, S>(std::move(from), std::move(source.sender)));
    return run_window<R, item, F>(in, std::move(source.receiver), limit, f, std::move(to));
  };
  co_await with_scope(body);
}

[[noreturn]] inline void throw_no_window() {
  throw std::invalid_argument("stream::buffered: limit is 0, must be at least 1");
}

}  // namespace rota::stream::detail
