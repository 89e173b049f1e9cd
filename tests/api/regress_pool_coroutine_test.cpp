// Abilities of a coroutine job: one test for each row of the table "In a coroutine job" in docs/pool.md.
#include <rota/channel/bounded.hpp>
#include <rota/error.hpp>
#include <rota/fs/watcher.hpp>
#include <rota/fs/whole_file.hpp>
#include <rota/graceful_shutdown.hpp>
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
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/time.hpp>
#include <rota/unix_signal.hpp>
#include <rota/when.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;

/// The second column of one row of the table.
struct finding {
  std::string said;
  static finding works() { return {"works"}; }
  static finding refused(const std::error_code& why) {
    return {why == make_error_code(errc::no_runtime) ? "errc::no_runtime" : why.message()};
  }
  template <class Result>
  static finding of(const Result& r) {
    return r.has_value() ? works() : refused(r.error());
  }
};

// ---- rows that work

task<int> two() {
  co_await yield();
  co_return 2;
}
task<finding> waits_for_time() {
  co_await sleep_for(1ms);
  const auto late = co_await timeout(1ms, sleep_for(1h));
  co_return late.has_value() ? finding{"no limit"} : finding::works();
}
task<finding> starts_children() {
  auto handle = spawn(two());
  const int first = co_await handle;
  const auto [a, b] = co_await when_all(two(), two());
  co_return first + a + b == 6 ? finding::works() : finding{"wrong sum"};
}
task<finding> uses_a_channel_and_a_mutex() {
  auto [tx, rx] = channel::bounded<int>(1);
  auto sent =
      spawn([](channel::sender<int> to) -> task<> { static_cast<void>(co_await to.send(7)); }, std::move(tx));
  const auto got = co_await rx.recv();
  co_await sent;
  sync::mutex m;
  const auto held = co_await m.lock();
  co_return got == 7 ? finding::works() : finding{"wrong value"};
}
task<finding> reads_a_file() {
  const auto text = co_await fs::read_to_string("/proc/self/cmdline");
  co_return finding::of(text);
}
task<finding> awaits_another_job(thread_pool& pool) {
  auto job = pool.submit([] { return 7; });
  const int got = co_await job;
  co_return got == 7 ? finding::works() : finding{"wrong value"};
}
task<finding> awaits_a_task_of_a_runtime(runtime& other) {
  auto handle = other.spawn([]() -> task<finding> {
    auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
    co_return finding::of(listener);
  });
  co_return co_await handle;
}

// ---- rows that are refused

task<finding> connects() {
  auto to = co_await net::tcp_stream::connect(net::endpoint::loopback_v4(9));
  co_return finding::of(to);
}
task<finding> connects_by_name() {
  auto to = co_await net::connect("localhost", 9);
  co_return finding::of(to);
}
task<finding> resolves() {
  net::resolve_options how;
  how.by = net::name_source::system;
  const auto found = co_await net::resolve("rota.invalid", 80, how);
  co_return finding::of(found);
}
task<finding> binds() {
  auto tcp = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
  auto udp = net::udp_socket::bind(net::endpoint::loopback_v4(0));
  if (tcp.has_value() || udp.has_value()) co_return finding::works();
  co_return finding::of(tcp);
}
task<finding> asks_for_a_name() {
  const auto name = co_await net::name_of(net::endpoint::parse("192.0.2.1:0").value());
  co_return finding::of(name);
}
net::unix_endpoint some_name() {
  return net::unix_endpoint::abstract("rota-pool-table-" + std::to_string(::getpid())).value();
}
/// Of several the first that works, or the last.
template <class Result, class... Others>
finding of_any(const Result& first, const Others&... others) {
  if constexpr (sizeof...(others) != 0) {
    if (!first.has_value()) return of_any(others...);
  }
  return finding::of(first);
}
task<finding> uses_a_unix_stream() {
  const auto made = co_await net::unix_stream::connect(some_name());
  const auto both = net::unix_stream::pair();
  co_return of_any(made, both);
}
task<finding> binds_unix_sockets() {
  const auto listens = net::unix_listener::bind(some_name());
  const auto bound = net::unix_datagram::bind(some_name());
  const auto unbound = net::unix_datagram::unbound();
  const auto both = net::unix_datagram::pair();
  co_return of_any(listens, bound, unbound, both);
}
task<finding> prepares_its_end() {
  const auto end = graceful_shutdown::open({SIGUSR1});
  co_return finding::of(end);
}
task<finding> hears_signals() {
  auto heard = unix_signal::open({SIGUSR1});
  co_return finding::of(heard);
}
task<finding> watches_files() {
  auto made = fs::watcher::open();
  co_return finding::of(made);
}
task<finding> starts_a_process() {
  const auto ended = co_await process::command("/bin/true").run();
  co_return finding::of(ended);
}
task<finding> spawns_blocking() {
  try {
    auto work = spawn_blocking([] {});
    co_await work;
  } catch (const error& e) {
    const std::string words = e.what();
    const bool names_remedy = words.find("submit it to the pool") != std::string::npos;
    if (!names_remedy) co_return finding{words};
    co_return finding::refused(e.code());
  }
  co_return finding::works();
}
task<finding> dumps() {
  try {
    static_cast<void>(dump());
  } catch (const error& e) {
    co_return finding::refused(e.code());
  }
  co_return finding::works();
}

// ---- the table

/// The first column in docs/pool.md, and the second.
using table = std::map<std::string, std::string>;

std::string trimmed(const std::string& cell) {
  const auto first = cell.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return cell.substr(first, cell.find_last_not_of(' ') - first + 1);
}

table table_of_document() {
  std::ifstream file(ROTA_TEST_SOURCE_DIR "/docs/pool.md");
  table found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## In a coroutine job";
    if (!inside || !line.starts_with("| ") || line.starts_with("| a coroutine job")) continue;
    std::istringstream cells(line.substr(1));
    std::string what;
    std::string says;
    std::getline(cells, what, '|');
    std::getline(cells, says, '|');
    // regress_pool_coroutine_tls_test.cpp tries that row.
    if (what.find("`tls::") == std::string::npos) found[trimmed(what)] = trimmed(says);
  }
  return found;
}

table table_of_pool() {
  thread_pool pool({.max_threads = 2});
  runtime other({.workers = 1});
  table found;
  const auto add = [&](const char* what, task<finding> row) {
    found[what] = pool.submit(std::move(row)).fetch().value().said;
  };
  add("`sleep_for`, `timeout`, `with_deadline`", waits_for_time());
  add("`spawn`, `when_all` and their like, scopes", starts_children());
  add("channels, `sync::mutex` and their like", uses_a_channel_and_a_mutex());
  add("files: `fs::file`, `fs::read`, ...", reads_a_file());
  add("`co_await` of another job of a pool", awaits_another_job(pool));
  add("`co_await` of a task of a runtime", awaits_a_task_of_a_runtime(other));
  add("`tcp_stream::connect`", connects());
  add("`net::connect` by a name", connects_by_name());
  add("`net::resolve`", resolves());
  add("`tcp_listener::bind`, `udp_socket::bind`", binds());
  add("`net::name_of`", asks_for_a_name());
  add("`unix_stream::connect`, `unix_stream::pair`", uses_a_unix_stream());
  add("`unix_listener::bind`; `unix_datagram::bind`, `unbound`, `pair`", binds_unix_sockets());
  add("`graceful_shutdown::open`", prepares_its_end());
  add("`unix_signal::open`", hears_signals());
  add("`fs::watcher::open`", watches_files());
  add("`process::command`", starts_a_process());
  add("`rota::dump`", dumps());
  add("`spawn_blocking`", spawns_blocking());
  return found;
}

TEST(regress_pool_coroutine, each_row_of_the_document_is_what_the_pool_does) {
  EXPECT_EQ(table_of_document(), table_of_pool());
}

TEST(regress_pool_coroutine, no_runtime_message_names_the_remedy) {
  const std::string words = make_error_code(errc::no_runtime).message();
  EXPECT_NE(words.find("spawn it there"), std::string::npos) << words;
}

task<finding> connects_to(net::endpoint peer) {
  const auto made = co_await net::tcp_stream::connect(peer);
  co_return finding::of(made);
}

TEST(regress_pool_coroutine, refused_tcp_connect_does_not_reach_the_peer) {
  const int listens = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ASSERT_NE(listens, -1);
  sockaddr_storage at{};
  socklen_t size = static_cast<socklen_t>(net::endpoint::loopback_v4(0).to_native(&at));
  ASSERT_EQ(::bind(listens, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listens, 1), 0);
  size = sizeof at;
  ASSERT_EQ(::getsockname(listens, reinterpret_cast<sockaddr*>(&at), &size), 0);
  thread_pool pool({.max_threads = 1});
  auto job = pool.submit(connects_to(net::endpoint::from_native(&at, size).value()));
  EXPECT_EQ(job.fetch().value().said, "errc::no_runtime");
  EXPECT_EQ(::accept(listens, nullptr, nullptr), -1) << "no connection came";
  EXPECT_EQ(errno, EAGAIN);
  ::close(listens);
}

task<finding> connects_by_name(net::unix_endpoint peer) {
  const auto made = co_await net::unix_stream::connect(std::move(peer));
  co_return finding::of(made);
}

TEST(regress_pool_coroutine, refused_unix_connect_does_not_reach_the_peer) {
  const auto name = net::unix_endpoint::abstract("rota-regress-pool-" + std::to_string(::getpid())).value();
  const int listens = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ASSERT_NE(listens, -1);
  sockaddr_storage at{};
  const auto size = static_cast<socklen_t>(name.to_native(&at));
  ASSERT_EQ(::bind(listens, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listens, 1), 0);
  thread_pool pool({.max_threads = 1});
  auto job = pool.submit(connects_by_name(name));
  EXPECT_EQ(job.fetch().value().said, "errc::no_runtime");
  EXPECT_EQ(::accept(listens, nullptr, nullptr), -1) << "no connection came";
  EXPECT_EQ(errno, EAGAIN);
  ::close(listens);
}

/// Also through throwing interfaces: a job that ignores the code fails with a message.
TEST(regress_pool_coroutine, job_that_fails_with_no_runtime_names_the_remedy) {
  thread_pool pool({.max_threads = 1});
  auto job = pool.submit([]() -> task<int> {
    auto work = spawn_blocking([] { return 1; });
    co_return co_await work;
  });
  const auto end = job.fetch();
  try {
    static_cast<void>(end.value());
    FAIL() << "it worked";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_runtime);
    EXPECT_NE(std::string(e.what()).find("call the function in place"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace rota::pool
