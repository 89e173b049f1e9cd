// An awaitable is no value: it has no conversion to bool, no equality and no stream output. So a condition
// that forgets the co_await does not compile.
#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/fs/file.hpp>
#include <rota/fs/paths.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/gate/actor.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/graceful_shutdown.hpp>
#include <rota/io/memory.hpp>
#include <rota/net/name_of.hpp>
#include <rota/net/resolve.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/process.hpp>
#include <rota/rota.hpp>
#include <rota/stream.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/sync/strand.hpp>
#include <rota/time_limit.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/server.hpp>
#include <rota/unix_signal.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace rota;

template <class A>
concept is_equality_comparable = requires(const std::remove_reference_t<A>& a) { a == a; };
template <class A>
concept is_streamable = requires(std::ostream& out, const std::remove_reference_t<A>& a) { out << a; };

/// Fails to compile for what could be taken for a value.
template <class A>
constexpr void is_no_value(const A& /*awaited*/) {
  static_assert(!std::is_constructible_v<bool, A>, "converts to bool");
  static_assert(!std::is_constructible_v<bool, A&>, "converts to bool");
  static_assert(!std::is_constructible_v<bool, const A&>, "converts to bool");
  static_assert(!is_equality_comparable<A>, "is equality comparable");
  static_assert(!is_streamable<A>, "is streamable");
}
template <class... A>
constexpr void are_no_values(const A&... awaited) {
  (is_no_value(awaited), ...);
}

task<int> number() { co_return 1; }
async_generator<int> numbers() { co_yield 1; }

// Nothing of this runs. Each call is named once: its result is an awaitable.

[[maybe_unused]] void tasks(runtime& on, join_handle<int>& handle, join_set<int>& set, async_scope& in) {
  auto all = numbers();
  are_no_values(
      number(), all, all.next(), handle, join_handle<void>(), handle.result(), handle.detached_wait());
  are_no_values(on.spawn(number()),
                spawn(number()),
                spawn_blocking([] { return 1; }),
                set.next(),
                set.close(),
                in.close());
  are_no_values(
      when_all(number(), number()), when_any(number(), number()), when_all_settled(number(), number()));
  are_no_values(when_any_success(number(), number()), when_all(std::vector<task<int>>()));
  are_no_values(with_scope([](scope&) -> task<> { co_return; }), yield(), checkpoint());
  are_no_values(finally(number(), []() -> task<> { co_return; }, 1s));
}

[[maybe_unused]] void times(interval& every, const time_limit& limit) {
  are_no_values(
      sleep_for(1s), sleep_until(std::chrono::steady_clock::now()), every.tick(), timeout(1s, number()));
  are_no_values(with_deadline(std::chrono::steady_clock::now(), number()), timeout(1s, sleep_for(1s)));
  are_no_values(timeout(limit, number()), timeout(limit, sleep_for(1s)));
}

[[maybe_unused]] void locks(sync::mutex& m,
                            sync::shared_mutex& s,
                            sync::semaphore& permits,
                            sync::strand& line) {
  are_no_values(m.lock(), m.lock_for(1s), s.lock(), s.lock_for(1s), s.lock_shared(), s.lock_shared_for(1s));
  are_no_values(
      permits.acquire(), permits.acquire_for(1s), line.run([] { return 1; }), line.join(), line.join_for(1s));
}

[[maybe_unused]] void signals(sync::notify& n,
                              sync::event& e,
                              sync::latch& l,
                              sync::barrier& b,
                              sync::condition_variable& c,
                              sync::mutex::guard& held,
                              sync::once_cell<int>& cell) {
  are_no_values(
      n.wait(), n.wait_for(1s), e.wait(), e.wait_for(1s), l.wait(), l.wait_for(1s), l.arrive_and_wait());
  are_no_values(b.arrive_and_wait(),
                b.arrive_and_wait_for(1s),
                c.wait(held),
                c.wait(held, [] { return true; }),
                c.wait_for(held, 1s));
  auto arrived = b.arrive();
  are_no_values(b.wait(arrived), b.wait_for(arrived, 1s));
  are_no_values(cell.wait(), cell.wait_for(1s), cell.get_or_init([]() -> task<int> { co_return 1; }));
}

[[maybe_unused]] void channels() {
  auto [to, from] = channel::bounded<int>(1);
  auto [free_to, free_from] = channel::unbounded<int>();
  auto [once_to, once_from] = channel::oneshot<int>();
  auto [all_to, all_from] = channel::broadcast<int>(1);
  auto [now_to, now_from] = channel::watch<int>(1);
  std::vector<int> many;
  are_no_values(to.send(1),
                to.send_for(1s, 1),
                from.recv(),
                from.recv_for(1s),
                from.recv_many(many, 2),
                free_from.recv());
  are_no_values(
      once_from.recv(), all_from.recv(), now_from.changed(), now_from.when([](int) { return true; }));
  std::vector<channel::receiver<int>> list;
  are_no_values(channel::select(from.recv(), free_from.recv()), channel::select(list));
  are_no_values(to.closed(), to.closed_for(1s), once_to.closed(), all_to.closed(), now_to.closed());
}

[[maybe_unused]] void stages(scope& in) {
  const auto twice = [](int n) { return 2 * n; };
  const auto later = [](int n) -> task<int> { co_return n; };
  are_no_values(stream::map(numbers(), twice),
                stream::filter(numbers(), [](int) { return true; }),
                stream::take(numbers(), 1),
                stream::throttle(numbers(), 1s));
  are_no_values(stream::merge(channel::bounded<int>(1).receiver),
                stream::merge(in, numbers(), numbers()),
                stream::buffered(in, numbers(), 2, later));
}

[[maybe_unused]] void memory(io::span_reader& from, io::null_writer& to, std::span<std::byte> bytes) {
  are_no_values(from.read(bytes), to.write(bytes));
}

[[maybe_unused]] void secrets(tls::client& client,
                              tls::server& server,
                              tls::stream<net::tcp_stream>& over,
                              net::tcp_stream below,
                              net::tcp_stream other,
                              std::span<std::byte> bytes) {
  are_no_values(client.connect(std::move(below), "host"), server.accept(std::move(other)));
  are_no_values(over.read(bytes),
                over.write(bytes),
                over.write_all(bytes),
                over.flush(),
                over.shutdown_write(),
                over.finish(1s));
}

[[maybe_unused]] void streams(net::tcp_stream& tcp, net::unix_stream& local, std::span<std::byte> bytes) {
  are_no_values(tcp.read(bytes),
                tcp.write(bytes),
                tcp.write_all(bytes),
                tcp.peek(bytes),
                tcp.readable(),
                tcp.writable());
  are_no_values(
      local.read(bytes), local.write(bytes), local.write_all(bytes), local.readable(), local.writable());
}

[[maybe_unused]] void sockets(net::tcp_listener& tcp,
                              net::unix_listener& local,
                              net::udp_socket& udp,
                              net::endpoint& at,
                              std::span<std::byte> bytes) {
  are_no_values(tcp.accept(), local.accept(), net::tcp_stream::connect(at), net::resolve("localhost", 80));
  are_no_values(net::name_of(at));
  are_no_values(
      udp.send(bytes), udp.recv(bytes), udp.peek(bytes), udp.send_to(bytes, at), udp.recv_from(bytes, at));
  are_no_values(udp.readable(), udp.writable());
}

[[maybe_unused]] void files(fs::file& file, fs::watcher& changes, std::span<std::byte> bytes) {
  are_no_values(
      fs::file::open("f"), fs::file::create("f"), fs::exists("f"), fs::read("f"), fs::read_to_string("f"));
  are_no_values(file.read(bytes),
                file.write(bytes),
                file.read_at(bytes, 0),
                file.sync_all(),
                file.metadata(),
                file.set_len(0));
  are_no_values(changes.next(), changes.add("d", 1));
  are_no_values(fs::remove_file("f"), fs::rename("f", "g"), fs::create_dir("d"), fs::copy("f", "g"));
}

[[maybe_unused]] void programs(process::command& run,
                               process::child& child,
                               unix_signal& signal,
                               graceful_shutdown& end) {
  are_no_values(run.spawn(), run.run(), run.output(), child.wait(), signal.next(), end.wait(), end.drain(1s));
}

[[maybe_unused]] void jobs(pool::thread_pool& threads,
                           gate::mailbox<int>& box,
                           gate::executor& by,
                           gate::actor<int>& counter,
                           std::span<const pool::work_id> ids) {
  are_no_values(threads.submit([] { return 1; }), threads.submit(number()), pool::work<void>());
  are_no_values(threads.async_wait(ids[0]),
                threads.async_wait(ids),
                threads.async_wait("group"),
                threads.async_wait_any(ids),
                threads.async_wait_idle());
  are_no_values(
      threads.async_fetch<int>(ids[0]), threads.async_fetch<int>(ids), threads.async_fetch<int>("group"));
  const auto add = [](int& sum) { return ++sum; };
  are_no_values(counter.ask(add), counter.ref().ask(add), counter.async_tell([](int& sum) { ++sum; }));
  are_no_values(box.async_send(1), box.async_join(), box.async_drain(), by.async_drain());
}

}  // namespace
