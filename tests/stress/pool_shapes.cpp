// Four shapes of load on the pool, one after the other. `--shape N` runs only one:
//   1  many empty works, submitted by several threads at once
//   2  works of all kinds before the pool starts, then it does; one round in five is stopped; queues are FIFO
//   3  many small batches, each waited for
//   4  as 2, with queues that are LIFO
// After each round nothing is outstanding, waits or runs, and every work has ended once.
#include "stress.hpp"

#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>

#include <stdexcept>
#include <vector>

namespace {

using namespace rota::pool;
using namespace std::chrono_literals;

std::atomic<std::uint64_t> violations{0};

void expect(bool holds, const char* what, std::uint64_t seen) {
  if (holds) return;
  if (++violations <= 20)
    std::fprintf(stderr, "pool_shapes: %s: %llu\n", what, static_cast<unsigned long long>(seen));
}

std::uint64_t ends(const pool_stats& s) {
  return s.succeeded + s.failed + s.cancelled + s.stopped + s.force_stopped + s.discarded + s.abandoned_works;
}

void expect_quiet(thread_pool& p, std::uint64_t submitted) {
  const pool_stats s = p.stats();
  expect(s.outstanding == 0, "outstanding", s.outstanding);
  expect(s.waiting == 0, "waiting", s.waiting);
  expect(s.running == 0, "running", s.running);
  expect(s.coroutines == 0, "coroutines", s.coroutines);
  expect(s.long_running == 0, "long ones", s.long_running);
  expect(ends(s) == submitted, "ends", ends(s));
}

std::uint64_t empty_works(std::uint64_t round, stress::watchdog& dog) {
  constexpr std::uint64_t from_each = 50'000;
  thread_pool p({.min_threads = static_cast<unsigned>(round % 2), .max_threads = 4});
  std::atomic<std::uint64_t> done{0};
  const auto submit = [&] {
    for (std::uint64_t i = 0; i < from_each; ++i) {
      p | [&done] { done.fetch_add(1, std::memory_order_relaxed); };
      if (i % 1000 == 0) ++dog.progress;
    }
  };
  std::thread other(submit);
  submit();
  other.join();
  p.wait_idle();
  expect(done == 2 * from_each, "works that ran", done);
  expect_quiet(p, 2 * from_each);
  expect(p.stats().failed == 0, "works that failed", p.stats().failed);
  return 2 * from_each;
}

rota::task<void> waits_thrice() {
  for (int i = 0; i < 3; ++i) co_await rota::sleep_for(200us);
}

std::uint64_t mixture(std::uint64_t round, queue_order order, stress::watchdog& dog) {
  constexpr std::uint64_t count = 1000;
  std::mt19937_64 choice(round);
  const bool stops = choice() % 5 == 0;
  pool_options how{.max_threads = 4, .queue = order, .start = start_mode::suspended};
  // No line on standard error for each exception that is thrown on purpose.
  how.on_unhandled = rota::unhandled_policy::callback([](const rota::unhandled_exception&) noexcept {});
  thread_pool p(how);
  std::atomic<std::uint64_t> done{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t kind = choice() % 100;
    if (kind < 24) {
      p | [&done]() -> rota::task<void> {
        co_await waits_thrice();
        ++done;
      };
      continue;
    }
    p | [&done, kind] {
      if (kind == 99) {
        ++done;
        throw std::runtime_error("one in a hundred");
      }
      this_work::sleep_for(kind > 97 ? 3ms : kind > 92 ? 1ms : std::chrono::microseconds(kind));
      ++done;
    };
    ++dog.progress;
  }
  expect(p.stats().waiting == count, "waiting before the start", p.stats().waiting);
  p.start();
  if (stops) {
    while (done < count / 4) std::this_thread::yield();
    static_cast<void>(p.stop_all());
  }
  p.wait_idle();
  expect(stops || done == count, "works that ran", done);
  expect_quiet(p, count);
  ++dog.progress;
  return count;
}

std::uint64_t batches(stress::watchdog& dog) {
  constexpr std::uint64_t rounds = 1000;
  constexpr std::uint64_t in_each = 100;
  thread_pool p({.max_threads = 2});
  std::atomic<std::uint64_t> done{0};
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::uint64_t i = 0; i < in_each; ++i) p | [&done] { done.fetch_add(1, std::memory_order_relaxed); };
    p.wait_idle();
    expect(done == round * in_each, "works that ran", done);
    ++dog.progress;
  }
  expect_quiet(p, rounds * in_each);
  return rounds * in_each;
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  const std::uint64_t only = stress::number_after(argc, argv, "--shape", 0);
  stress::watchdog dog;
  std::uint64_t rounds = 0;
  std::uint64_t works = 0;
  for (; !o.is_over(); ++rounds) {
    const std::uint64_t seed = o.seed + rounds;
    switch (only == 0 ? 1 + rounds % 4 : only) {
      case 1: works += empty_works(seed, dog); break;
      case 2: works += mixture(seed, queue_order::fifo, dog); break;
      case 3: works += batches(dog); break;
      default: works += mixture(seed, queue_order::lifo, dog); break;
    }
  }
  return stress::finish("pool_shapes", o, {{"rounds", rounds}, {"works", works}}, violations);
}
