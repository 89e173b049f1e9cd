// One value that changes, and receivers that read it and wait for changes.
#pragma once

#include <cstdint>
#include <expected>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/channel_half.hpp>
#include <rota/detail/channel_news.hpp>
#include <rota/detail/channel_values.hpp>
#include <rota/task.hpp>

namespace rota::channel {

template <class T>
class watch_receiver;

namespace detail {

/// The number of the value in the slot is one more than the count in the word.
template <class T>
class watch_state final : public news {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "a channel holds objects: send a pointer, or a value");

 public:
  using slot = slot_for<T>;
  using value = slot::value;

  [[nodiscard]] static watch_state* make(T&& first) {
    value now(std::move(first));
    return ::new (base::allocate_frame(sizeof(watch_state))) watch_state(now);
  }
  void free() noexcept {
    this->~watch_state();
    base::free_frame(this, sizeof(watch_state));
  }

  /// Reads the present value. Returns its number: how many values have been sent, including this one.
  std::uint64_t read(value& into) noexcept {
    const std::uint64_t number = slot_.peek(into);
    // The value is not ahead of the word: N3.
    if (number != 0 && state().count() >= number - 1) [[likely]]
      return number - 1;
    const core::wait_section section(line());
    slot_.read(into);
    return state().count();
  }
  /// Replaces the value. Returns not_now, and changes nothing, if `*instead_of` is not the number of the
  /// present value. Null: any value is replaced. On `got` the previous value is in `next`.
  look replace(value& next, const std::uint64_t* instead_of) noexcept {
    core::wait_section section(line());
    const snapshot now = state();
    if (now.is_closed()) return look::ended;
    if (instead_of != nullptr && *instead_of != now.count()) return look::not_now;
    slot_.put(next, now.count() + 2);
    announce(section);
    return look::got;
  }
  template <class F>
  auto borrow(F& f, std::uint64_t& seen) {
    static_assert(!std::is_reference_v<std::invoke_result_t<F&, const T&>>,
                  "what was borrowed is given back at the end: return a value");
    value now;
    seen = read(now);
    before_items();
    return f(std::as_const(now.get()));
  }

 private:
  /// The first value counts as sent: a receiver that has seen 0 values has not seen it.
  explicit watch_state(value& first) noexcept : news(watch_rules, 1) { slot_.put(first, 2); }
  ~watch_state() = default;

  slot slot_;
};

template <class T>
class ROTA_DETAIL_AWAIT_IT changed_leaf final : public core::wait_leaf {
 public:
  explicit changed_leaf(watch_receiver<T>& of) noexcept
      : wait_leaf(of.on_->to_hear(as_)), of_(&of), as_(of.hears()) {}
  [[nodiscard]] std::expected<void, recv_status> await_resume() noexcept { return of_->try_changed(); }

 private:
  watch_receiver<T>* of_;
  hearing as_;
};

}  // namespace detail

/// The half that sets the value. A copy is one more sender; the last one that goes closes the channel. Empty
/// after a move. has_receivers(), receiver_count(), close(), is_closed(), and closed() with its forms, are
/// those of its base.
///
/// Threads       Any: each member may be called by several threads at once, but not beside an assignment to
///               the same half.
/// Ownership     As watch().
/// Ordering      What was done before a send happens before the return of each call that reads its value, or
///               is told of it.
/// Failure       send() and its like throw `std::bad_alloc`, and what moving or copying a T, or the function,
///               throws: the value stays as it was. The value also stays if the channel is closed, or if the
///               function of a send_modify calls them for the same watch: that throws errc::would_deadlock. A
///               call of a member of an empty half ends the program with a message; so does a call of a
///               member of an empty watch_receiver.
/// Cost          As watch(). A wake for each receiver that waits.
/// Example       examples/watch.cpp
template <class T>
class watch_sender : public detail::news_sender<detail::watch_state<T>> {
  using half = detail::news_sender<detail::watch_state<T>>;
  using half::on_;

 public:
  /// Replaces the value, without waiting. Returns `sent`, or `closed`. It also sends without a receiver: a
  /// later receiver finds the value.
  send_status send(T value) {
    detail::watch_state<T>& on = *on_;
    on.demand_unmodified();
    typename detail::watch_state<T>::value next(std::move(value));
    return on.replace(next, nullptr) == detail::look::got ? send_status::sent : send_status::closed;
  }
  /// The same, and yields the previous value. Fails with `closed` only after a close(): without a receiver it
  /// sends as well. On `closed` the present value stays, nothing is copied, and `value` is lost.
  [[nodiscard]] std::expected<T, send_status> send_replace(T value)
    requires std::is_copy_constructible_v<T>
  {
    on_->demand_unmodified();
    typename detail::watch_state<T>::value next(std::move(value));
    for (;;) {
      typename detail::watch_state<T>::value seen;
      const std::uint64_t count = on_->read(seen);
      if (this->is_closed()) return std::unexpected(send_status::closed);
      detail::before_items();
      std::expected<T, send_status> before(std::in_place, std::as_const(seen.get()));
      // Terminates: as in modify().
      const detail::look did = on_->replace(next, &count);
      if (did == detail::look::ended) return std::unexpected(send_status::closed);
      if (did == detail::look::got) return before;
    }
  }
  /// Calls `change` with a copy of the value, as a T&, and sends the copy. If another thread sends meanwhile,
  /// it does so again, with a copy of the new value. So no change is lost, and `change` may be called more
  /// than once. `change` may read the watch and close it, but not send to it: that throws
  /// errc::would_deadlock. Nor may it wait for another thread or task that sends to it.
  template <class F>
  send_status send_modify(F change)
    requires std::is_copy_constructible_v<T>
  {
    return modify([&change](T& value) {
      change(value);
      return true;
    });
  }
  /// The same, if `change` returns true. If it returns false: `dropped`, nothing is sent, and no receiver is
  /// told.
  template <class F>
  send_status send_if_modified(F change)
    requires std::is_copy_constructible_v<T> && std::is_same_v<std::invoke_result_t<F&, T&>, bool>
  {
    return modify(change);
  }

  /// Returns a copy of the value.
  [[nodiscard]] T get() const
    requires std::is_copy_constructible_v<T>
  {
    return borrow([](const T& value) { return value; });
  }
  /// Calls `look` with the value, as a const T&, and returns its result. The value stays unchanged during the
  /// call, even if other threads send.
  template <class F>
  auto borrow(F&& look) const {
    std::uint64_t seen = 0;
    return on_->borrow(look, seen);
  }

  /// Returns a new receiver, which has seen the present value.
  [[nodiscard]] watch_receiver<T> subscribe() const { return watch_receiver<T>(*on_, on_->add_receiver()); }

  /// For a state that counts this half already. Called by watch().
  explicit watch_sender(detail::watch_state<T>& on) noexcept : half(on) {}

 private:
  template <class F>
  send_status modify(F&& change) {
    for (;;) {
      typename detail::watch_state<T>::value seen;
      const std::uint64_t count = on_->read(seen);
      if (this->is_closed()) return send_status::closed;
      auto next = seen.clone();
      detail::before_items();
      {
        const detail::modification mine(*on_);
        if (!change(next.get())) return send_status::dropped;
      }
      // Terminates: if this send fails, another one has succeeded.
      const detail::look did = on_->replace(next, &count);
      if (did != detail::look::not_now)
        return did == detail::look::got ? send_status::sent : send_status::closed;
    }
  }
};

/// The half that reads the value. A copy is one more receiver, and has seen what the original has seen. Empty
/// after a move.
///
/// Threads       Any, but one at a time: a receiver stores what it has seen. Each thread or task has its own.
/// Ownership     As watch(). It must outlive what its members return, and must not be moved meanwhile.
/// Ordering      As watch_sender. A receiver may miss values if several are sent before it reads; it never
///               misses the last one.
/// Failure       `closed`, when the channel is closed and the last value has been seen; the value can still
///               be read. A cancelled or late wait has seen nothing. What `look` and `is_wanted` throw, and
///               copying a T, is rethrown.
/// Cost          As watch().
/// Example       examples/watch.cpp
template <class T>
class watch_receiver {
  using heard = std::expected<void, recv_status>;
  using timed_leaf = core::limited<detail::changed_leaf<T>>;

 public:
  watch_receiver(const watch_receiver& other) noexcept : on_(other.on_), seen_(other.seen_) {
    if (on_ != nullptr) static_cast<void>(on_->add_receiver());
  }
  watch_receiver(watch_receiver&& other) noexcept
      : on_(std::exchange(other.on_, nullptr)), seen_(other.seen_) {}
  watch_receiver& operator=(watch_receiver other) noexcept {
    std::swap(on_, other.on_);
    std::swap(seen_, other.seen_);
    return *this;
  }
  ~watch_receiver() {
    if (on_ == nullptr) return;
    static_cast<void>(on_->drop_receiver());
    if (on_->leave()) on_->free();
  }

  /// Return a copy of the value, or the result of `look` for it (a const T&). The `_and_update` forms also
  /// note that the value has been seen.
  [[nodiscard]] T get() const
    requires std::is_copy_constructible_v<T>
  {
    return borrow([](const T& value) { return value; });
  }
  [[nodiscard]] T get_and_update()
    requires std::is_copy_constructible_v<T>
  {
    return borrow_and_update([](const T& value) { return value; });
  }
  template <class F>
  auto borrow(F&& look) const {
    std::uint64_t seen = 0;
    return on_->borrow(look, seen);
  }
  template <class F>
  auto borrow_and_update(F&& look) {
    return on_->borrow(look, seen_);
  }

  /// Waits until there is a value that this receiver has not seen (it counts as seen then), or `closed`.
  detail::changed_leaf<T> changed() noexcept { return detail::changed_leaf<T>(*this); }
  /// The same without waiting: also `empty`.
  [[nodiscard]] heard try_changed() noexcept {
    const auto now = on_->state();
    if (now.count() <= seen_)
      return std::unexpected(now.is_closed() ? recv_status::closed : recv_status::empty);
    seen_ = now.count();
    return {};
  }
  /// Returns true if there is such a value. It does not count as seen.
  [[nodiscard]] bool has_changed() const noexcept { return on_->state().count() > seen_; }
  /// mark_changed(): the present value counts as not seen, so that changed() ends at once. mark_unchanged():
  /// it counts as seen.
  void mark_changed() noexcept { seen_ = on_->state().count() - 1; }
  void mark_unchanged() noexcept { seen_ = on_->state().count(); }
  /// The same as changed() with a limit: also `timed_out`.
  template <core::span_of_time Span>
  timed_leaf changed_for(Span span) noexcept {
    return timed_leaf(rota::detail::saturating_span(span), *this);
  }
  template <class Duration>
  timed_leaf changed_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    return timed_leaf(rota::detail::saturating_deadline(time), *this);
  }
  /// Block the thread; in a task, co_await changed() instead.
  heard blocking_changed() {
    core::wait_node me;
    detail::hearing as = hears();
    static_cast<void>(core::block(on_->to_hear(as), me));
    return try_changed();
  }
  template <core::span_of_time Span>
  heard blocking_changed_for(Span span) {
    core::wait_node me;
    detail::hearing as = hears();
    return end(core::block_for(on_->to_hear(as), me, rota::detail::saturating_span(span)));
  }
  template <class Duration>
  heard blocking_changed_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    detail::hearing as = hears();
    return end(core::block_until(on_->to_hear(as), me, rota::detail::saturating_deadline(time)));
  }

  /// Waits for a value for which `is_wanted` (called with a const T&) returns true, beginning with the
  /// present one. co_await yields a copy of it; nothing: closed before. The values that `is_wanted` was
  /// called with count as seen.
  template <class F>
  task<std::optional<T>> when(F is_wanted)
    requires std::is_copy_constructible_v<T>
  {
    for (;;) {
      std::optional<T> found = matching(is_wanted);
      if (found.has_value()) co_return found;
      const heard more = co_await changed();
      if (!more.has_value()) co_return std::nullopt;
    }
  }
  /// The same with a limit. co_await yields the value, or `closed`, or `timed_out`.
  template <core::span_of_time Span, class F>
  task<std::expected<T, recv_status>> when_for(Span span, F is_wanted) {
    auto within = when(std::move(is_wanted));
    auto got = co_await timeout(span, std::move(within));
    co_return of(std::move(got));
  }
  template <class Duration, class F>
  task<std::expected<T, recv_status>> when_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time, F is_wanted) {
    auto within = when(std::move(is_wanted));
    auto got = co_await with_deadline(time, std::move(within));
    co_return of(std::move(got));
  }
  /// Blocks the thread; in a task, co_await when() instead.
  template <class F>
  [[nodiscard]] std::optional<T> blocking_when(F is_wanted) {
    auto got = blocking_when_until(std::chrono::steady_clock::time_point::max(), std::move(is_wanted));
    if (!got.has_value()) return std::nullopt;
    return *std::move(got);
  }
  template <core::span_of_time Span, class F>
  [[nodiscard]] std::expected<T, recv_status> blocking_when_for(Span span, F is_wanted) {
    return blocking_when_until(core::deadline_in(rota::detail::saturating_span(span)), std::move(is_wanted));
  }
  template <class Duration, class F>
  [[nodiscard]] std::expected<T, recv_status> blocking_when_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time, F is_wanted) {
    for (;;) {
      if (std::optional<T> found = matching(is_wanted)) return *std::move(found);
      if (const heard more = blocking_changed_until(time); !more.has_value())
        return std::unexpected(more.error());
    }
  }

  [[nodiscard]] bool is_closed() const noexcept { return on_->state().is_closed(); }
  [[nodiscard]] bool same_channel(const watch_receiver& other) const noexcept { return on_ == other.on_; }

  /// For a state that counts this half already. Called by watch() and subscribe().
  watch_receiver(detail::watch_state<T>& on, std::uint64_t seen) noexcept : on_(&on), seen_(seen) {}

 private:
  friend class detail::changed_leaf<T>;

  [[nodiscard]] detail::hearing hears() const noexcept { return {&*on_, &seen_}; }
  heard end(core::wait_end how) noexcept {
    if (how == core::wait_end::timed_out) return std::unexpected(recv_status::timed_out);
    return try_changed();
  }
  template <class F>
  std::optional<T> matching(F& is_wanted) {
    return borrow_and_update([&is_wanted](const T& value) {
      return is_wanted(value) ? std::optional<T>(value) : std::optional<T>();
    });
  }
  static std::expected<T, recv_status> of(std::expected<std::optional<T>, timed_out>&& got) {
    if (!got.has_value()) return std::unexpected(recv_status::timed_out);
    if (!got->has_value()) return std::unexpected(recv_status::closed);
    return **std::move(got);
  }

  detail::held<detail::watch_state<T>> on_;
  std::uint64_t seen_;
};

/// A value that is replaced again and again: a read finds the last one, without tearing, and a waiter is told
/// that there is a new one.
///
///   auto [tx, rx] = rota::channel::watch<config>(load());
///   if (tx.send(load()) == rota::channel::send_status::closed) return;
///   // or tx.send_modify([](config& c) { c.level = 2; })
///   for (;;) {
///     const auto news = co_await rx.changed();        // not for the value that was there before
///     if (!news.has_value()) break;                   // the last sender has gone, or one called close()
///     apply(rx.get());                                // or rx.borrow([](const config& c) { ... });
///   }
///
/// Threads       Any: tasks of any runtime, works of a pool, and plain threads by the blocking forms.
/// Ownership     The halves own the channel together. A value is destroyed when another one has been sent and
///               no thread reads it any more; T must be destroyed without throwing. There are never more
///               values than the last one, one for each read under way, and one for each send under way.
/// Ordering      One value after the other: no receiver reads an older one after a newer one.
/// Failure       Throws `std::bad_alloc`, and what moving a T throws.
/// Cost          No lock is held while a T is copied, changed, read or destroyed. A T of up to 64 bytes that
///               is copied as bytes: a read is loads, and no read-modify-write; a send takes a short lock.
///               Any other T: a read takes a short lock and two read-modify-writes; a send also a node, from
///               the frames that threads keep. Never an allocation when warm.
/// Example       examples/watch.cpp
template <class T>
[[nodiscard]] pair_of<watch_sender<T>, watch_receiver<T>> watch(T first) {
  detail::watch_state<T>& on = *detail::watch_state<T>::make(std::move(first));
  return {watch_sender<T>(on), watch_receiver<T>(on, on.state().count())};
}

}  // namespace rota::channel
