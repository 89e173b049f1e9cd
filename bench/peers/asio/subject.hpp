// Prints the lines of rota's benchmarks for Asio: an io_context with one thread per worker.
#pragma once

#include <sys/resource.h>

#include <boost/asio.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

namespace peer {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using clock = std::chrono::steady_clock;

struct job {
  const char* test_case = "";
  unsigned workers = 2;
  std::uint64_t operations = 0;
  std::uint64_t warm_up = 0;
};

struct one_case {
  const char* name;
  std::uint64_t full;
  std::uint64_t quick;
  void (*run)(const job& what);
};

extern const std::span<const one_case> task_cases;
extern const std::span<const one_case> timer_cases;
extern const std::span<const one_case> waiting_cases;
extern const std::span<const one_case> pool_cases;
extern const std::span<const one_case> echo_cases;
extern const std::span<const one_case> tls_cases;

inline double process_cpu_ns() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) { return double(t.tv_sec) * 1e9 + double(t.tv_usec) * 1e3; };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

inline void report_value(const job& what, const char* test_case, const char* unit, double value) {
  std::printf("{\"case\":\"%s\",\"workers\":%u,\"unit\":\"%s\",\"value\":%.4f}\n",
              test_case,
              what.workers,
              unit,
              value);
}

/// Calls `work`, and prints nanoseconds per operation.
template <class Work>
void report_time(const job& what, Work work) {
  const double cpu = process_cpu_ns();
  const auto begin = clock::now();
  work();
  const std::chrono::duration<double, std::nano> wall = clock::now() - begin;
  const double n = double(what.operations);
  std::printf("{\"case\":\"%s\",\"workers\":%u,\"unit\":\"ns\",\"value\":%.4f,\"cpu_ns\":%.4f}\n",
              what.test_case,
              what.workers,
              wall.count() / n,
              (process_cpu_ns() - cpu) / n);
}

/// Threads that run an io_context until the pool is destroyed.
class pool {
 public:
  explicit pool(unsigned workers) : context_(int(workers)), keep_(context_.get_executor()) {
    for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { context_.run(); });
  }
  ~pool() { context_.stop(); }

  asio::io_context& context() { return context_; }

  /// Runs a coroutine on a worker, and waits for it here.
  void run(awaitable<void> root) { asio::co_spawn(context_, std::move(root), asio::use_future).get(); }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_;
  std::vector<std::jthread> threads_;
};

}  // namespace peer
