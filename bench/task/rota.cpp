// QUESTION  What do the basic steps of a program of tasks cost: spawn and await, a plain call, a yield, a
//           notification from one task to another?
// WHY       They bound how finely a program may be split into tasks.
// BASELINE  Tokio, Go and Asio, where they have the same (bench/peers).
// READ IT   ns per operation; the comment of each case says what one operation is. `_block_on`: the root runs
//           on the calling thread, which is no worker; otherwise it was spawned and runs on one. Never
//           compare one shape with the other.
#include "support/event.hpp"
#include "support/subject.hpp"

#include <rota/spawn.hpp>
#include <rota/this_task.hpp>

#include <vector>

namespace {

using bench::job;

rota::task<void> nothing() { co_return; }

/// One operation: a task is spawned and awaited before the next one.
rota::task<void> spawn_await(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::join_handle<void> child = rota::spawn(nothing());
    co_await child;
  }
}

/// One operation: co_await of a child that was not spawned.
rota::task<void> child_await(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_await nothing();
}

/// One operation: a yield of the only task.
rota::task<void> yield_alone(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_await rota::yield();
}

/// One operation: a yield of one of a thousand tasks.
rota::task<void> yield_1000(std::uint64_t n) {
  constexpr std::uint64_t tasks = 1000;
  std::vector<rota::join_handle<void>> all;
  all.reserve(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i) all.push_back(rota::spawn(yield_alone((n + tasks - 1) / tasks)));
  for (auto& each : all) co_await each;
}

rota::task<void> answer(bench::event& ping, bench::event& pong, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    co_await ping.wait();
    pong.notify();
  }
}

/// One operation: a round trip between two tasks.
rota::task<void> ping_pong(std::uint64_t n) {
  bench::event ping;
  bench::event pong;
  rota::join_handle<void> other = rota::spawn(answer(ping, pong, n));
  for (std::uint64_t i = 0; i < n; ++i) {
    ping.notify();
    co_await pong.wait();
  }
  co_await other;
}

rota::task<void> wait_for(std::vector<rota::join_handle<void>>& all) {
  for (auto& each : all) co_await each;
}

void spawn_and_wait_outside(rota::runtime& runtime, std::uint64_t n) {
  std::vector<rota::join_handle<void>> all;
  all.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) all.push_back(runtime.spawn(nothing()));
  runtime.block_on(wait_for(all));
}

/// One operation: an empty task that a foreign thread spawns. It waits for all tasks after it has spawned
/// all.
void spawn_outside(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  spawn_and_wait_outside(runtime, what.warm_up);
  const bench::stretch measured;
  spawn_and_wait_outside(runtime, what.operations);
  bench::report(what, measured.end());
}

constexpr bench::one_case cases[] = {
    {"spawn_await", "ns", 2'000'000, 400'000, bench::on_worker<spawn_await>},
    {"spawn_await_block_on", "ns", 500'000, 100'000, bench::in_block_on<spawn_await>},
    {"child_await", "ns", 20'000'000, 4'000'000, bench::on_worker<child_await>},
    {"child_await_block_on", "ns", 20'000'000, 4'000'000, bench::in_block_on<child_await>},
    {"spawn_100k_outside", "ns", 100'000, 100'000, spawn_outside},
    {"yield_alone", "ns", 5'000'000, 1'000'000, bench::on_worker<yield_alone>},
    {"yield_alone_block_on", "ns", 1'000'000, 200'000, bench::in_block_on<yield_alone>},
    {"yield_1000", "ns", 5'000'000, 1'000'000, bench::on_worker<yield_1000>},
    {"ping_pong", "ns", 1'000'000, 200'000, bench::on_worker<ping_pong>},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
