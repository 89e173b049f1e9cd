// Readers, writers, and types that only resemble them.
#include <rota/io/concepts.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

namespace {

using rota::io::reader;
using rota::io::result;
using rota::io::stream;
using rota::io::writer;
using rota::net::tcp_stream;

static_assert(stream<tcp_stream>);
static_assert(reader<tcp_stream::read_half> && !writer<tcp_stream::read_half>);
static_assert(writer<tcp_stream::write_half> && !reader<tcp_stream::write_half>);
static_assert(!reader<rota::net::tcp_listener> && !writer<rota::net::tcp_listener>);
static_assert(!reader<const tcp_stream>, "a read changes the stream");
static_assert(std::same_as<rota::net::result<int>, result<int>>);

/// Of one's own, by tasks.
struct nothing {
  [[maybe_unused]] static rota::task<result<std::size_t>> read(std::span<std::byte> /*into*/) { co_return 0; }
  [[maybe_unused]] static rota::task<result<std::size_t>> write(std::span<const std::byte> from) {
    co_return from.size();
  }
};
static_assert(stream<nothing>);

/// Of one's own, by leaves.
struct filter {
  auto read(std::span<std::byte> into) { return from.read(into); }
  tcp_stream& from;
};
static_assert(reader<filter> && !writer<filter>);

struct blocks {
  [[maybe_unused]] std::size_t read(std::span<std::byte> into);
  [[maybe_unused]] result<std::size_t> write(std::span<const std::byte> from);
};
static_assert(!reader<blocks> && !writer<blocks>, "nothing to await");
struct hides_errors {
  [[maybe_unused]] rota::task<std::size_t> read(std::span<std::byte> into);
  [[maybe_unused]] rota::task<result<int>> write(std::span<const std::byte> from);
};
static_assert(!reader<hides_errors> && !writer<hides_errors>, "the wrong result");
struct lends_its_task {
  [[maybe_unused]] rota::task<result<std::size_t>>& read(std::span<std::byte> into);
};
static_assert(!reader<lends_its_task>, "a task is awaited once");
struct takes_text {
  [[maybe_unused]] rota::task<result<std::size_t>> write(const std::string& text);
};
static_assert(!writer<takes_text>);
static_assert(!reader<int> && !writer<std::string>);

template <reader From, writer To>
rota::task<result<std::size_t>> pass_on(From& from, To& to, std::span<std::byte> room) {
  result<std::size_t> got = co_await from.read(room);
  if (!got.has_value()) co_return got;
  result<std::size_t> put = co_await to.write(room.first(*got));
  co_return put;
}

[[maybe_unused]] rota::task<> uses(tcp_stream& socket, std::span<std::byte> room) {
  auto [from, to] = std::move(socket).split();
  const result<std::size_t> there = co_await pass_on(from, to, room);
  nothing none;
  const result<std::size_t> back = co_await pass_on(none, to, room);
  static_cast<void>(there.has_value() && back.has_value());
}

}  // namespace
