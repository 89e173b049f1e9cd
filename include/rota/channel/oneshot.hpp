// One item from one task or thread to another.
#pragma once

#include <cstddef>
#include <expected>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/base_frames.hpp>
#include <rota/detail/channel_half.hpp>

namespace rota::channel {

namespace detail {

// PROTOCOL: oneshot
//   bit            means                               set by, once
//   sent           the item is in the block            the sender, after it has put the item there
//   closed         nothing is sent any more            a sender that goes without a send; the receiver
//   waits          a waiter is, or was, in line        under the list's lock: the receiver; or the sender,
//                                                      which waits for the close
//   sender_gone    the sender made its last access     the sender, last: together with `sent`, if no waiter
//                                                      is in line yet
//   receiver_gone  the same for the receiver           the receiver, last
//
//   O1  At most one of sent and closed is set: the first compare-exchange wins. An item that came late stays
//       with the sender.
//   O2  The item belongs to the receiver from `sent` on. taken_ belongs to the receiver, and then to the half
//       that frees the block.
//   O3  The second of the two halves that sets its `gone` bit frees the block, with the item if it was not
//       taken.
//   O4  Of {sent or closed, waits} at least one side sees the other: both are read-modify-writes of the word.
//       A grant takes nothing: a cancelled waiter leaves the item in the block.

class ROTA_API oneshot_core {
 public:
  oneshot_core() noexcept = default;
  oneshot_core(const oneshot_core&) = delete;
  oneshot_core& operator=(const oneshot_core&) = delete;
  ~oneshot_core() = default;

  /// Sets `sent`. Returns false if it is closed, or was sent before.
  [[nodiscard]] bool publish() noexcept { return settle(sent); }
  /// publish() and leave_sender() in one: succeeds only if there is no waiter, and no half has gone. Returns
  /// false if nothing has changed.
  [[nodiscard]] bool publish_and_leave() noexcept {
    std::uint32_t seen = 0;
    // release: pairs with ask() and with leave(): the item is there, and all that this side did comes before
    // the end. failure: relaxed: the caller goes on with publish().
    return word_.compare_exchange_strong(
        seen, sent | sender_gone, base::order::release, base::order::relaxed);
  }
  void close() noexcept { static_cast<void>(settle(closed)); }
  /// Gives the sender's half up. Returns true if the other half has gone: the caller frees the block.
  [[nodiscard]] bool leave_sender() noexcept { return leave(sender_gone, receiver_gone); }
  [[nodiscard]] bool leave_receiver() noexcept { return leave(receiver_gone, sender_gone); }

  /// Polls for the item, for the receiver. On `got` the caller takes the item, and calls note_taken().
  look ask() const noexcept {
    // acquire: pairs with publish(): the item is there; and with close().
    const std::uint32_t seen = word_.load(base::order::acquire);
    if ((seen & sent) != 0 && !taken_) return look::got;
    return (seen & (sent | closed)) != 0 ? look::ended : look::not_now;
  }
  void note_taken() noexcept { taken_ = true; }
  /// For the half that frees the block.
  [[nodiscard]] bool has_item() const noexcept { return ask() == look::got; }
  [[nodiscard]] bool is_closed() const noexcept {
    // acquire: same reason as in ask().
    return (word_.load(base::order::acquire) & (sent | closed)) != 0;
  }
  [[nodiscard]] core::wait_target to_receive() noexcept { return {&line_, this, &rules}; }
  [[nodiscard]] core::wait_target to_close() noexcept { return {&line_, this, &close_rules}; }

 private:
  static constexpr std::uint32_t sent = 1;
  static constexpr std::uint32_t closed = 2;
  static constexpr std::uint32_t waits = 4;
  static constexpr std::uint32_t sender_gone = 8;
  static constexpr std::uint32_t receiver_gone = 16;
  static const core::wait_rules rules;
  static const core::wait_rules close_rules;

  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  bool settle(std::uint32_t how) noexcept;
  bool leave(std::uint32_t mine, std::uint32_t other) noexcept {
    // acq_rel: the release orders this side's accesses before the free; the acquire does so for those of the
    // other side.
    return (word_.fetch_or(mine, base::order::acq_rel) & other) != 0;
  }

  base::atomic<std::uint32_t> word_{0};
  bool taken_ = false;
  core::wait_list line_;
};

template <class T>
struct oneshot_block : oneshot_core {
  alignas(T) std::byte item[sizeof(T)];

  [[nodiscard]] static oneshot_block* make() {
    if constexpr (alignof(oneshot_block) > 16) {
      return ::new oneshot_block;
    } else {
      return ::new (base::allocate_frame(sizeof(oneshot_block))) oneshot_block;
    }
  }
  void free() noexcept {
    if (has_item()) destroy_item();
    if constexpr (alignof(oneshot_block) > 16) {
      delete this;
    } else {
      this->~oneshot_block();
      base::free_frame(this, sizeof(oneshot_block));
    }
  }
  void put(T& from) noexcept {
    before_items();
    base::note_write(item);
    ::new (static_cast<void*>(item)) T(std::move(from));
  }
  void destroy_item() noexcept {
    before_items();
    base::note_write(item);
    value()->~T();
  }
  template <class Result>
  Result take() noexcept {
    base::note_write(item);
    Result taken(std::in_place, std::move(*value()));
    destroy_item();
    note_taken();
    return taken;
  }
  T* value() noexcept { return std::launder(reinterpret_cast<T*>(item)); }
};

template <class T, class Result>
class ROTA_DETAIL_AWAIT_IT oneshot_leaf final : public core::wait_leaf {
 public:
  explicit oneshot_leaf(oneshot_block<T>& on) noexcept : wait_leaf(on.to_receive()), on_(&on) {}
  bool await_ready() noexcept {
    return try_end_here([this]() noexcept { return on_->ask() != look::not_now; });
  }
  [[nodiscard]] Result await_resume() noexcept {
    if (on_->ask() == look::got) return on_->template take<Result>();
    if constexpr (std::is_same_v<Result, std::optional<T>>) {
      return std::nullopt;
    } else {
      return std::unexpected(recv_status::closed);
    }
  }

 private:
  oneshot_block<T>* on_;
};

}  // namespace detail

/// The half that sends, once. Its destruction without a send is a close. Empty after a move, and after
/// send(). closed() and its forms are those of its base.
///
/// Threads       One at a time; any.
/// Ownership     As oneshot(). The half that goes last destroys an item that was not taken.
/// Ordering      What was done before the send happens before the return of the receive; so does what was
///               done before the destruction of a sender that sends nothing.
/// Failure       An item that is not sent is destroyed by send(), and stays with the caller of try_send(). A
///               call of a member of an empty half ends the program with a message.
/// Cost          As oneshot(). Destruction without a send: two read-modify-writes.
/// Example       examples/oneshot.cpp
template <class T>
class oneshot_sender : public detail::waits_for_close<oneshot_sender<T>> {
  static_assert(detail::demand_item<T>());

 public:
  oneshot_sender(oneshot_sender&& other) noexcept
      : detail::waits_for_close<oneshot_sender>(), on_(std::exchange(other.on_, nullptr)) {}
  oneshot_sender& operator=(oneshot_sender&& other) noexcept {
    oneshot_sender taken(std::move(other));
    std::swap(on_, taken.on_);
    return *this;
  }
  oneshot_sender(const oneshot_sender&) = delete;
  oneshot_sender& operator=(const oneshot_sender&) = delete;
  ~oneshot_sender() {
    if (on_ == nullptr) return;
    auto& on = *on_;
    on.close();
    if (on.leave_sender()) on.free();
  }

  /// Sends without waiting: std::move(tx).send(x). Returns `closed` if the receiver has gone, or has closed
  /// the channel.
  send_status send(T item) && noexcept {
    oneshot_sender last(std::move(*this));
    return last.put(item);
  }
  /// The same; moves from the item only if it returns `sent`. The half is empty afterwards in any case.
  send_status try_send(T&& item) && noexcept {
    oneshot_sender last(std::move(*this));
    return last.put(item);
  }
  [[nodiscard]] bool is_closed() const noexcept { return on_->is_closed(); }

  explicit oneshot_sender(detail::oneshot_block<T>& on) noexcept : on_(&on) {}

 private:
  friend class detail::waits_for_close<oneshot_sender>;

  [[nodiscard]] core::wait_target to_close() noexcept { return on_->to_close(); }
  send_status put(T& item) noexcept {
    auto& on = *on_;
    if (on.is_closed()) return send_status::closed;
    on.put(item);
    if (on.publish_and_leave()) {
      on_ = nullptr;
      return send_status::sent;
    }
    if (on.publish()) return send_status::sent;
    detail::before_items();
    detail::give_back(item, *on.value());
    on.destroy_item();
    return send_status::closed;
  }

  detail::held<detail::oneshot_block<T>> on_;
};

/// The half that receives, once. Empty after a move.
///
/// Threads       One at a time; any.
/// Ownership     As oneshot(). It must outlive what its members return, and must not be moved meanwhile.
/// Ordering      As oneshot_sender.
/// Failure       As oneshot(): nothing, or `closed`, if the sender has gone without a send, and after the
///               item was taken. A call of a member of an empty half ends the program with a message.
/// Cost          As oneshot(). If the item is there: one load, and the move of the item.
/// Example       examples/oneshot.cpp
template <class T>
class oneshot_receiver {
  using status_or = std::expected<T, recv_status>;
  using timed_leaf = core::limited<detail::oneshot_leaf<T, status_or>>;

 public:
  oneshot_receiver(oneshot_receiver&& other) noexcept : on_(std::exchange(other.on_, nullptr)) {}
  oneshot_receiver& operator=(oneshot_receiver&& other) noexcept {
    oneshot_receiver taken(std::move(other));
    std::swap(on_, taken.on_);
    return *this;
  }
  oneshot_receiver(const oneshot_receiver&) = delete;
  oneshot_receiver& operator=(const oneshot_receiver&) = delete;
  ~oneshot_receiver() {
    if (on_ == nullptr) return;
    auto& on = *on_;
    on.close();
    if (on.leave_receiver()) on.free();
  }

  /// Receives. co_await yields a std::optional<T>; nothing: the sender has gone without a send, or the item
  /// was taken before.
  detail::oneshot_leaf<T, std::optional<T>> recv() noexcept {
    return detail::oneshot_leaf<T, std::optional<T>>(*on_);
  }
  [[nodiscard]] status_or try_recv() noexcept {
    auto& on = *on_;
    const detail::look did = on.ask();
    if (did == detail::look::got) return on.template take<status_or>();
    return std::unexpected(did == detail::look::ended ? recv_status::closed : recv_status::empty);
  }
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
    auto& on = *on_;
    core::wait_node me;
    static_cast<void>(core::block(on.to_receive(), me));
    if (on.ask() != detail::look::got) return std::nullopt;
    return on.template take<std::optional<T>>();
  }
  template <core::span_of_time Span>
  [[nodiscard]] status_or blocking_recv_for(Span span) {
    core::wait_node me;
    return end(core::block_for(on_->to_receive(), me, rota::detail::saturating_span(span)));
  }
  template <class Duration>
  [[nodiscard]] status_or blocking_recv_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    return end(core::block_until(on_->to_receive(), me, rota::detail::saturating_deadline(time)));
  }

  /// Closes the channel: a later send returns `closed`; an item that was sent before can be received.
  void close() noexcept { on_->close(); }
  /// Returns true if there will be no item: the sender has gone without a send, or the channel was closed
  /// before the send, or the item has been taken.
  [[nodiscard]] bool is_closed() const noexcept { return on_->ask() == detail::look::ended; }

  explicit oneshot_receiver(detail::oneshot_block<T>& on) noexcept : on_(&on) {}

 private:
  status_or end(core::wait_end how) noexcept {
    if (how == core::wait_end::timed_out) return std::unexpected(recv_status::timed_out);
    return try_recv();
  }

  detail::held<detail::oneshot_block<T>> on_;
};

/// A channel for one item.
///
///   auto [tx, rx] = rota::channel::oneshot<int>();
///   std::move(tx).send(42);                       // once
///   const auto got = co_await rx.recv();          // std::optional<int>
///
/// Threads       One sends, another receives: tasks of any runtime, works of a pool, plain threads by the
///               blocking forms.
/// Ownership     The halves own the channel together, and the half that goes last destroys an item that was
///               not taken. A half must outlive what its members return. T must move and be destroyed without
///               throwing.
/// Ordering      What was done before the send happens before the return of the receive.
/// Failure       `std::bad_alloc`. A sender that goes without a send closes the channel. A cancelled or late
///               receive takes nothing: the next one finds the item.
/// Cost          One block from the frames that threads keep: no allocation when warm. A send, and the end of
///               a half: one read-modify-write, or two if there is a waiter.
/// Example       examples/oneshot.cpp
template <class T>
[[nodiscard]] pair_of<oneshot_sender<T>, oneshot_receiver<T>> oneshot() {
  detail::oneshot_block<T>& on = *detail::oneshot_block<T>::make();
  return {oneshot_sender<T>(on), oneshot_receiver<T>(on)};
}

}  // namespace rota::channel
