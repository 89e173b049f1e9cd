// A queue of limited length between tasks and threads: many senders, many receivers.
#pragma once

#include <cstdint>

#include <rota/detail/channel_half.hpp>
#include <rota/detail/channel_ring.hpp>

namespace rota::channel {

template <class T>
using sender = basic_sender<T, detail::ring>;
template <class T>
using weak_sender = basic_weak_sender<T, detail::ring>;
template <class T>
using receiver = basic_receiver<T, detail::ring>;

/// A channel for at most `capacity` items.
///
///   auto [tx, rx] = rota::channel::bounded<int>(64);
///   co_await tx.send(1);                              // waits for room
///   for (;;) {
///     const auto item = co_await rx.recv();
///     if (!item) break;                               // the last sender has gone, or a half called close()
///     use(*item);
///   }
///
/// Threads       Any: tasks of any runtime, works of a pool, and plain threads by the blocking forms.
/// Ownership     The halves own the channel together. T must move and be destroyed without throwing.
/// Ordering      First in, first out; see the halves.
/// Failure       Throws `std::invalid_argument` for capacity 0 (there is no rendezvous) and above 2^31,
///               `std::bad_alloc`. A send that finds no memory for more places does not throw, and keeps or
///               sends its item as usual: the channel stays at the number of places that it has, and is full
///               with so many items. A send that waits then waits for one of these places; `reject` returns
///               `full`, `drop_newest` drops the new item, `drop_oldest` the oldest. The next send that takes
///               the last free place asks for memory again. capacity() is the requested capacity.
/// Cost          One allocation, here, for 32 places, or for `capacity` if that is less. A send that takes
///               the last free place adds a block: of 64 places, then 128, and so on up to `capacity`. That
///               send allocates the block and writes each of its places; other sends wait for it. Blocks
///               stay, and are used again. A place: 8 bytes and the item; a block: at least 2 KiB.
///               `how.on_full` says what a send to a full channel does; see channel::overflow.
/// Example       examples/bounded.cpp
template <class T>
[[nodiscard]] pair_of<sender<T>, receiver<T>> bounded(std::uint64_t capacity, options how = {}) {
  detail::ring& on = *detail::ring::make(capacity, detail::shape_of<T>, how);
  return {sender<T>(on), receiver<T>(on)};
}

}  // namespace rota::channel
