// QUESTION  What do the cases of rota's benchmarks cost with the coroutines of Asio?
// WHY       Most C++ programs of this kind use Asio.
// BASELINE  rota's own programs, which print the same lines: bench/<suite>/rota.cpp says what one operation
//           is.
// READ IT   As those. Asio has no event that one task waits for and another sets, and no root outside of its
//           context: those cases are missing.
#include <latch>

#include "subject.hpp"

namespace peer {
namespace {

awaitable<void> nothing() { co_return; }

awaitable<void> spawn_await(std::uint64_t n) {
  const auto here = co_await asio::this_coro::executor;
  for (std::uint64_t i = 0; i < n; ++i) co_await asio::co_spawn(here, nothing(), use_awaitable);
}

awaitable<void> child_await(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_await nothing();
}

awaitable<void> yield_alone(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_await asio::post(use_awaitable);
}

template <awaitable<void> (*Work)(std::uint64_t)>
void on_worker(const job& what) {
  pool workers(what.workers);
  workers.run(Work(what.warm_up));
  report_time(what, [&] { workers.run(Work(what.operations)); });
}

void spawn_and_wait(pool& workers,
                    std::uint64_t n,
                    awaitable<void> (*work)(std::uint64_t),
                    std::uint64_t argument) {
  std::latch done(std::ptrdiff_t(n) + 1);
  for (std::uint64_t i = 0; i < n; ++i) {
    asio::co_spawn(workers.context(), work(argument), [&done](std::exception_ptr) { done.count_down(); });
  }
  done.arrive_and_wait();
}

awaitable<void> nothing_of(std::uint64_t) { co_return; }

void spawn_outside(const job& what) {
  pool workers(what.workers);
  spawn_and_wait(workers, what.warm_up, nothing_of, 0);
  report_time(what, [&] { spawn_and_wait(workers, what.operations, nothing_of, 0); });
}

void yield_1000(const job& what) {
  pool workers(what.workers);
  spawn_and_wait(workers, 1000, yield_alone, (what.warm_up + 999) / 1000);
  report_time(what, [&] { spawn_and_wait(workers, 1000, yield_alone, (what.operations + 999) / 1000); });
}

constexpr one_case cases[] = {
    {"spawn_await", 500'000, 100'000, on_worker<spawn_await>},
    {"child_await", 10'000'000, 2'000'000, on_worker<child_await>},
    {"spawn_100k_outside", 100'000, 100'000, spawn_outside},
    {"yield_alone", 1'000'000, 200'000, on_worker<yield_alone>},
    {"yield_1000", 1'000'000, 200'000, yield_1000},
};

}  // namespace

const std::span<const one_case> task_cases(cases);

}  // namespace peer
