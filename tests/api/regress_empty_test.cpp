// Objects that were moved from or used up: members that can return an error do. Also built with NDEBUG.
#include <gtest/gtest.h>

#include <rota/async_generator.hpp>
#include <rota/fs/directory.hpp>
#include <rota/fs/file.hpp>
#include <rota/fs/mapping.hpp>
#include <rota/fs/walk.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/process.hpp>
#include <rota/rota.hpp>
#include <rota/sync/semaphore.hpp>

#include <array>
#include <system_error>
#include <utility>

namespace rota::test {
namespace empty_handles {
namespace {

using namespace std::chrono_literals;

const std::error_code no_descriptor = std::make_error_code(std::errc::bad_file_descriptor);

/// It says that there is no descriptor.
#define EXPECT_EMPTY(result)                  \
  do {                                        \
    const auto& said = (result);              \
    EXPECT_FALSE(said.has_value());           \
    if (!said.has_value()) {                  \
      EXPECT_EQ(said.error(), no_descriptor); \
    }                                         \
  } while (false)

/// The state of a T that was moved from.
template <class T>
T leave_of(T&& whole) {
  const T taken = std::move(whole);
  return std::move(whole);
}

template <class F>
errc thrown_by(F call) {
  try {
    call();
  } catch (const error& e) {
    return static_cast<errc>(e.code().value());
  }
  return errc{};
}

task<int> gives(int n) { co_return n; }

TEST(an_empty_join_handle, says_already_joined) {
  runtime rt({.workers = 1});
  auto h = leave_of(rt.spawn(gives(1)));
  EXPECT_FALSE(h.valid());
  EXPECT_FALSE(h.is_done());
  EXPECT_FALSE(h.cancel());
  EXPECT_EQ(h.id().value, 0U);
  h.detach();
  EXPECT_EQ(thrown_by([&] { h.join(); }), errc::already_joined);
  EXPECT_EQ(thrown_by([&] { h.join(help); }), errc::already_joined);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(h.wait_for(1s)); }), errc::already_joined);
  const auto waits = [&h]() -> task<> { static_cast<void>(co_await h); };
  const auto asks = [&h]() -> task<> { static_cast<void>(co_await h.result()); };
  const auto looks = [&h]() -> task<> { static_cast<void>(co_await h.detached_wait()); };
  EXPECT_EQ(thrown_by([&] { rt.block_on(waits()); }), errc::already_joined);
  EXPECT_EQ(thrown_by([&] { rt.block_on(asks()); }), errc::already_joined);
  EXPECT_EQ(thrown_by([&] { rt.block_on(looks()); }), errc::already_joined);
}

// Its members end the program, but it can be destroyed and assigned to.
TEST(an_empty_join_set, may_be_assigned_to_and_destroyed) {
  const auto body = []() -> task<> {
    join_set<int> first;
    first.spawn(gives, 1);
    join_set<int> second = std::move(first);
    first = join_set<int>();
    EXPECT_TRUE(first.empty());
    first.spawn(gives, 2);
    const auto of_first = co_await first.next();
    EXPECT_EQ(of_first->value(), 2);
    first = std::move(second);
    second = std::move(first);  // into one that was moved from
    const auto of_second = co_await second.next();
    EXPECT_EQ(of_second->value(), 1);
    const join_set<int> empty_too = leave_of(std::move(second));
  };
  rota::run(body, {.workers = 1});
}

task<> reads_nothing(net::tcp_stream& s) {
  std::array<std::byte, 4> bytes{};
  const std::array<std::span<std::byte>, 1> parts{bytes};
  const auto read = co_await s.read(bytes);
  EXPECT_EMPTY(read);
  const auto peeked = co_await s.peek(bytes);
  EXPECT_EMPTY(peeked);
  const auto read_v = co_await s.read_v(parts);
  EXPECT_EMPTY(read_v);
  const auto readable = co_await s.readable();
  EXPECT_EMPTY(readable);
  EXPECT_EMPTY(s.try_read(bytes));
}

task<> writes_nothing(net::tcp_stream& s) {
  const std::array<std::byte, 4> bytes{};
  const std::array<std::span<const std::byte>, 1> parts{bytes};
  const auto wrote = co_await s.write(bytes);
  EXPECT_EMPTY(wrote);
  const auto wrote_all = co_await s.write_all(bytes);
  EXPECT_EMPTY(wrote_all);
  const auto wrote_v = co_await s.write_v(parts);
  EXPECT_EMPTY(wrote_v);
  const auto sent = co_await s.send_file(0, 0, 1);
  EXPECT_EMPTY(sent);
  const auto writable = co_await s.writable();
  EXPECT_EMPTY(writable);
  EXPECT_EMPTY(s.try_write(bytes));
}

void sets_nothing(net::tcp_stream& s) {
  EXPECT_EMPTY(s.shutdown_write());
  EXPECT_EMPTY(s.set_nodelay(true));
  EXPECT_EMPTY(s.set_ttl(1));
  EXPECT_EMPTY(s.receive_buffer());
  EXPECT_EMPTY(s.local_endpoint());
  EXPECT_EMPTY(s.peer_endpoint());
  EXPECT_FALSE(s.is_of_this_process());
  EXPECT_EQ(s.native_handle(), -1);
  s.discard_received();
  s.close();
}

TEST(an_empty_tcp_stream_and_listener, say_bad_file_descriptor) {
  const auto body = []() -> task<> {
    auto bound = net::tcp_listener::bind("127.0.0.1:0");
    auto connected = co_await net::tcp_stream::connect(*bound->local_endpoint());
    auto s = leave_of(std::move(*connected));
    co_await reads_nothing(s);
    co_await writes_nothing(s);
    sets_nothing(s);
    const auto finished = co_await s.finish(1s);
    EXPECT_EMPTY(finished);
    auto l = leave_of(std::move(*bound));
    const auto accepted = co_await l.accept();
    EXPECT_EMPTY(accepted);
    EXPECT_EMPTY(l.try_accept());
    EXPECT_EMPTY(l.local_endpoint());
    l.close();
  };
  rota::run(body, {.workers = 1});
}

TEST(an_empty_tcp_stream_and_listener, say_bad_file_descriptor_again_after_split_and_in_a_timeout) {
  const auto body = []() -> task<> {
    auto bound = net::tcp_listener::bind("127.0.0.1:0");
    auto connected = co_await net::tcp_stream::connect(*bound->local_endpoint());
    auto s = leave_of(std::move(*connected));
    std::array<std::byte, 4> bytes{};
    auto reading = s.read(bytes);
    const auto once = co_await reading;
    EXPECT_EMPTY(once);
    const auto again = co_await reading;
    EXPECT_EMPTY(again);
    const auto late = co_await timeout(1s, s.read(bytes));
    EXPECT_EMPTY(late);
    auto [in, out] = std::move(s).split();
    const auto read = co_await in.read(bytes);
    EXPECT_EMPTY(read);
    const auto wrote = co_await out.write(bytes);
    EXPECT_EMPTY(wrote);
  };
  rota::run(body, {.workers = 1});
}

TEST(an_empty_udp_socket, says_bad_file_descriptor) {
  const auto body = []() -> task<> {
    auto bound = net::udp_socket::bind("127.0.0.1:0");
    auto s = leave_of(std::move(*bound));
    std::array<std::byte, 4> bytes{};
    net::endpoint from = net::endpoint::loopback_v4(1);
    const auto sent = co_await s.send(bytes);
    EXPECT_EMPTY(sent);
    const auto got = co_await s.recv(bytes);
    EXPECT_EMPTY(got);
    const auto sent_to = co_await s.send_to(bytes, from);
    EXPECT_EMPTY(sent_to);
    const auto got_from = co_await s.recv_from(bytes, from);
    EXPECT_EMPTY(got_from);
    EXPECT_EMPTY(s.try_send(bytes));
    EXPECT_EMPTY(s.try_recv(bytes));
    EXPECT_EMPTY(s.connect(from));
    EXPECT_EMPTY(s.set_broadcast(true));
    EXPECT_EMPTY(s.local_endpoint());
  };
  rota::run(body, {.workers = 1});
}

TEST(an_empty_unix_socket, says_bad_file_descriptor) {
  const auto body = []() -> task<> {
    std::array<std::byte, 4> bytes{};
    auto streams = net::unix_stream::pair();
    auto s = leave_of(std::move(streams->first));
    const auto read = co_await s.read(bytes);
    EXPECT_EMPTY(read);
    const auto wrote = co_await s.write(bytes);
    EXPECT_EMPTY(wrote);
    EXPECT_EMPTY(s.peer());
    auto packets = net::unix_datagram::pair();
    auto d = leave_of(std::move(packets->first));
    const auto got = co_await d.recv(bytes);
    EXPECT_EMPTY(got);
    const auto sent = co_await d.send(bytes);
    EXPECT_EMPTY(sent);
  };
  rota::run(body, {.workers = 1});
}

TEST(an_empty_pipe, says_bad_file_descriptor) {
  const auto body = []() -> task<> {
    std::array<std::byte, 4> bytes{};
    auto ends = process::pipe();
    auto reader = leave_of(std::move(ends->first));
    auto writer = leave_of(std::move(ends->second));
    const auto read = co_await reader.read(bytes);
    EXPECT_EMPTY(read);
    const auto wrote = co_await writer.write(bytes);
    EXPECT_EMPTY(wrote);
    reader.close();
    writer.close();
  };
  rota::run(body, {.workers = 1});
}

TEST(an_empty_file, says_bad_file_descriptor) {
  const auto body = []() -> task<> {
    std::array<std::byte, 4> bytes{};
    fs::file f;
    const auto read = co_await f.read(bytes);
    EXPECT_EMPTY(read);
    const auto wrote = co_await f.write(bytes);
    EXPECT_EMPTY(wrote);
    const auto read_at = co_await f.read_at(bytes, 0);
    EXPECT_EMPTY(read_at);
    const auto wrote_at = co_await f.write_at(bytes, 0);
    EXPECT_EMPTY(wrote_at);
    const auto synced = co_await f.sync_all();
    EXPECT_EMPTY(synced);
    const auto info = co_await f.metadata();
    EXPECT_EMPTY(info);
    const auto mapped = co_await fs::mapping::of(f);
    EXPECT_EMPTY(mapped);
    const auto closed = co_await std::move(f).close();
    EXPECT_EMPTY(closed);
  };
  rota::run(body, {.workers = 1});
}

TEST(an_empty_directory_or_watcher, says_bad_file_descriptor) {
  const auto body = []() -> task<> {
    fs::directory d;
    const auto entry = co_await d.next();
    EXPECT_EMPTY(entry);
    fs::watcher w;
    const auto added = co_await w.add("/", 1);
    EXPECT_EMPTY(added);
    const auto event = co_await w.next();
    EXPECT_EMPTY(event);
    EXPECT_EMPTY(w.remove(1));
  };
  rota::run(body, {.workers = 1});
}

async_generator<int> counts() {
  for (int n = 0;; ++n) co_yield n;
}

// The values of empty objects are documented: an end, no bytes, no permits.
TEST(an_empty_sequence, is_at_its_end) {
  const auto body = []() -> task<> {
    auto numbers = leave_of(counts());
    const auto number = co_await numbers.next();
    EXPECT_FALSE(number.has_value());
    auto tree = leave_of(fs::walk("/"));
    const auto entry = co_await tree.next();
    EXPECT_FALSE(entry.has_value());
    tree.skip();
    fs::mapping map;
    EXPECT_TRUE(map.bytes().empty());
    EXPECT_TRUE(map.writable().empty());
    EXPECT_TRUE(map.advise(fs::advice::normal).has_value());
    const auto synced = co_await map.sync();
    EXPECT_TRUE(synced.has_value());
  };
  rota::run(body, {.workers = 1});
  sync::semaphore some(1);
  EXPECT_TRUE(some.try_acquire().has_value());
  EXPECT_EQ(leave_of(sync::semaphore::permit::adopt(some)).permits(), 0U);
}

}  // namespace
}  // namespace empty_handles
}  // namespace rota::test
