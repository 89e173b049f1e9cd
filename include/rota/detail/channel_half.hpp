// The two halves of a channel, for any Core that decides where an item goes.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/channel_batch.hpp>
#include <rota/detail/channel_closed.hpp>
#include <rota/detail/channel_core.hpp>
#include <rota/detail/channel_leaves.hpp>
#include <rota/detail/limited.hpp>

namespace rota::channel::detail {

template <class T>
constexpr bool demand_item() noexcept {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "a channel holds objects: send a pointer, or a value");
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "what goes through a channel must move without throwing: a place that was claimed cannot be "
                "given back");
  return true;
}

/// The side that a half belongs to.
enum class side : bool { sends, receives };

/// What both halves of a core have in common: they count for their side of the channel, and report its state.
template <class Core, side Side>
class half {
 public:
  half(const half& other) noexcept : on_(other.on_) {
    if (on_ == nullptr) return;
    if constexpr (Side == side::sends) {
      on_->add_sender();
    } else {
      on_->add_receiver();
    }
  }
  half(half&& other) noexcept : on_(std::exchange(other.on_, nullptr)) {}
  half& operator=(const half& other) noexcept {
    half copy(other);
    std::swap(on_, copy.on_);
    return *this;
  }
  half& operator=(half&& other) noexcept {
    half taken(std::move(other));
    std::swap(on_, taken.on_);
    return *this;
  }

  /// Closes the channel: nothing is sent any more; what is in it can still be received. A second call does
  /// nothing.
  void close() noexcept { on_->close(); }
  [[nodiscard]] bool is_closed() const noexcept { return on_->is_closed(); }
  /// Returns true if the other half, of either side, belongs to the same channel.
  template <side Other>
  [[nodiscard]] bool same_channel(const half<Core, Other>& other) const noexcept {
    return on_ == other.on_;
  }
  /// Returns an estimate; exact if no other thread sends or receives.
  [[nodiscard]] std::uint64_t size() const noexcept { return on_->size(); }
  [[nodiscard]] std::uint64_t capacity() const noexcept
    requires requires(const Core& of) { of.capacity(); }
  {
    return on_->capacity();
  }
  /// Returns the weight of the items that size() counts, of a channel that bounds it; and that bound.
  [[nodiscard]] std::uint64_t weight() const noexcept
    requires requires(const Core& of) { of.weight(); }
  {
    return on_->weight();
  }
  [[nodiscard]] std::uint64_t max_weight() const noexcept
    requires requires(const Core& of) { of.max_weight(); }
  {
    return on_->max_weight();
  }
  /// Return how many tasks and threads wait in recv() and its other forms, or in send() and its other forms;
  /// a case of a select counts. Snapshots for reports: they may have changed when these return. A waiter that
  /// has been called and has not run yet is not counted. They take the lock of the line for a moment, however
  /// long the line is.
  [[nodiscard]] std::size_t waiting_receivers() const noexcept { return on_->to_receive().list->size(); }
  [[nodiscard]] std::size_t waiting_senders() const noexcept
    requires(!Core::allocates)
  {
    return on_->to_send().list->size();
  }
  [[nodiscard]] channel_stats stats() const noexcept
    requires requires(const Core& of) { of.stats(); }
  {
    return on_->stats();
  }

 protected:
  template <class, side>
  friend class half;

  /// For a core that counts this half already.
  explicit half(Core& on) noexcept : on_(&on) {}
  ~half() {
    if (on_ == nullptr) return;
    if constexpr (Side == side::sends) {
      on_->drop_sender();
    } else {
      on_->drop_receiver();
    }
  }

  held<Core> on_;
};

}  // namespace rota::channel::detail

namespace rota::channel {

template <class T, class Core>
class basic_weak_sender;

/// The half that sends. A copy is one more sender; the last one that goes closes the channel. Empty after a
/// move. close(), is_closed(), size(), capacity(), stats(), and closed() with its forms, are those of its
/// bases.
///
/// Threads       Any: each member may be called by several threads at once, but not beside an assignment to
///               the same half.
/// Ownership     A half must outlive what its members return.
/// Ordering      What was done before a send happens before the return of the receive that gets the item.
///               Items of one sender arrive in the order in which it sent them. Waiters are served in their
///               order, but a thread that does not wait may be faster.
/// Failure       An item that was not sent stays with the caller of try_send() and blocking_send(). That of a
///               send() stays in the awaitable, and comes back by item(), if the awaitable has a name:
///               auto one = tx.send(std::move(x)); ... x = std::move(one).item().
///               A cancelled or late send has put nothing in. A call of a member of an empty half ends the
///               program with a message. A send that races with the end of the last receiver may return
///               `sent`: then it destroys the items that can no longer be received, its own and those after
///               it. The move of an item must not use the channel: it may wait for itself. See Locks.
///               What a fork of the process may do with a channel bounded by weight: bounded_by_weight().
///               With the others, the move of a thread that stayed in the parent never ends. A try, and a
///               send that does not wait for a place, returns `forked` after some spinning if such a move is
///               in its way. It also returns `forked` for a thread of the fork itself that takes longer for
///               its move. The parent's channel goes on. Forms that wait are not told: send(), recv() and the
///               blocking forms wait until the task is cancelled, or their limit ends; a close ends the
///               sends, and no receive. A thread of the parent may have been in the line of waiters at the
///               fork. Tries, closes and destructors notice that. Forms that wait do not, and then nothing
///               ends them: in a fork use tries.
/// Locks         A call moves the item while it has claimed a place, and other threads' tries wait until that
///               place is passed on. For their lock order each call on either half is therefore a lock, held
///               while T's move constructor, and the destructor of the item that was moved from, run. Neither
///               may wait for a mutex that another caller of the channel holds while it calls. Example of a
///               deadlock: T1 sends, and its move constructor waits for M; T2 holds M, and calls try_recv(),
///               which waits for T1's move. An item with such a move goes through the channel in a
///               std::unique_ptr, as its move waits for nothing.
/// Cost          Without waiting: two read-modify-writes. No allocation, except for the growth of the
///               channel: see bounded() and unbounded(). By weight: a lock, see bounded_by_weight(). Beside
///               another thread's move a try spins, then yields the processor, then sleeps up to 1 ms at a
///               time, until that move has ended.
/// Example       examples/bounded.cpp, examples/unbounded.cpp
template <class T, class Core>
class basic_sender : public detail::half<Core, detail::side::sends>,
                     public detail::waits_for_close<basic_sender<T, Core>> {
  static_assert(detail::demand_item<T>());
  using half = detail::half<Core, detail::side::sends>;
  using half::on_;

 public:
  /// Sends an item. co_await yields a send_status. The awaitable owns the item until it is sent: see Failure.
  /// The move that sends it runs in a claimed place: see Locks.
  detail::send_leaf<T, Core> send(T item) noexcept {
    return detail::send_leaf<T, Core>(*on_, std::move(item));
  }
  /// Sends without waiting for a free place. It does wait for another thread that is moving an item out of
  /// the next place: see Locks, Cost. So `full` means that the channel was full (by weight: see
  /// bounded_by_weight()). Moves from the item only if it returns `sent`. `forked`: see Failure.
  send_status try_send(T&& item) noexcept(!Core::allocates) { return detail::send_now(*on_, item); }
  send_status try_send(const T& item)
    requires std::is_copy_constructible_v<T>
  {
    return try_send(T(item));
  }
  /// Send with a limit. co_await yields the same, or `timed_out`.
  template <core::span_of_time Span>
  core::limited<detail::send_leaf<T, Core>> send_for(Span span, T item) {
    return core::limited<detail::send_leaf<T, Core>>(
        rota::detail::saturating_span(span), *on_, std::move(item));
  }
  template <class Duration>
  core::limited<detail::send_leaf<T, Core>> send_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time, T item) {
    return core::limited<detail::send_leaf<T, Core>>(
        rota::detail::saturating_deadline(time), *on_, std::move(item));
  }

  /// Block the thread; in a task, co_await send() instead. They move from the item only if they return
  /// `sent`.
  send_status blocking_send(T&& item) {
    core::wait_node me;
    detail::note_weight(*on_, me, item);
    return end(core::block(on_->to_send(), me), me, item);
  }
  template <core::span_of_time Span>
  send_status blocking_send_for(Span span, T&& item) {
    core::wait_node me;
    detail::note_weight(*on_, me, item);
    return end(core::block_for(on_->to_send(), me, rota::detail::saturating_span(span)), me, item);
  }
  template <class Duration>
  send_status blocking_send_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                  T&& item) {
    core::wait_node me;
    detail::note_weight(*on_, me, item);
    return end(core::block_until(on_->to_send(), me, rota::detail::saturating_deadline(time)), me, item);
  }
  send_status blocking_send(const T& item)
    requires std::is_copy_constructible_v<T>
  {
    return blocking_send(T(item));
  }
  template <core::span_of_time Span>
  send_status blocking_send_for(Span span, const T& item)
    requires std::is_copy_constructible_v<T>
  {
    return blocking_send_for(span, T(item));
  }
  template <class Duration>
  send_status blocking_send_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                  const T& item)
    requires std::is_copy_constructible_v<T>
  {
    return blocking_send_until(time, T(item));
  }

  /// Returns a weak sender, which does not keep the channel open.
  [[nodiscard]] basic_weak_sender<T, Core> downgrade() const noexcept {
    on_->add_weak();
    return basic_weak_sender<T, Core>(*on_);
  }

  /// For a core that counts this half already. Called by the functions that make channels.
  explicit basic_sender(Core& on) noexcept : half(on) {}

 private:
  friend class detail::waits_for_close<basic_sender>;

  [[nodiscard]] core::wait_target to_close() noexcept { return on_->to_close(); }
  send_status end(core::wait_end how, const core::wait_node& me, T& item) noexcept(!Core::allocates) {
    switch (how) {
      case core::wait_end::granted: return detail::end_send(*on_, me, item);
      case core::wait_end::closed: return send_status::closed;
      case core::wait_end::timed_out: break;
    }
    return send_status::timed_out;
  }
};

/// A sender that does not count: the channel closes when the last basic_sender goes, however many weak
/// senders there are. Made by downgrade(), and sends after upgrade() has made it a sender again. For an
/// object that the receiving side calls: with a sender it would keep the channel open for ever. Empty after a
/// move.
///
/// Threads       As basic_sender.
/// Ownership     It keeps the memory of the channel, and neither side of it.
/// Ordering      That of the senders that it gives.
/// Failure       upgrade() returns nothing if no sender is left. A call of a member of an empty one ends the
///               program with a message.
/// Cost          One read-modify-write, here and for each upgrade.
/// Example       examples/unbounded.cpp
template <class T, class Core>
class basic_weak_sender {
 public:
  basic_weak_sender(const basic_weak_sender& other) noexcept : on_(other.on_) {
    if (on_ != nullptr) on_->add_weak();
  }
  basic_weak_sender(basic_weak_sender&& other) noexcept : on_(std::exchange(other.on_, nullptr)) {}
  basic_weak_sender& operator=(basic_weak_sender other) noexcept {
    std::swap(on_, other.on_);
    return *this;
  }
  ~basic_weak_sender() {
    if (on_ != nullptr) on_->drop_weak();
  }

  /// Returns a sender, if there is another one.
  [[nodiscard]] std::optional<basic_sender<T, Core>> upgrade() const noexcept {
    if (!on_->add_sender_to_others()) return std::nullopt;
    return std::optional<basic_sender<T, Core>>(std::in_place, *on_);
  }
  [[nodiscard]] bool is_closed() const noexcept { return on_->is_closed(); }

  /// For a core that counts this one already. Called by downgrade().
  explicit basic_weak_sender(Core& on) noexcept : on_(&on) {}

 private:
  detail::held<Core> on_;
};

/// The half that receives. A copy is one more receiver: each item goes to one of them. The last one that goes
/// closes the channel, and destroys the items in it. It has the same base as basic_sender.
///
/// Threads       As basic_sender.
/// Ownership     As basic_sender.
/// Ordering      First in, first out.
/// Failure       A receive yields nothing when the channel is closed and everything has been received. A
///               cancelled or late receive has taken nothing. A call of a member of an empty half ends the
///               program with a message. In a fork: as basic_sender.
/// Locks         As basic_sender.
/// Cost          As basic_sender.
/// Example       examples/bounded.cpp, examples/unbounded.cpp
template <class T, class Core>
class basic_receiver : public detail::half<Core, detail::side::receives> {
  using half = detail::half<Core, detail::side::receives>;
  using half::on_;
  using status_or = std::expected<T, recv_status>;
  using plain_leaf = detail::recv_leaf<T, Core, std::optional<T>>;
  using timed_leaf = core::limited<detail::recv_leaf<T, Core, status_or>>;
  using count_or = std::expected<std::size_t, recv_status>;
  template <class Out, class Result>
  using many_leaf = detail::recv_many_leaf<T, Core, Out, Result>;

 public:
  /// Receives an item. co_await yields a std::optional<T>; nothing: the channel is closed, and there will be
  /// no item. The move that receives it runs in a claimed place: see Locks.
  plain_leaf recv() noexcept { return plain_leaf(*on_); }
  /// Receives without waiting for an item to be sent. It does wait for another thread that is moving the next
  /// item in: see Locks and Cost of basic_sender. So `empty` means that the channel was empty. Else returns
  /// `closed`, or `forked`: see Failure.
  [[nodiscard]] status_or try_recv() noexcept {
    Core& on = *on_;
    typename Core::slot* place = nullptr;
    const detail::look did = on.try_item(place);
    if (did == detail::look::got) [[likely]]
      return detail::take<status_or, T>(on, *place);
    return std::unexpected(detail::why_no_item(did));
  }
  /// Receive with a limit. co_await yields a std::expected<T, recv_status>.
  template <core::span_of_time Span>
  timed_leaf recv_for(Span span) {
    return timed_leaf(rota::detail::saturating_span(span), *on_);
  }
  template <class Duration>
  timed_leaf recv_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    return timed_leaf(rota::detail::saturating_deadline(time), *on_);
  }

  /// Block the thread; in a task, co_await recv() instead.
  [[nodiscard]] std::optional<T> blocking_recv() {
    Core& on = *on_;
    core::wait_node me;
    if (core::block(on.to_receive(), me) != core::wait_end::granted) return std::nullopt;
    return detail::take<std::optional<T>, T>(on, Core::place_of(me));
  }
  template <core::span_of_time Span>
  [[nodiscard]] status_or blocking_recv_for(Span span) {
    core::wait_node me;
    return end(core::block_for(on_->to_receive(), me, rota::detail::saturating_span(span)), me);
  }
  template <class Duration>
  [[nodiscard]] status_or blocking_recv_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    return end(core::block_until(on_->to_receive(), me, rota::detail::saturating_deadline(time)), me);
  }

  // Receive several items at once: they add to `out`, a std::vector<T> or a similar container, at its end.
  // Until the call or the wait has ended, no other thread may touch `out`. They throw what its reserve()
  // throws, and then nothing was taken. They move each item once, and serve each sender that waits for a
  // place.

  /// Receives up to `most` items. co_await yields the count: at least one, and at most `most` of those that
  /// are there then (0 counts as 1); 0: closed, and there will be no item.
  template <detail::holds_many<T> Out>
  [[nodiscard]] auto recv_many(Out& out, std::size_t most) {
    return many_leaf<Out, std::size_t>(*on_, out, most);
  }
  /// The same without waiting, as try_recv(). Else returns `empty`, `closed`, `forked`.
  template <detail::holds_many<T> Out>
  [[nodiscard]] count_or try_recv_many(Out& out, std::size_t most) {
    detail::make_room(out, most);
    Core& on = *on_;
    typename Core::slot* place = nullptr;
    const detail::look did = on.try_item(place);
    if (did == detail::look::got) return detail::take_many<T>(on, place, out, most);
    return std::unexpected(detail::why_no_item(did));
  }
  /// The same with a limit. co_await yields a std::expected<std::size_t, recv_status>.
  template <core::span_of_time Span, detail::holds_many<T> Out>
  [[nodiscard]] auto recv_many_for(Span span, Out& out, std::size_t most) {
    return core::limited<many_leaf<Out, count_or>>(rota::detail::saturating_span(span), *on_, out, most);
  }
  template <class Duration, detail::holds_many<T> Out>
  [[nodiscard]] auto recv_many_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                     Out& out,
                                     std::size_t most) {
    return core::limited<many_leaf<Out, count_or>>(rota::detail::saturating_deadline(time), *on_, out, most);
  }
  /// Block the thread; in a task, co_await recv_many() instead.
  template <detail::holds_many<T> Out>
  std::size_t blocking_recv_many(Out& out, std::size_t most) {
    detail::make_room(out, most);
    core::wait_node me;
    return end_many(core::block(on_->to_receive(), me), me, out, most).value_or(0);
  }
  template <core::span_of_time Span, detail::holds_many<T> Out>
  count_or blocking_recv_many_for(Span span, Out& out, std::size_t most) {
    detail::make_room(out, most);
    core::wait_node me;
    const auto how = core::block_for(on_->to_receive(), me, rota::detail::saturating_span(span));
    return end_many(how, me, out, most);
  }
  template <class Duration, detail::holds_many<T> Out>
  count_or blocking_recv_many_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                    Out& out,
                                    std::size_t most) {
    detail::make_room(out, most);
    core::wait_node me;
    const auto how = core::block_until(on_->to_receive(), me, rota::detail::saturating_deadline(time));
    return end_many(how, me, out, most);
  }

  /// As the constructor of basic_sender.
  explicit basic_receiver(Core& on) noexcept : half(on) {}

 private:
  status_or end(core::wait_end how, const core::wait_node& me) noexcept {
    if (how == core::wait_end::granted) return detail::take<status_or, T>(*on_, Core::place_of(me));
    return std::unexpected(why_none(how));
  }
  template <class Out>
  count_or end_many(core::wait_end how, const core::wait_node& me, Out& out, std::size_t most) noexcept {
    if (how == core::wait_end::granted) return detail::take_many<T>(*on_, &Core::place_of(me), out, most);
    return std::unexpected(why_none(how));
  }
  static recv_status why_none(core::wait_end how) noexcept {
    return how == core::wait_end::closed ? recv_status::closed : recv_status::timed_out;
  }
};

/// The result of the functions that make channels: auto [tx, rx] = ...
template <class Sender, class Receiver>
struct pair_of {
  Sender sender;
  Receiver receiver;
};

}  // namespace rota::channel
