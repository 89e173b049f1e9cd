// The concepts of byte sources and byte sinks.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <rota/detail/awaited.hpp>
#include <rota/io/result.hpp>

namespace rota::io {

/// Awaiting an A yields a T. An A is a leaf, a task or an awaiter.
template <class A, class T>
concept yields = (core::is_task<A> || core::bindable<A> || core::gives_awaiter<A>) &&
                 std::same_as<core::await_result<A>, T>;

/// A source of bytes. `co_await s.read(into)` puts some bytes, at most `into.size()`, at the front of `into`,
/// and returns how many. It returns 0 if no more bytes will come, or if `into` is empty.
///
/// The law of reader and writer: an operation that is cancelled, or that times out under a `timeout`, has
/// read or written nothing. Code that is written for every reader or writer is cancel-safe only by this law.
/// A type that cannot keep it says so.
///
/// Threads       As the type says. Of the types in net/ one task reads, and one task writes, at a time.
/// Ownership     The bytes of `into` must live until the co_await is done.
/// Example       net::tcp_stream, net::tcp_stream::read_half
template <class S>
concept reader = requires(S& s, std::span<std::byte> into) {
  { s.read(into) } -> yields<result<std::size_t>>;
};

/// A sink of bytes. `co_await s.write(from)` takes some bytes from the front of `from`, and returns how many:
/// at least one, unless `from` is empty. The law of reader holds.
///
/// Example       net::tcp_stream, net::tcp_stream::write_half
template <class S>
concept writer = requires(S& s, std::span<const std::byte> from) {
  { s.write(from) } -> yields<result<std::size_t>>;
};

/// A reader and a writer. The two directions are independent.
template <class S>
concept stream = reader<S> && writer<S>;

/// A type that can end its writing direction and still be read. `s.shutdown_write()` yields nothing, or a
/// result<void>, at once or when it is awaited. The peer reads what was written, and then 0.
///
/// Example       net::tcp_stream, io::duplex_end
template <class S>
concept half_closer = requires(S& s) { s.shutdown_write(); };

}  // namespace rota::io
