// QUESTION  What do locks, permits, notifications and once-cells cost: uncontended, and among tasks that
//           compete for them?
// WHY       Tasks share these most often; Volt and Tokio publish these very cases.
// BASELINE  Tokio's and Go's. Volt's published cases, with its parameters: rounds of a million, of 10,000
//           with tasks, 4 workers. mutex_lock: two fetch_adds, the least that a lock and an unlock can cost.
// READ IT   ns per operation; the comment of each case says what one operation is. Those with tasks include a
//           round's spawns and joins. Two shapes are two cases: the root is a task of the runtime, or
//           (block_on) runs on the calling thread.
#include "support/rounds.hpp"

#include <rota/spawn.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using bench::job;
using bench::spent;
using bench::stretch;

constexpr std::uint64_t alone_round = 1'000'000;
constexpr std::uint64_t task_round = 10'000;

/// Makes the compiler compute a value, and assume that it has changed.
template <class T>
void keep(T& value) noexcept {
  asm volatile("" : "+m"(value) : : "memory");
}

/// Makes the compiler read a value into a register, so that no case pays for a sum in memory.
void has_read(std::uint64_t value) noexcept { asm volatile("" : : "r"(value) : "memory"); }

// ---- alone, without a runtime

spent mutex(std::uint64_t n) {
  rota::sync::mutex lock;
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (const auto held = lock.try_lock(); !held) bench::fail("a mutex is locked");
  }
  return measured.end();
}

spent rwlock_read(std::uint64_t n) {
  rota::sync::shared_mutex lock;
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (const auto held = lock.try_lock_shared(); !held) bench::fail("a shared_mutex is locked");
  }
  return measured.end();
}

spent rwlock_write(std::uint64_t n) {
  rota::sync::shared_mutex lock;
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (const auto held = lock.try_lock(); !held) bench::fail("a shared_mutex is locked");
  }
  return measured.end();
}

spent semaphore(std::uint64_t n) {
  rota::sync::semaphore permits(10);
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (!permits.try_acquire()) bench::fail("a semaphore has no permit");
    permits.release();
  }
  return measured.end();
}

spent oncecell_get(std::uint64_t n) {
  rota::sync::once_cell<std::uint64_t> cell;
  static_cast<void>(cell.set(std::uint64_t{42}));
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) has_read(*cell.get());
  return measured.end();
}

spent oncecell_set(std::uint64_t n) {
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::sync::once_cell<std::uint64_t> cell;
    if (!cell.set(i)) bench::fail("a new once_cell is full");
    keep(cell);
  }
  return measured.end();
}

// ---- alone, by a task

rota::task<spent> notify(std::uint64_t n) {
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::sync::notify event;
    event.notify_one();
    co_await event.wait();
  }
  co_return measured.end();
}

rota::task<spent> barrier(std::uint64_t n) {
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::sync::barrier all(1);
    co_await all.arrive_and_wait();
  }
  co_return measured.end();
}

// ---- tasks that compete

/// Divides the operations among `Count` tasks; each runs `one` with its share.
template <std::uint64_t Count, class Shared>
rota::task<void> share(Shared& shared, std::uint64_t n, rota::task<void> (*one)(Shared&, std::uint64_t)) {
  std::vector<rota::join_handle<void>> all;
  all.reserve(Count);
  for (std::uint64_t i = 0; i < Count; ++i) all.push_back(rota::spawn(one(shared, n / Count)));
  for (auto& each : all) co_await each;
}

struct counter {
  rota::sync::mutex lock;
  std::uint64_t value = 0;
};

rota::task<void> count_up(counter& shared, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto held = co_await shared.lock.lock();
    ++shared.value;
  }
}

template <std::uint64_t Count>
rota::task<spent> mutex_among(std::uint64_t n) {
  const stretch measured;
  counter shared;
  co_await share<Count>(shared, n, count_up);
  if (shared.value != n / Count * Count) bench::fail("a mutex has let two in");
  co_return measured.end();
}

struct page {
  rota::sync::shared_mutex lock;
  std::uint64_t value = 0;
};

rota::task<void> read_often(page& shared, std::uint64_t n) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto held = co_await shared.lock.lock_shared();
    sum += shared.value;
    keep(sum);
  }
}

rota::task<void> write_often(page& shared, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto held = co_await shared.lock.lock();
    ++shared.value;
  }
}

rota::task<spent> rwlock_among(std::uint64_t n) {
  constexpr std::uint64_t readers = 4;
  constexpr std::uint64_t writers = 2;
  const std::uint64_t each = n / (readers + writers);
  const stretch measured;
  page shared;
  std::vector<rota::join_handle<void>> all;
  all.reserve(readers + writers);
  for (std::uint64_t i = 0; i < readers; ++i) all.push_back(rota::spawn(read_often(shared, each)));
  for (std::uint64_t i = 0; i < writers; ++i) all.push_back(rota::spawn(write_often(shared, each)));
  for (auto& one : all) co_await one;
  if (shared.value != writers * each) bench::fail("a shared_mutex has let two writers in");
  co_return measured.end();
}

rota::task<void> acquire_and_release(rota::sync::semaphore& permits, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto got = co_await permits.acquire();
    if (!got) bench::fail("a semaphore is closed");
    permits.release();
  }
}

rota::task<spent> semaphore_among(std::uint64_t n) {
  const stretch measured;
  rota::sync::semaphore permits(2);
  co_await share<8>(permits, n, acquire_and_release);
  co_return measured.end();
}

// ---- tasks

rota::task<void> nothing() { co_return; }

rota::task<spent> spawn_each(std::uint64_t n) {
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::join_handle<void> child = rota::spawn(nothing());
    co_await child;
  }
  co_return measured.end();
}

constexpr std::uint64_t batch = 100;

rota::task<spent> spawn_batches(std::uint64_t n) {
  const stretch measured;
  for (std::uint64_t i = 0; i < n / batch; ++i) {
    std::vector<rota::join_handle<void>> all;
    all.reserve(batch);
    for (std::uint64_t k = 0; k < batch; ++k) all.push_back(rota::spawn(nothing()));
    for (auto& each : all) co_await each;
  }
  co_return measured.end();
}

rota::task<spent> spawn_blocking_each(std::uint64_t n) {
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    rota::join_handle<void> child = rota::spawn_blocking([] {});
    co_await child;
  }
  co_return measured.end();
}

// ---- locks for longer: no round

rota::task<void> lock_alone(std::uint64_t n) {
  counter shared;
  co_await count_up(shared, n);
}

/// The least that a lock and an unlock can cost.
double two_fetch_adds(std::uint64_t n) {
  std::atomic<std::uint64_t> word{0};
  const stretch measured;
  for (std::uint64_t i = 0; i < n; ++i) {
    word.fetch_add(1, std::memory_order_acquire);
    word.fetch_add(1, std::memory_order_release);
  }
  return measured.end().wall_ns / static_cast<double>(n);
}

template <void (*Run)(const job&)>
void beside_fetch_adds(const job& what) {
  Run(what);
  if (!what.counts)
    bench::report_value(what, what.test_case, "ns", two_fetch_adds(what.operations), "two_fetch_adds");
}

template <std::uint64_t Count>
rota::task<void> lock_among(std::uint64_t n) {
  counter shared;
  co_await share<Count>(shared, n, count_up);
}

using clock = std::chrono::steady_clock;

struct watched {
  rota::sync::mutex lock;
  clock::duration longest{0};
};

rota::task<void> watch_waits(watched& shared, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const clock::time_point begin = clock::now();
    const auto held = co_await shared.lock.lock();
    shared.longest = std::max(shared.longest, clock::now() - begin);
  }
}

template <std::uint64_t Count>
rota::task<double> longest_wait_us(std::uint64_t n) {
  watched shared;
  co_await share<Count>(shared, n, watch_waits);
  co_return std::chrono::duration<double, std::micro>(shared.longest).count();
}

template <std::uint64_t Count>
rota::task<double> measure_and_report(job what) {
  const spent all = co_await bench::measure(lock_among<Count>, what);
  bench::report(what, all);
  if (what.counts) co_return 0;
  const double longest = co_await longest_wait_us<Count>(what.operations);
  co_return longest;
}

void report_longest(const job& what, double us) {
  if (!what.counts) bench::report_value(what, (std::string(what.test_case) + ".max_wait").c_str(), "us", us);
}

template <std::uint64_t Count>
void among_on_worker(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  auto root = runtime.spawn(measure_and_report<Count>(what));
  report_longest(what, root.join());
}
template <std::uint64_t Count>
void among_in_block_on(const job& what) {
  rota::runtime runtime(bench::options_of(what));
  report_longest(what, runtime.block_on(measure_and_report<Count>(what)));
}

constexpr bench::one_case cases[] = {
    {"mutex", "ns", 10'000'000, 3'000'000, bench::rounds<mutex, alone_round>},
    {"rwlock_read", "ns", 10'000'000, 3'000'000, bench::rounds<rwlock_read, alone_round>},
    {"rwlock_write", "ns", 10'000'000, 3'000'000, bench::rounds<rwlock_write, alone_round>},
    {"semaphore", "ns", 10'000'000, 3'000'000, bench::rounds<semaphore, alone_round>},
    {"oncecell_get", "ns", 50'000'000, 20'000'000, bench::rounds<oncecell_get, alone_round>},
    {"oncecell_set", "ns", 10'000'000, 3'000'000, bench::rounds<oncecell_set, alone_round>},
    {"notify", "ns", 10'000'000, 3'000'000, bench::rounds_on_worker<notify, alone_round>},
    {"notify_block_on", "ns", 10'000'000, 3'000'000, bench::rounds_in_block_on<notify, alone_round>},
    {"barrier", "ns", 5'000'000, 1'000'000, bench::rounds_on_worker<barrier, alone_round>},
    {"barrier_block_on", "ns", 5'000'000, 1'000'000, bench::rounds_in_block_on<barrier, alone_round>},
    {"mutex_contended", "ns", 2'000'000, 500'000, bench::rounds_on_worker<mutex_among<4>, task_round>},
    {"mutex_contended_block_on",
     "ns",
     2'000'000,
     500'000,
     bench::rounds_in_block_on<mutex_among<4>, task_round>},
    {"rwlock_contended", "ns", 2'000'000, 500'000, bench::rounds_on_worker<rwlock_among, task_round>},
    {"rwlock_contended_block_on",
     "ns",
     2'000'000,
     500'000,
     bench::rounds_in_block_on<rwlock_among, task_round>},
    {"semaphore_contended", "ns", 2'000'000, 500'000, bench::rounds_on_worker<semaphore_among, task_round>},
    {"semaphore_contended_block_on",
     "ns",
     2'000'000,
     500'000,
     bench::rounds_in_block_on<semaphore_among, task_round>},
    {"task_spawn", "ns", 500'000, 100'000, bench::rounds_on_worker<spawn_each, task_round>},
    {"task_spawn_block_on", "ns", 200'000, 50'000, bench::rounds_in_block_on<spawn_each, task_round>},
    {"task_spawn_batch", "ns", 1'000'000, 300'000, bench::rounds_on_worker<spawn_batches, task_round>},
    {"task_spawn_batch_block_on",
     "ns",
     1'000'000,
     300'000,
     bench::rounds_in_block_on<spawn_batches, task_round>},
    {"blocking_spawn", "ns", 50'000, 10'000, bench::rounds_on_worker<spawn_blocking_each, task_round>},
    {"blocking_spawn_block_on",
     "ns",
     50'000,
     10'000,
     bench::rounds_in_block_on<spawn_blocking_each, task_round>},
    {"mutex_lock", "ns", 10'000'000, 2'000'000, beside_fetch_adds<bench::on_worker<lock_alone>>},
    {"mutex_lock_block_on", "ns", 10'000'000, 2'000'000, beside_fetch_adds<bench::in_block_on<lock_alone>>},
    {"mutex_2", "ns", 2'000'000, 500'000, among_on_worker<2>},
    {"mutex_2_block_on", "ns", 2'000'000, 500'000, among_in_block_on<2>},
    {"mutex_8", "ns", 2'000'000, 500'000, among_on_worker<8>},
    {"mutex_8_block_on", "ns", 2'000'000, 500'000, among_in_block_on<8>},
    {"mutex_64", "ns", 2'000'000, 500'000, among_on_worker<64>},
    {"mutex_64_block_on", "ns", 2'000'000, 500'000, among_in_block_on<64>},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
