// QUESTION  How much memory does a waiting task or connection take?
// WHY       It bounds how many of them fit into a machine.
// BASELINE  Tokio, Go and Asio, each with the same task. A connection's buffer has 64 bytes; the rest belongs
//           to the runtime.
// READ IT   Growth of the resident set in bytes, per task or connection; the tables of the allocator and the
//           runtime are included. The memory of sockets belongs to the kernel and is not included.
#include "support/subject.hpp"

#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using bench::job;
using namespace std::chrono_literals;
using counter = std::atomic<std::uint64_t>;

double resident_bytes() {
  long long all = 0;
  long long resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%lld %lld", &all, &resident) != 2)
    bench::fail("no /proc/self/statm");
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// Waits until `begun` has reached the number of operations, and then until those tasks sleep, too. Ends the
/// process without destroying a million tasks.
[[noreturn]] void finish(const job& what, const counter& begun, double before) {
  while (begun.load(std::memory_order_acquire) < what.operations) std::this_thread::sleep_for(5ms);
  std::this_thread::sleep_for(300ms);
  const double each = (resident_bytes() - before) / static_cast<double>(what.operations);
  bench::report_value(what, what.test_case, "bytes", each);
  std::fflush(stdout);
  std::_Exit(0);
}

rota::task<void> sleep_for_long(counter& begun) {
  begun.fetch_add(1, std::memory_order_release);
  co_await rota::sleep_for(1h);
}

rota::task<void> spawn_sleepers(counter& begun, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::join_handle<void> task = rota::spawn(sleep_for_long(begun));
    task.detach();
  }
  co_return;
}

void sleeping_task(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  counter begun{0};
  const double before = resident_bytes();
  rota::join_handle<void> root = runtime.spawn(spawn_sleepers(begun, what.operations));
  root.join();
  finish(what, begun, before);
}

rota::task<void> echo(rota::net::tcp_stream stream, counter& begun) {
  std::array<std::byte, 64> buffer;
  begun.fetch_add(1, std::memory_order_release);
  for (;;) {
    const auto got = co_await stream.read(buffer);
    if (!got.has_value() || *got == 0) co_return;
    const auto sent = co_await stream.write_all(std::span(buffer).first(*got));
    if (!sent.has_value()) co_return;
  }
}

rota::task<void> serve(std::atomic<unsigned>& port, counter& begun) {
  auto listener = rota::net::tcp_listener::bind(rota::net::endpoint::loopback_v4(0));
  if (!listener.has_value()) bench::fail("no port to listen on");
  const auto where = listener->local_endpoint();
  port.store(where->port(), std::memory_order_release);
  for (;;) {
    auto stream = co_await listener->accept();
    if (!stream.has_value()) bench::fail("a connection was not accepted");
    rota::join_handle<void> connection = rota::spawn(echo(std::move(*stream), begun));
    connection.detach();
  }
}

/// Connects with bare sockets, so that only the server side costs memory of this process.
void connect_bare(unsigned port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    bench::fail("a client could not connect: is `ulimit -n` above 10000?");
  }
}

void idle_connection(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  counter begun{0};
  std::atomic<unsigned> port{0};
  const double before = resident_bytes();
  rota::join_handle<void> server = runtime.spawn(serve(port, begun));
  while (port.load(std::memory_order_acquire) == 0) std::this_thread::sleep_for(1ms);
  for (std::uint64_t i = 0; i < what.operations; ++i) connect_bare(port.load(std::memory_order_relaxed));
  finish(what, begun, before);
}

constexpr bench::one_case cases[] = {
    {"sleeping_task", "bytes", 1'000'000, 100'000, sleeping_task},
    {"idle_connection", "bytes", 4000, 1000, idle_connection},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
