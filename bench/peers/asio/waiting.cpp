// The cases of bench/latency/rota.cpp and bench/memory/rota.cpp.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "subject.hpp"

namespace peer {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

awaitable<void> stamp(std::atomic<std::int64_t>& at) {
  at.store(clock::now().time_since_epoch().count(), std::memory_order_release);
  co_return;
}

void spawn_idle(const job& what) {
  pool workers(what.workers);
  std::atomic<std::int64_t> at{0};
  std::vector<double> samples;
  std::this_thread::sleep_for(5ms);
  for (std::uint64_t i = 0; i < what.operations; ++i) {
    const auto begin = clock::now().time_since_epoch().count();
    asio::co_spawn(workers.context(), stamp(at), asio::detached);
    std::int64_t end = 0;
    while (end == 0) {
      std::this_thread::sleep_for(1ms);
      end = at.exchange(0, std::memory_order_acquire);
    }
    samples.push_back(double(end - begin));
  }
  std::sort(samples.begin(), samples.end());
  const std::string name = what.test_case;
  report_value(what, (name + ".p50").c_str(), "ns", samples[samples.size() / 2]);
  report_value(what, (name + ".p99").c_str(), "ns", samples[samples.size() * 99 / 100]);
}

double resident_bytes() {
  long long all = 0;
  long long resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%lld %lld", &all, &resident) != 2) std::abort();
  std::fclose(file);
  return double(resident) * 4096;
}

/// Waits until `begun` has reached the number of operations, and then until those tasks sleep, too.
[[noreturn]] void finish(const job& what, std::atomic<std::uint64_t>& begun, double before) {
  while (begun.load() < what.operations) std::this_thread::sleep_for(5ms);
  std::this_thread::sleep_for(300ms);
  report_value(what, what.test_case, "bytes", (resident_bytes() - before) / double(what.operations));
  std::fflush(stdout);
  std::_Exit(0);
}

awaitable<void> sleep_for_long(std::atomic<std::uint64_t>& begun) {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  ++begun;
  co_await timer.async_wait(use_awaitable);
}

void sleeping_task(const job& what) {
  pool workers(what.workers);
  std::atomic<std::uint64_t> begun{0};
  const double before = resident_bytes();
  for (std::uint64_t i = 0; i < what.operations; ++i) {
    asio::co_spawn(workers.context(), sleep_for_long(begun), asio::detached);
  }
  finish(what, begun, before);
}

awaitable<void> echo(tcp::socket stream, std::atomic<std::uint64_t>& begun) {
  std::array<char, 64> buffer;
  ++begun;
  for (;;) {
    const std::size_t got = co_await stream.async_read_some(asio::buffer(buffer), use_awaitable);
    co_await asio::async_write(stream, asio::buffer(buffer, got), use_awaitable);
  }
}

awaitable<void> serve(tcp::acceptor& listener, std::atomic<std::uint64_t>& begun) {
  for (;;) {
    auto stream = co_await listener.async_accept(use_awaitable);
    asio::co_spawn(listener.get_executor(), echo(std::move(stream), begun), asio::detached);
  }
}

/// Connects with bare sockets, so that only the server side costs memory of this process.
void connect_bare(const tcp::endpoint& to) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || ::connect(fd, to.data(), socklen_t(to.size())) != 0) {
    std::perror("connect");
    std::exit(1);
  }
}

void idle_connection(const job& what) {
  pool workers(what.workers);
  std::atomic<std::uint64_t> begun{0};
  tcp::acceptor listener(workers.context(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const double before = resident_bytes();
  asio::co_spawn(workers.context(), serve(listener, begun), asio::detached);
  for (std::uint64_t i = 0; i < what.operations; ++i) connect_bare(listener.local_endpoint());
  finish(what, begun, before);
}

constexpr one_case cases[] = {
    {"spawn_idle", 1000, 300, spawn_idle},
    {"sleeping_task", 1'000'000, 100'000, sleeping_task},
    {"idle_connection", 4000, 1000, idle_connection},
};

}  // namespace

const std::span<const one_case> waiting_cases(cases);

}  // namespace peer
