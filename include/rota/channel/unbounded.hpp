// A queue without a limit between tasks and threads: many senders, many receivers.
#pragma once

#include <rota/detail/channel_chain.hpp>
#include <rota/detail/channel_half.hpp>

namespace rota::channel {

template <class T>
using unbounded_sender = basic_sender<T, detail::chain>;
template <class T>
using unbounded_weak_sender = basic_weak_sender<T, detail::chain>;
template <class T>
using unbounded_receiver = basic_receiver<T, detail::chain>;

/// A channel that always has room: no send waits, and no try_send returns `full`.
///
///   auto [tx, rx] = rota::channel::unbounded<int>();
///   if (tx.try_send(1) == rota::channel::send_status::closed) return;
///
/// Threads       As channel::bounded.
/// Ownership     As channel::bounded.
/// Ordering      First in, first out.
/// Failure       A send throws `std::bad_alloc`, and then nothing was sent.
/// Cost          Three read-modify-writes for an item without waiting. Memory for 32 items at a time (of
///               large items for as many as fit into 2 KiB, and at least four), from the frames that threads
///               keep. It is freed when these items have been received, except two such pieces. For each 32
///               items that were queued at once, 64 bytes stay until the channel is destroyed. An empty
///               channel takes about 700 bytes.
/// Example       examples/unbounded.cpp
template <class T>
[[nodiscard]] pair_of<unbounded_sender<T>, unbounded_receiver<T>> unbounded() {
  detail::chain& on = *detail::chain::make(detail::shape_of<T>);
  return {unbounded_sender<T>(on), unbounded_receiver<T>(on)};
}

}  // namespace rota::channel
