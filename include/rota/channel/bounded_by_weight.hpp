// A queue of limited length and limited weight, for example of bytes, between tasks and threads.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/channel_half.hpp>
#include <rota/detail/channel_weighed.hpp>

namespace rota::channel {

template <class T>
using weighed_sender = basic_sender<T, detail::weighed>;
template <class T>
using weighed_weak_sender = basic_weak_sender<T, detail::weighed>;
template <class T>
using weighed_receiver = basic_receiver<T, detail::weighed>;

namespace detail {

template <class Weigh, class T>
constexpr bool demand_weigh() noexcept {
  static_assert(!std::is_member_pointer_v<Weigh>,
                "weigh is a pointer to a member, and must be a function: wrap it in a lambda");
  static_assert(
      std::is_nothrow_invocable_v<const Weigh&, const T&>,
      "weigh must be callable as const, with a const T&, and noexcept: senders on several threads call "
      "it, and its item is on its way");
  if constexpr (std::is_nothrow_invocable_v<const Weigh&, const T&>) {
    using weight = std::invoke_result_t<const Weigh&, const T&>;
    static_assert(std::unsigned_integral<weight> && !std::same_as<weight, bool>,
                  "weigh must return an unsigned integer: a weight is never negative");
  }
  static_assert(std::is_nothrow_move_constructible_v<Weigh> && std::is_nothrow_destructible_v<Weigh>,
                "weigh must move without throwing: it goes into the channel");
  static_assert(alignof(Weigh) <= alignof(std::max_align_t), "weigh has a larger alignment than memory has");
  return true;
}

template <class Weigh, class T>
inline constexpr weigher weigher_of{
    sizeof(Weigh),
    [](void* to, void* from) noexcept { ::new (to) Weigh(std::move(*static_cast<Weigh*>(from))); },
    [](void* function) noexcept { static_cast<Weigh*>(function)->~Weigh(); },
    [](const void* function, const void* item) noexcept -> std::uint64_t {
      return (*static_cast<const Weigh*>(function))(*static_cast<const T*>(item));
    }};

}  // namespace detail

/// A channel for at most `capacity` items that weigh at most `max_weight` in all. An item weighs what `weigh`
/// returns for it: a number of bytes, of rows, of credits; 0 is allowed.
///
///   auto size = [](const std::vector<std::byte>& buffer) noexcept { return buffer.size(); };
///   auto [tx, rx] = rota::channel::bounded_by_weight<std::vector<std::byte>>(64, 1 << 20, size);
///   co_await tx.send(std::move(buffer));              // waits for a place, and for room for its bytes
///   const auto next = co_await rx.recv();             // gives both back
///
/// The halves are those of channel::bounded, with weight() and max_weight(). `weigh` is called once for each
/// send, by the sending thread, before the send checks for room. A later change of an item's weight does not
/// count. The weight is given back when a receiver has moved the item out, or when the item is destroyed with
/// the channel.
///
/// An item that is heavier than `max_weight` is not refused: it goes in alone, when nothing else is in the
/// channel, and nothing goes in beside it. So no item waits for room that never comes.
///
/// Threads       Any, as channel::bounded. Senders on several threads may call `weigh` at the same time.
/// Ownership     The halves own the channel together, and the channel owns `weigh`, which is destroyed with
///               it. T and `weigh` must move and be destroyed without throwing, and `weigh` must be noexcept.
///               No lock is held while `weigh` runs.
/// Ordering      First in, first out; see the halves. Senders that wait get room in the order in which they
///               came, and no later sender gets room before them, even if its item is lighter and would fit.
///               So light items cannot starve a heavy one; a light one may wait although there is room for
///               it. Room is not a place in the queue: if several senders have room, their items come in the
///               order in which those senders go on. try_send() returns `full` also while senders wait, while
///               the room is kept for a sender that has waited and has not gone on yet, and for a moment
///               beside a try_select() that would have to wait.
/// Failure       Throws `std::invalid_argument` for a capacity of 0 or above 2^31, and for a max_weight of 0,
///               before anything has changed; `std::bad_alloc`. A send that finds no memory for more places
///               does not throw: as channel::bounded. A full channel makes a send wait; there is no other
///               policy: a sender that must not wait uses try_send(). A cancelled or late send leaves no
///               weight behind, and keeps its item. A sender for which room is kept, and that goes on after a
///               close, returns `closed`. Do not use the channel in a fork of its process if other
///               threads of that process use it. One of them may hold the lock, and the child then waits for
///               it for ever; or one may wait to send, and the room that the child then keeps for it is never
///               used.
/// Cost          Two allocations, here, for 32 places, or for `capacity` if that is less; a sender that needs
///               more doubles them. A place: 24 bytes and the item. Each allocation of places takes 2 KiB at
///               least. An item takes one short lock four times, and senders and receivers share it: if all
///               items have the same size, channel::bounded is faster. A thread that is preempted while it
///               moves an item in or out makes tries wait, as in channel::bounded. One that is preempted
///               while it holds the lock makes every call wait.
/// Example       examples/bounded_by_weight.cpp
template <class T, class Weigh>
[[nodiscard]] pair_of<weighed_sender<T>, weighed_receiver<T>> bounded_by_weight(std::uint64_t capacity,
                                                                                std::uint64_t max_weight,
                                                                                Weigh weigh) {
  static_assert(detail::demand_weigh<Weigh, T>());
  detail::weighed& on = *detail::weighed::make(
      capacity, max_weight, detail::shape_of<T>, detail::weigher_of<Weigh, T>, __builtin_addressof(weigh));
  return {weighed_sender<T>(on), weighed_receiver<T>(on)};
}

}  // namespace rota::channel
