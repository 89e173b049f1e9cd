// The whole sleep/publish protocol of a small pool, searched completely: exact counts, printed speed.
#include <rota/testing/explore.hpp>
#include "base/futex.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace rota {
namespace {

using base::order;
using testing::check;
using testing::execution;
using testing::explore;

// Producers count up a queue; workers count it down, and sleep on a word each when it is empty.
struct pool {
  base::atomic<std::uint32_t> queued{0};
  base::atomic<std::uint32_t> done{0};
  base::atomic<std::uint32_t> idle{0};  // a bit for each worker that is asleep or about to be
  std::array<base::atomic<std::uint32_t>, 2> awake;
  std::uint32_t workers;
  std::uint32_t total;

  pool(std::uint32_t worker_count, std::uint32_t all) : workers(worker_count), total(all) {}

  void wake(std::size_t worker) noexcept {
    awake[worker].store(1, order::seq_cst);  // seq_cst. Seen by the worker before it sleeps.
    base::futex_wake(&awake[worker], 1);
  }

  void produce() noexcept {
    queued.fetch_add(1, order::seq_cst);               // seq_cst. One of four: publish, then look.
    std::uint32_t asleep = idle.load(order::seq_cst);  // seq_cst. One of four.
    while (asleep != 0) {
      const auto worker = static_cast<std::size_t>(__builtin_ctz(asleep));
      // seq_cst, both: the thread that clears the bit wakes the worker.
      if (!idle.compare_exchange_strong(asleep, asleep & ~(1U << worker), order::seq_cst, order::seq_cst))
        continue;
      return wake(worker);
    }
  }

  [[nodiscard]] bool work_left() noexcept {
    // seq_cst, both. Two of four: sleep, then look.
    return queued.load(order::seq_cst) != 0 || done.load(order::seq_cst) == total;
  }

  void take_one() noexcept {
    std::uint32_t seen = queued.load(order::seq_cst);  // seq_cst. Also a look.
    // seq_cst, both: no other thread has it.
    if (seen == 0 || !queued.compare_exchange_strong(seen, seen - 1, order::seq_cst, order::seq_cst)) return;
    if (done.fetch_add(1, order::seq_cst) + 1 != total) return;  // seq_cst: the last one wakes all
    for (std::size_t i = 0; i < workers; ++i) wake(i);
  }

  void work(std::size_t me) noexcept {
    while (done.load(order::seq_cst) != total) {  // seq_cst. The end is seen before a sleep.
      if (queued.load(order::seq_cst) != 0) {     // seq_cst. A look.
        take_one();
        continue;
      }
      awake[me].store(0, order::seq_cst);  // seq_cst. Before the bit: a wake after it is not overwritten.
      idle.fetch_or(1U << me, order::seq_cst);  // seq_cst. One of four.
      if (work_left()) {
        idle.fetch_and(~(1U << me), order::seq_cst);  // seq_cst. As the bit's setting.
        continue;
      }
      while (awake[me].load(order::seq_cst) == 0) {  // seq_cst. Pairs with wake().
        (void)base::futex_wait(awake[me], 0, base::never);
      }
    }
  }
};

testing::report search_pool(std::uint32_t producers, std::uint32_t workers, unsigned preemptions) {
  const std::clock_t begin = std::clock();  // of the processor: other programs do not count
  const auto r = explore({.preemptions = preemptions}, [=](execution& e) {
    auto& p = e.make<pool>(workers, producers);
    for (std::uint32_t i = 0; i < producers; ++i) e.thread([&p] { p.produce(); });
    for (std::uint32_t i = 0; i < workers; ++i) e.thread([&p, i] { p.work(i); });
    e.finally(
        [&p] { check(p.queued.load(order::relaxed) == 0, "all work is done"); });  // relaxed. All is over.
  });
  const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  (void)std::printf(
      "%u producers, %u workers, bound %u: %llu executions, %llu steps, %.3f s, %.1f M steps/s\n",
      producers,
      workers,
      preemptions,
      static_cast<unsigned long long>(r.runs),
      static_cast<unsigned long long>(r.steps),
      spent,
      static_cast<double>(r.steps) / std::max(spent, 1e-6) / 1e6);
  return r;
}

struct size {
  std::uint32_t producers;
  std::uint32_t workers;
  unsigned preemptions;
  std::uint64_t runs;
};

TEST(checker_speed, a_small_pool_is_searched_completely) {
  for (const size& z : {size{1, 1, 3, 182}, size{1, 2, 2, 2'450}, size{2, 2, 2, 71'540}}) {
    const auto r = search_pool(z.producers, z.workers, z.preemptions);
    EXPECT_FALSE(r.failed) << to_string(r);
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.runs, z.runs);
  }
}

}  // namespace
}  // namespace rota
