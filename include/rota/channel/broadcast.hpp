// Each value to each receiver; a slow receiver loses the oldest values, and is told how many.
#pragma once

#include <cstdint>
#include <expected>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/channel_half.hpp>
#include <rota/detail/channel_news.hpp>
#include <rota/detail/channel_values.hpp>

namespace rota::channel {

/// Why a receive of a broadcast yields no value.
struct no_item {
  recv_status why;  // empty, closed, timed_out, lagged
  // How many values were overwritten before this receiver had them. The next receive yields the oldest one
  // that is left.
  std::uint64_t lagged = 0;

  friend bool operator==(const no_item&, const no_item&) = default;
};

namespace detail {

/// Throws std::invalid_argument, unless the capacity is 1..2^31.
ROTA_API void demand_broadcast_capacity(std::uint64_t capacity);

/// The position of a receiver.
struct place_in_broadcast {
  std::uint64_t next;   // the count of values that were sent before the next one
  std::uint64_t index;  // the slot of the next one
};

// PROTOCOL: ring of a broadcast
//   Beside Protocol news and Protocol values: the value that was sent after `p` others is in slot p %
//   capacity, with the number p + 1, until the value that is sent after p + capacity others overwrites it.
//
//   R1  The last `capacity` values are kept: of `count` sent ones those from count - capacity on. A receiver
//       that is further behind has lagged, by the distance.
//   R2  A slot is overwritten before the word counts the new value. A reader without the lock that does not
//       find its number in the slot reads again under the lock.
//   R3  With no receiver left no value is kept, and a new value is dropped at once: a later receiver begins
//       at the values that are sent after it came.
template <class T>
class broadcast_ring final : public news {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "a channel holds objects: send a pointer, or a value");
  static_assert(std::is_copy_constructible_v<T>,
                "each receiver of a broadcast gets a copy: send what can be copied, such as a shared_ptr");

 public:
  using slot = slot_for<T>;
  using value = slot::value;

  [[nodiscard]] static broadcast_ring* make(std::uint64_t capacity) {
    demand_broadcast_capacity(capacity);
    return ::new (base::allocate_frame(bytes_for(capacity))) broadcast_ring(capacity);
  }
  void free() noexcept {
    const std::size_t bytes = bytes_for(capacity_);
    this->~broadcast_ring();
    base::free_frame(this, bytes);
  }

  send_status put(value& next) noexcept {
    core::wait_section section(line());
    const snapshot now = state();
    if (now.is_closed()) return send_status::closed;
    if (!has_receivers()) return send_status::dropped;
    slot_at(now.count() % capacity_).put(next, now.count() + 1);
    announce(section);
    return send_status::sent;
  }

  /// Reads the next value. Returns true if it is in `into`; the receiver has not moved on then. Else `why`
  /// has the reason; if that is `lagged`, the receiver has moved on to the oldest value.
  bool fetch(place_in_broadcast& at, value& into, no_item& why) noexcept {
    const snapshot now = state();
    if (now.count() == at.next) {
      why = {now.is_closed() ? recv_status::closed : recv_status::empty};
      return false;
    }
    if (now.count() - at.next <= capacity_ && slot_at(at.index).peek(into) == at.next + 1) [[likely]]
      return true;
    return fetch_under_lock(at, into, why);
  }
  void move_on(place_in_broadcast& at) const noexcept {
    ++at.next;
    at.index = at.index + 1 == capacity_ ? 0 : at.index + 1;
  }
  [[nodiscard]] place_in_broadcast begin_at(std::uint64_t next) const noexcept {
    return {next, next % capacity_};
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

  /// Destroys the kept values when no receiver is left: see R3. In pieces, since a receiver may subscribe
  /// meanwhile.
  void discard() noexcept {
    if constexpr (!lies_in_words<T>) {
      while (discard_some()) {
      }
    }
  }

 private:
  explicit broadcast_ring(std::uint64_t capacity) noexcept : news(broadcast_rules), capacity_(capacity) {
    for (std::uint64_t i = 0; i < capacity_; ++i) ::new (static_cast<void*>(&slot_at(i))) slot;
  }
  ~broadcast_ring() {
    for (std::uint64_t i = 0; i < capacity_; ++i) slot_at(i).~slot();
  }
  [[nodiscard]] static std::size_t bytes_for(std::uint64_t capacity) noexcept {
    return sizeof(broadcast_ring) + static_cast<std::size_t>(capacity) * sizeof(slot);
  }
  [[nodiscard]] slot& slot_at(std::uint64_t index) noexcept {
    static_assert(sizeof(broadcast_ring) % alignof(slot) == 0 && alignof(slot) <= 16);
    return reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(this) + sizeof(broadcast_ring))[index];
  }

  bool fetch_under_lock(place_in_broadcast& at, value& into, no_item& why) noexcept {
    const core::wait_section section(line());
    const std::uint64_t behind = state().count() - at.next;
    if (behind <= capacity_) {
      slot_at(at.index).read(into);
      return true;
    }
    why = {recv_status::lagged, behind - capacity_};
    at = begin_at(at.next + why.lagged);
    return false;
  }
  /// Returns false if no value is left, or there is a receiver again.
  bool discard_some() noexcept {
    value dropped[16];  // outlives the section
    const core::wait_section section(line());
    if (has_receivers()) return false;
    const std::uint64_t count = state().count();
    const std::uint64_t oldest = count > capacity_ ? count - capacity_ : 0;
    if (kept_from_ < oldest) kept_from_ = oldest;
    for (value& one : dropped) {
      if (kept_from_ == count) return false;
      slot_at(kept_from_++ % capacity_).take_out(one);
    }
    return true;
  }

  std::uint64_t capacity_;
  std::uint64_t kept_from_ = 0;  // under the lock: earlier values are gone
};

template <class T>
class broadcast_leaf;

}  // namespace detail

template <class T>
class broadcast_receiver;

/// The half that sends. A copy is one more sender; the last one that goes closes the channel. Empty after a
/// move. has_receivers(), receiver_count(), close(), is_closed(), and closed() with its forms, are those of
/// its base.
///
/// Threads       Any: each member may be called by several threads at once, but not beside an assignment to
///               the same half.
/// Ownership     As broadcast().
/// Ordering      All receivers get all values in one order, that of the sends. What was done before a send
///               happens before the return of each receive that gets its value.
/// Failure       send() throws `std::bad_alloc`, and what moving a T throws: nothing was sent then. A call of
///               a member of an empty half ends the program with a message; so does a call of a member of an
///               empty broadcast_receiver.
/// Cost          As broadcast(). A wake for each receiver that waits.
/// Example       examples/broadcast.cpp
template <class T>
class broadcast_sender : public detail::news_sender<detail::broadcast_ring<T>> {
  using half = detail::news_sender<detail::broadcast_ring<T>>;
  using half::on_;

 public:
  /// Sends without waiting. `dropped`: no receiver exists, and later receivers do not get the value. Else
  /// `sent` or `closed`.
  send_status send(T value) {
    typename detail::broadcast_ring<T>::value next(std::move(value));
    return on_->put(next);  // the overwritten value ends with `next`
  }
  /// Returns a new receiver, for the values that are sent from now on.
  [[nodiscard]] broadcast_receiver<T> subscribe() const {
    return broadcast_receiver<T>(*on_, on_->add_receiver());
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return on_->capacity(); }

  /// For a ring that counts this half already. Called by broadcast().
  explicit broadcast_sender(detail::broadcast_ring<T>& on) noexcept : half(on) {}
};

/// The half that receives: each receiver gets a copy of each value. Not copyable: subscribe() makes a new
/// one, which begins at the current position. Empty after a move.
///
/// Threads       Any, but one at a time: a receiver stores its position. Each thread or task has its own.
/// Ownership     As broadcast(). It must outlive what its members return, and must not be moved meanwhile.
/// Ordering      As broadcast_sender. Each value comes once, or is counted once by a `lagged`.
/// Failure       `lagged`: see no_item. `closed`, when all kept values have been received. What copying a T
///               throws is rethrown, and the value comes again at the next receive. A cancelled or late
///               receive has taken nothing.
/// Cost          As broadcast().
/// Example       examples/broadcast.cpp
template <class T>
class broadcast_receiver {
  using item_or = std::expected<T, no_item>;
  using plain_leaf = detail::broadcast_leaf<T>;
  using timed_leaf = core::limited<plain_leaf>;

 public:
  broadcast_receiver(broadcast_receiver&& other) noexcept
      : on_(std::exchange(other.on_, nullptr)), at_(other.at_) {}
  broadcast_receiver& operator=(broadcast_receiver&& other) noexcept {
    broadcast_receiver taken(std::move(other));
    std::swap(on_, taken.on_);
    std::swap(at_, taken.at_);
    return *this;
  }
  broadcast_receiver(const broadcast_receiver&) = delete;
  broadcast_receiver& operator=(const broadcast_receiver&) = delete;
  ~broadcast_receiver() {
    if (on_ == nullptr) return;
    if (!on_->drop_receiver()) on_->discard();
    if (on_->leave()) on_->free();
  }

  /// Receives. co_await yields a std::expected<T, no_item>: a copy of the next value, or `lagged`, `closed`.
  plain_leaf recv() noexcept { return plain_leaf(*this); }
  /// The same without waiting: also `empty`.
  [[nodiscard]] item_or try_recv() {
    detail::broadcast_ring<T>& on = *on_;
    typename detail::broadcast_ring<T>::value got;
    no_item why{recv_status::empty};
    if (!on.fetch(at_, got, why)) return std::unexpected(why);
    detail::before_items();
    item_or copy(std::in_place, std::as_const(got.get()));
    on.move_on(at_);
    return copy;
  }
  /// The same with a limit: also `timed_out`.
  template <core::span_of_time Span>
  timed_leaf recv_for(Span span) noexcept {
    return timed_leaf(rota::detail::saturating_span(span), *this);
  }
  template <class Duration>
  timed_leaf recv_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    return timed_leaf(rota::detail::saturating_deadline(time), *this);
  }
  /// Block the thread; in a task, co_await recv() instead.
  [[nodiscard]] item_or blocking_recv() {
    core::wait_node me;
    detail::hearing as = hears();
    static_cast<void>(core::block(on_->to_hear(as), me));
    return try_recv();
  }
  template <core::span_of_time Span>
  [[nodiscard]] item_or blocking_recv_for(Span span) {
    core::wait_node me;
    detail::hearing as = hears();
    return end(core::block_for(on_->to_hear(as), me, rota::detail::saturating_span(span)));
  }
  template <class Duration>
  [[nodiscard]] item_or blocking_recv_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    detail::hearing as = hears();
    return end(core::block_until(on_->to_hear(as), me, rota::detail::saturating_deadline(time)));
  }

  /// Returns a new receiver, for the values that are sent from now on.
  [[nodiscard]] broadcast_receiver subscribe() const { return broadcast_receiver(*on_, on_->add_receiver()); }
  /// Returns how many values have been sent that this receiver has not received, including the overwritten
  /// ones.
  [[nodiscard]] std::uint64_t size() const noexcept { return on_->state().count() - at_.next; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return on_->capacity(); }
  [[nodiscard]] bool is_closed() const noexcept { return on_->state().is_closed(); }
  [[nodiscard]] bool same_channel(const broadcast_receiver& other) const noexcept { return on_ == other.on_; }

  /// For a ring that counts this half already. Called by broadcast() and subscribe().
  broadcast_receiver(detail::broadcast_ring<T>& on, std::uint64_t next) noexcept
      : on_(&on), at_(on.begin_at(next)) {}

 private:
  friend class detail::broadcast_leaf<T>;

  [[nodiscard]] detail::hearing hears() const noexcept { return {&*on_, &at_.next}; }
  item_or end(core::wait_end how) {
    if (how == core::wait_end::timed_out) return std::unexpected(no_item{recv_status::timed_out});
    return try_recv();
  }

  detail::held<detail::broadcast_ring<T>> on_;
  detail::place_in_broadcast at_;
};

template <class T>
class ROTA_DETAIL_AWAIT_IT detail::broadcast_leaf final : public core::wait_leaf {
 public:
  explicit broadcast_leaf(broadcast_receiver<T>& of) noexcept
      : wait_leaf(of.on_->to_hear(as_)), of_(&of), as_(of.hears()) {}
  [[nodiscard]] std::expected<T, no_item> await_resume() { return of_->try_recv(); }

 private:
  broadcast_receiver<T>* of_;
  hearing as_;
};

/// A channel that gives each value to each receiver, and keeps the last `capacity` values for slow receivers.
///
///   auto [tx, rx] = rota::channel::broadcast<int>(64);
///   auto other = tx.subscribe();                   // gets what is sent from now on
///   if (tx.send(1) == rota::channel::send_status::dropped) log("no receiver");   // never waits
///   for (;;) {
///     const auto item = co_await rx.recv();
///     if (item.has_value()) use(*item);
///     else if (item.error().why == rota::channel::recv_status::lagged) count_lost(item.error().lagged);
///     else break;                                  // the last sender has gone, or one called close()
///   }
///
/// Threads       Any: tasks of any runtime, works of a pool, and plain threads by the blocking forms.
/// Ownership     The halves own the channel together. A value is destroyed when it was overwritten, or no
///               receiver is left, and no receiver copies it any more; a value that all receivers have
///               received stays until then, too. There are never more values than `capacity`, one for each
///               receiver that is copying, and one for each send under way. T must be copyable, and be
///               destroyed without throwing.
/// Ordering      One order for all; see the halves.
/// Failure       Throws `std::invalid_argument` for capacity 0 and above 2^31, `std::bad_alloc`.
/// Cost          One allocation, here. No lock is held while a T is copied or destroyed. A T of up to 64
///               bytes that is copied as bytes: a receive is loads, and no read-modify-write; a send takes a
///               short lock. Any other T: a receive takes a short lock and two read-modify-writes; a send
///               also a node, from the frames that threads keep.
/// Example       examples/broadcast.cpp
template <class T>
[[nodiscard]] pair_of<broadcast_sender<T>, broadcast_receiver<T>> broadcast(std::uint64_t capacity) {
  detail::broadcast_ring<T>& on = *detail::broadcast_ring<T>::make(capacity);
  return {broadcast_sender<T>(on), broadcast_receiver<T>(on, 0)};
}

}  // namespace rota::channel

namespace rota::core {

template <class T>
struct timed_result<std::expected<T, channel::no_item>> {
  using type = std::expected<T, channel::no_item>;
  static type late() { return std::unexpected(channel::no_item{channel::recv_status::timed_out}); }
  template <class Awaited>
  static type in_time(Awaited& inner) {
    return inner.await_resume();
  }
};

}  // namespace rota::core
