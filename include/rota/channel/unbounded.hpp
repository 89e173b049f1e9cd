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

/// A channel that always has room: no send waits, and no try_send says `full`.
///
///   auto [tx, rx] = rota::channel::unbounded<int>();
///   if (tx.try_send(1) == rota::channel::send_status::closed) return;
///
/// Threads       As channel::bounded.
/// Ownership     As channel::bounded.
/// Ordering      First in, first out.
/// Failure       A send throws `std::bad_alloc`, and nothing was sent.
/// Cost          A node an item, from the frames that threads keep. A send takes one short lock twice, a receive once.
/// Example       examples/unbounded.cpp
template <class T>
[[nodiscard]] pair_of<unbounded_sender<T>, unbounded_receiver<T>> unbounded() {
  detail::chain& on = *detail::chain::make(detail::shape_of<T>);
  return {unbounded_sender<T>(on), unbounded_receiver<T>(on)};
}

}  // namespace rota::channel
