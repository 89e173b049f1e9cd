// What bytes come from and go to.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <rota/detail/awaited.hpp>
#include <rota/io/result.hpp>

namespace rota::io {

/// Awaiting an A yields a T: of a leaf, a task, an awaiter.
template <class A, class T>
concept yields = (core::is_task<A> || core::bindable<A> || core::gives_awaiter<A>) &&
                 std::same_as<core::await_result<A>, T>;

/// Where bytes come from: `co_await s.read(into)` puts some of them, at most `into.size()`, to the front of `into`, and says how many. 0:
/// there will be no more (or `into` is empty).
///
/// The law of reader and writer: an operation that is cancelled, or late under a `timeout`, has read or written nothing. Code that
/// is written for every reader or writer is cancel-safe only by it. What cannot keep it says so.
///
/// Threads       As the type says; of the types in net/ one task reads, and one task writes, at a time.
/// Ownership     What `into` refers to lives until the co_await is done.
/// Example       net::tcp_stream, net::tcp_stream::read_half
template <class S>
concept reader = requires(S& s, std::span<std::byte> into) {
  { s.read(into) } -> yields<result<std::size_t>>;
};

/// Where bytes go to: `co_await s.write(from)` takes some of them, from the front, and says how many: at least one, unless `from` is empty.
/// The law is the one of reader.
///
/// Example       net::tcp_stream, net::tcp_stream::write_half
template <class S>
concept writer = requires(S& s, std::span<const std::byte> from) {
  { s.write(from) } -> yields<result<std::size_t>>;
};

/// Both: two directions that know nothing of each other.
template <class S>
concept stream = reader<S> && writer<S>;

/// Can say that nothing more will be written, and still be read: `s.shutdown_write()`, which yields nothing, or a result<void>, at once or when
/// it is awaited. The other side reads what was written, and then 0.
///
/// Example       net::tcp_stream, io::duplex_end
template <class S>
concept half_closer = requires(S& s) { s.shutdown_write(); };

}  // namespace rota::io
