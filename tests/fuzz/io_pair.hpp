// Two ends of a byte stream, for the fuzzer of the backends: only operations with one result in any order.
#pragma once

#include <poll.h>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io_script.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/process.hpp>
#include <rota/rota.hpp>

namespace fuzz {

using rota::task;
using rota::io::result;
using count_result = result<std::size_t>;

/// A pipe's ends act like those of a connection: the first one writes, the second one reads.
struct pipe_end {
  rota::process::pipe_reader in;
  rota::process::pipe_writer out;

  auto read(std::span<std::byte> into) { return in.read(into); }
  auto write_all(std::span<const std::byte> from) { return out.write_all(from); }
  result<void> shutdown_write() {
    out.close();
    return {};
  }
  void close() {
    in.close();
    out.close();
  }
};

/// So do those of a datagram socket.
struct message_end {
  rota::net::unix_datagram socket;

  auto read(std::span<std::byte> into) { return socket.recv(into); }
  auto peek(std::span<std::byte> into) { return socket.peek(into); }
  auto write_all(std::span<const std::byte> from) { return socket.send(from); }
  void close() { socket.close(); }
};

template <class End>
inline constexpr bool is_pipe = std::is_same_v<End, pipe_end>;
template <class End>
inline constexpr bool has_messages = std::is_same_v<End, message_end>;
/// Written bytes may arrive a moment later, in several parts.
template <class End>
inline constexpr bool is_tcp = std::is_same_v<End, rota::net::tcp_stream>;

template <class End>
using both_ends = std::pair<End, End>;

template <class End>
task<both_ends<End>> make_both() {
  if constexpr (is_pipe<End>) {
    auto made = rota::process::pipe().value();
    pipe_end writes{{}, std::move(made.second)};
    pipe_end reads{std::move(made.first), {}};
    co_return both_ends<End>(std::move(writes), std::move(reads));
  } else if constexpr (has_messages<End>) {
    auto made = rota::net::unix_datagram::pair().value();
    message_end first{std::move(made.first)};
    message_end second{std::move(made.second)};
    co_return both_ends<End>(std::move(first), std::move(second));
  } else if constexpr (is_tcp<End>) {
    auto listener = rota::net::tcp_listener::bind(rota::net::endpoint::loopback_v4(0)).value();
    const auto where = listener.local_endpoint().value();
    auto first = co_await rota::net::tcp_stream::connect(where);
    auto second = co_await listener.accept();
    check(first.value().set_nodelay(true).has_value(), "small writes go at once");
    check(second.value().set_nodelay(true).has_value(), "small writes go at once");
    co_return both_ends<End>(std::move(*first), std::move(*second));
  } else {
    co_return rota::net::unix_stream::pair().value();
  }
}

template <class End>
class io_pair {
 public:
  io_pair(journal& to, std::uint64_t name) : to_(to), name_(name) {}

  /// One operation. `how` says which, and `size` how much of it.
  task<> step(unsigned at, std::uint64_t how, std::size_t size) {
    if (!ends_[0].it.has_value() && !ends_[1].it.has_value()) {
      co_await renew();
      co_return;
    }
    switch (how % 16) {
      case 0:
      case 1:
      case 2:
      case 3: co_await write(at, size); break;
      case 4:
      case 5:
      case 6:
      case 7: co_await read(at, size); break;
      case 8: co_await read_at_once(at, size); break;
      case 9: co_await finish(at); break;
      case 10: co_await close(at); break;
      case 11: co_await destroy(at, size % 2 == 0); break;
      case 12: co_await cancel(at); break;
      case 13: co_await transfer(at, size * 40); break;
      case 14: co_await look(at, size); break;
      default: co_await cancel_and_read(at, size); break;
    }
  }
  /// Ends all waits and both ends. The last end resets TCP, so that the system forgets the connection.
  task<> end() {
    co_await destroy(0, false);
    co_await destroy(1, true);
  }
  [[nodiscard]] std::uint64_t state() const {
    std::uint64_t made = 0;
    for (const place& each : ends_) {
      const bool has_some = each.queued != 0 || !each.messages.empty();
      made = made << 4U | (each.it.has_value() ? 1U : 0U) | (each.waiting.has_value() ? 2U : 0U) |
             (each.is_over ? 4U : 0U) | (has_some ? 8U : 0U);
    }
    return made;
  }

 private:
  static constexpr std::size_t most_queued = 16'384;
  static constexpr std::size_t most_messages = 8;  // the system takes ten

  struct place {
    std::optional<End> it;
    std::size_t queued = 0;            // has come, and was not read
    std::deque<std::size_t> messages;  // the same, of datagrams
    bool is_over = false;              // nothing more comes, or it is closed
    bool writes = true;
    bool is_closed = false;
    std::vector<std::byte> buffer;
    std::optional<rota::join_handle<count_result>> waiting;
  };

  task<> renew() {
    auto made = co_await make_both<End>();
    ends_ = {};
    ends_[0].it.emplace(std::move(made.first));
    ends_[1].it.emplace(std::move(made.second));
    ends_[0].is_over = is_pipe<End>;  // it only writes
    to_.note("renew", name_, std::uint64_t{0});
  }

  [[nodiscard]] bool has_peer(unsigned at) const {
    return ends_[1 - at].it.has_value() && !ends_[1 - at].is_closed;
  }
  [[nodiscard]] static bool has_something(const place& p) {
    return p.queued != 0 || !p.messages.empty() || (p.is_over && !has_messages<End>) || p.is_closed;
  }

  task<> write(unsigned at, std::size_t size) {
    place& mine = ends_[at];
    place& peer = ends_[1 - at];
    if (!mine.it.has_value() || peer.queued + size > most_queued || peer.messages.size() >= most_messages)
      co_return;
    // The time of a reset is not known, and the end of a datagram socket is not reported.
    if (is_tcp<End> && (!has_peer(at) || !mine.writes || mine.is_over)) co_return;
    if (has_messages<End> && !peer.it.has_value()) co_return;
    if (!has_peer(at)) wait_until_gone(mine);
    const std::vector<std::byte> bytes = pattern(size, ++written_);
    const count_result sent = co_await mine.it->write_all(bytes);
    to_.note("write", name_ + at, sent);
    if (!sent.has_value() || !has_peer(at)) co_return;
    if constexpr (has_messages<End>) {
      peer.messages.push_back(size);
    } else {
      peer.queued += size;
      if (size == 0) co_return;
    }
    co_await settle(1 - at);
  }

  /// A descriptor is closed a moment later if the epoll_wait() of another thread is using it just then. The
  /// writer of a pipe, and an end of a stream, detect the close.
  static void wait_until_gone(const place& mine) {
    int fd = -1;
    if constexpr (is_pipe<End>) {
      fd = mine.it->out.native_handle();
    } else if constexpr (!has_messages<End>) {
      fd = mine.it->native_handle();
    }
    if (fd == -1 || mine.is_closed) return;
    pollfd seen{fd, 0, 0};  // an error and a hang-up are reported in any case
    check(::poll(&seen, 1, 10'000) == 1, "who has gone is seen to have gone");
  }

  static task<count_result> read_once(End& from, std::span<std::byte> into) {
    co_return co_await from.read(into);
  }

  /// So many as have come, and no fewer.
  task<count_result> read_now(place& by, std::span<std::byte> into) {
    const std::size_t wanted = is_tcp<End> ? std::min(into.size(), by.queued) : 0;
    std::size_t all = 0;
    do {
      const count_result got = co_await by.it->read(into.subspan(all));
      if (!got.has_value()) co_return got;
      all += *got;
      if (*got == 0) break;
    } while (all < wanted);
    co_return all;
  }
  static void take(place& by, const count_result& got) {
    if (!got.has_value()) return;
    if (!by.messages.empty()) by.messages.pop_front();
    if (!has_messages<End>) by.queued -= std::min(by.queued, *got);
  }

  /// An operation that would block is left waiting until it can end.
  task<> read(unsigned at, std::size_t size) {
    place& mine = ends_[at];
    if (!mine.it.has_value() || mine.waiting.has_value()) co_return;
    mine.buffer.assign(size, std::byte{0});
    if (!has_something(mine) && size != 0) {
      mine.waiting.emplace(rota::spawn(read_once(*mine.it, mine.buffer)));
      co_return;
    }
    if (has_messages<End> && size == 0) co_return;
    const count_result got = co_await read_now(mine, mine.buffer);
    to_.note("read", name_ + at, got, mine.buffer);
    if (size != 0) take(mine, got);
  }

  task<> read_at_once(unsigned at, std::size_t size) {
    place& mine = ends_[at];
    if (!mine.it.has_value() || mine.waiting.has_value() || (is_tcp<End> && has_something(mine))) co_return;
    mine.buffer.assign(size + 1, std::byte{0});
    const count_result got = co_await rota::timeout(std::chrono::seconds(0), mine.it->read(mine.buffer));
    to_.note("read at once", name_ + at, got, mine.buffer);
    take(mine, got);
  }

  /// Waits until the waiter at `at` has got bytes, or has reached the end.
  task<> settle(unsigned at) {
    place& mine = ends_[at];
    if (!mine.waiting.has_value()) co_return;
    auto ended = co_await mine.waiting->result();
    mine.waiting.reset();
    if (!ended.has_value()) {
      to_.note_cancelled("waiting read", name_ + at);
      co_return;
    }
    const count_result got = ended.value();
    to_.note("waiting read", name_ + at, got, mine.buffer);
    take(mine, got);
  }

  task<> finish(unsigned at) {
    if constexpr (!has_messages<End>) {
      place& mine = ends_[at];
      if (!mine.it.has_value() || (is_pipe<End> && at == 1)) co_return;
      if (is_tcp<End> && (mine.is_over || !has_peer(at))) co_return;
      const result<void> done = mine.it->shutdown_write();
      to_.note("finish", name_ + at, done);
      mine.writes = false;
      co_await nothing_more_to(1 - at);
    } else {
      co_return;
    }
  }
  task<> nothing_more_to(unsigned at) {
    if (has_messages<End>) co_return;
    ends_[at].is_over = true;
    co_await settle(at);
  }

  task<> close(unsigned at) {
    place& mine = ends_[at];
    if (!mine.it.has_value()) co_return;
    mine.it->close();
    mine.is_closed = true;
    mine.writes = false;
    co_await settle(at);
    // A pipe's writer notices it at its next write.
    if (!is_pipe<End> || at == 0) co_await nothing_more_to(1 - at);
  }

  task<> cancel(unsigned at) {
    if (!ends_[at].waiting.has_value()) co_return;
    ends_[at].waiting->cancel();
    co_await settle(at);
  }
  /// A byte that comes after the cancellation is there for the next read.
  task<> cancel_and_read(unsigned at, std::size_t size) {
    co_await cancel(at);
    if (has_peer(at) && !ends_[at].is_over) co_await write(1 - at, size % 100 + 1);
    co_await read(at, size);
  }

  task<> destroy(unsigned at, bool by_reset) {
    place& mine = ends_[at];
    if (!mine.it.has_value()) co_return;
    co_await cancel(at);
    if constexpr (is_tcp<End>) {
      if (by_reset || !has_peer(at)) to_.note("reset", name_ + at, mine.it->reset_on_close());
    }
    mine = place{};
    to_.note("destroy", name_ + at, std::uint64_t{by_reset});
    if (!is_pipe<End> || at == 0) co_await nothing_more_to(1 - at);
  }

  static task<count_result> write_slowly(End& to, std::span<const std::byte> all) {
    co_return co_await to.write_all(all);
  }
  /// More than fits: the writer waits for the reader.
  task<> transfer(unsigned at, std::size_t size) {
    place& mine = ends_[at];
    place& peer = ends_[1 - at];
    if (has_messages<End> || (is_pipe<End> && at == 1) || !mine.it.has_value() || !has_peer(at)) co_return;
    if (!mine.writes || mine.is_closed || peer.is_over || has_something(peer) || peer.waiting.has_value())
      co_return;
    const std::vector<std::byte> bytes = pattern(size, ++written_);
    std::vector<std::byte> got(size);
    auto writing = rota::spawn(write_slowly(*mine.it, bytes));
    std::size_t there = 0;
    while (there < size) {
      const auto some = std::span(got).subspan(there);
      const count_result n = co_await peer.it->read(some);
      if (!n.has_value() || *n == 0) break;
      there += *n;
    }
    const count_result sent = co_await writing;
    to_.note("transfer", name_ + at, sent);
    to_.note("transferred", name_ + at, there, got);
    check(there == size && got == bytes, "all bytes go through");
  }

  task<> look(unsigned at, std::size_t size) {
    if constexpr (!is_pipe<End>) {
      place& mine = ends_[at];
      if (!mine.it.has_value() || mine.waiting.has_value() || size == 0) co_return;
      if (mine.queued == 0 && mine.messages.empty()) co_return;
      std::vector<std::byte> seen(is_tcp<End> ? 1 : size);
      const count_result got = co_await mine.it->peek(seen);
      to_.note("peek", name_ + at, got, seen);
    } else {
      co_return;
    }
  }

  journal& to_;
  std::uint64_t name_;
  std::uint64_t written_ = 0;
  std::array<place, 2> ends_;
};

}  // namespace fuzz
