// Waves of blocking jobs drive the pool from its fewest threads to its most and back. Then a mix of all that
// jobs may have and suffer: priorities, groups with limits, dependencies, retries, timeouts, coroutines, long
// jobs, full queues, pauses, cancel, stop and force stop, pools that end in the middle. Every job ends once,
// with one final status and one callback; every wait returns; no job or function is left. `--races N`: N
// rounds of cancel against run. `--idle N`: N rounds of wait_idle against jobs that submit jobs.
#include "stress.hpp"

#include <rota/pool/parallel.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>

#include <array>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace {

using namespace rota::pool;
using namespace std::chrono_literals;

std::atomic<std::uint64_t> violations{0};

void expect(bool holds, const char* what) {
  if (holds) return;
  if (++violations <= 20) std::fprintf(stderr, "pool: %s\n", what);
}

/// In a function: alive as long as that is.
struct token {
  token() { alive.fetch_add(1); }
  token(const token&) { alive.fetch_add(1); }
  token(token&&) noexcept { alive.fetch_add(1); }
  token& operator=(const token&) = delete;
  ~token() { alive.fetch_sub(1); }
  static inline std::atomic<std::int64_t> alive{0};
};

struct sums {
  std::uint64_t works = 0;
  std::array<std::uint64_t, 16> ends{};
  std::uint64_t most_threads = 0;
};

/// A square wave of works that block: up to the most threads, and down to the fewest.
void breathe(std::uint64_t round, stress::watchdog& dog, sums& all) {
  const auto min = static_cast<unsigned>(round % 3);
  const unsigned max = min + 4 + static_cast<unsigned>(round % 5);
  thread_pool p({.min_threads = min, .max_threads = max, .keep_alive = 1ms});
  for (int wave = 0; wave < 3; ++wave) {
    std::latch up(max);
    std::latch down(1);
    std::vector<work<void>> works;
    for (unsigned i = 0; i < max; ++i) {
      works.push_back(p.submit([&] {
        up.count_down();
        down.wait();
      }));
    }
    up.wait();  // all of them block at once: that many threads there are
    const pool_stats s = p.stats();
    expect(s.threads == max && s.running == max,
           "not as many threads as may be, under as many works that block");
    all.most_threads = std::max<std::uint64_t>(all.most_threads, s.threads);
    down.count_down();
    p.wait_idle();
    while (p.stats().threads > min) {
      std::this_thread::sleep_for(1ms);
    }
    expect(p.stats().threads == min, "fewer threads than the fewest");
    all.works += max;
    ++dog.progress;
  }
}

rota::task<int> waits(std::uint64_t how, token /*mine*/) {
  for (std::uint64_t i = how % 4; i != 0; --i) co_await rota::yield();
  if (how % 8 == 1) co_await rota::sleep_for(std::chrono::microseconds(how % 300));
  if (how % 16 == 3) throw std::runtime_error("now and then");
  co_return 1;
}

int runs(std::uint64_t how, const token& /*mine*/) {
  if (how % 32 == 5) this_work::sleep_for(std::chrono::microseconds(how % 500));
  if (how % 8 == 6) this_work::checkpoint();
  if (how % 64 == 7) {
    const blocking_region region;
    std::this_thread::sleep_for(std::chrono::microseconds(how % 200));
  }
  if (how % 16 == 9) throw std::runtime_error("now and then");
  return 1;
}

void mix(std::uint64_t round, stress::watchdog& dog, sums& all) {
  constexpr std::size_t count = 3000;
  std::mt19937_64 choice(round);
  struct seen {
    std::atomic<int> callbacks{0};
    std::atomic<int> last{0};
  };
  std::vector<seen> told(count);
  pool_options how{.min_threads = static_cast<unsigned>(choice() % 2),
                   .max_threads = static_cast<unsigned>(1 + choice() % 4)};
  how.keep_alive = choice() % 2 == 0 ? 10s : 0s;
  how.priorities = choice() % 3 == 0 ? priority_scope::global : priority_scope::per_worker;
  how.queue = static_cast<queue_order>(choice() % 3);
  how.steal = choice() % 2 == 0 ? steal_amount::one : steal_amount::half;
  how.start = choice() % 4 == 0 ? start_mode::suspended : start_mode::running;
  how.pause = choice() % 2 == 0 ? pause_mode::queued_too : pause_mode::running_only;
  how.force_grace = 200us;
  how.max_abandoned = 4;
  if (choice() % 3 == 0) {
    how.queue_limit = 200;
    // A pool that has not started never makes room, so no thread may wait for room there.
    const std::array policies{rejection::caller_runs,
                              rejection::discard_newest,
                              rejection::discard_queued,
                              rejection::abort,
                              rejection::block};
    how.on_full = policies[choice() % (how.start == start_mode::suspended ? 4 : 5)];
  }
  const bool ends_early = choice() % 4 == 0;
  std::vector<std::optional<work<int>>> works(count);
  std::uint64_t accepted = 0;
  {
    thread_pool p(how);
    p.limit_group("narrow", 1 + static_cast<unsigned>(choice() % 2));
    p.relate("all", "narrow");
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t kind = choice();
      work_options o{.priority = static_cast<int>(kind % 5)};
      o.callback = [&mine = told[i]](const work_end& end) {
        if (end.will_retry) return;
        ++mine.callbacks;
        mine.last = static_cast<int>(end.status);
      };
      if (kind % 7 == 0) o.group = kind % 2 == 0 ? "narrow" : "all";
      if (kind % 11 == 0 && i > 10) {
        for (std::size_t back = 1; back < 1 + kind % 4; ++back) {
          if (works[i - back * 2].has_value()) o.after.push_back(works[i - back * 2]->id());
        }
      }
      if (kind % 13 == 0)
        o.retry = {.limit = 2,
                   .backoff = std::chrono::microseconds(kind % 100),
                   .jitter = true,
                   .where = kind % 2 == 0 ? retry_where::immediately : retry_where::requeued};
      if (kind % 17 == 0)
        o.timeout = {std::chrono::microseconds(kind % 400),
                     kind % 3 == 0 ? on_timeout::force_stop : on_timeout::stop,
                     kind % 2 == 0 ? timeout_from::start : timeout_from::submit};
      o.long_running = kind % 101 == 0;
      try {
        works[i] = kind % 5 == 0
                       ? p.submit([kind, mine = token()] { return waits(kind >> 8U, token(mine)); }, o)
                       : p.submit([kind, mine = token()] { return runs(kind >> 8U, mine); }, o);
        ++accepted;
      } catch (const rota::error& refused) {
        if (refused.code() != rota::errc::queue_full) throw;
      }
      const std::size_t other = choice() % (i + 1);
      switch (choice() % 40) {
        case 0:
          if (works[other].has_value()) works[other]->cancel();
          break;
        case 1:
          if (works[other].has_value()) works[other]->stop();
          break;
        case 2:
          if (works[other].has_value()) works[other]->force_stop();
          break;
        case 3:
          if (works[other].has_value()) {
            works[other]->pause();
            works[other]->resume();
          }
          break;
        case 4:
          p.pause("all");
          p.resume("all");
          break;
        case 5:
          p.pause_all();
          p.resume_all();
          break;
        case 6: p.resize(0, 1 + static_cast<unsigned>(choice() % 4)); break;
        case 7:
          if (choice() % 50 == 0) p.stop("narrow");
          break;
        default: break;
      }
      if (i % 64 == 0) ++dog.progress;
    }
    if (!ends_early) {
      p.start();
      if (!p.wait_idle(8s)) {
        const pool_stats s = p.stats();
        std::fprintf(stderr,
                     "pool: threads %u of %u, idle %u, running %u, regions %u, lost %u, outstanding %llu\n",
                     s.threads,
                     p.max_threads(),
                     s.idle,
                     s.running,
                     s.in_regions,
                     s.abandoned,
                     static_cast<unsigned long long>(s.outstanding));
        for (std::size_t i = 0; i < count; ++i) {
          if (!works[i].has_value() || works[i]->is_done()) continue;
          std::fprintf(stderr,
                       "pool: round %llu: work %zu is %s\n",
                       static_cast<unsigned long long>(round),
                       i,
                       to_string(works[i]->status()));
        }
      }
      p.wait_idle();
      const pool_stats s = p.stats();
      expect(s.outstanding == 0 && s.waiting == 0 && s.running == 0 && s.coroutines == 0,
             "something is outstanding in an idle pool");
      expect(s.submitted == accepted, "not as many works as were accepted");
      expect(p.members("all").empty() && p.members("narrow").empty(), "a group has members in an idle pool");
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!works[i].has_value()) {
      expect(told[i].callbacks == 0, "a callback of a work that was refused");
      continue;
    }
    const work_status status = works[i]->status();
    expect(works[i]->is_done(), "a work is not over when its pool has gone");
    expect(is_final(status), "a work has no final status when its pool has gone");
    expect(told[i].callbacks == 1, "not one callback");
    expect(told[i].last == static_cast<int>(status), "the callback was told of another status");
    const auto end = works[i]->fetch();
    expect(end.has_value() == (status == work_status::succeeded), "an outcome that does not fit the status");
    expect(end.has_exception() == (status == work_status::failed), "an outcome that does not fit the status");
    ++all.ends[static_cast<std::size_t>(status)];
    ++all.works;
  }
  // Abandoned jobs may still be about to return.
  while (token::alive != 0) std::this_thread::yield();
}

/// Cancels a job while a thread fetches it: exactly one of both happens. The delay of the other side follows
/// the winner, so that each side wins about as often.
void race(std::uint64_t rounds, stress::watchdog& dog, sums& all) {
  thread_pool p({.max_threads = 2});
  std::uint64_t patience = 64;
  std::uint64_t cancelled = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::atomic<int> ran{0};
    std::atomic<int> told{0};
    work_options o;
    if (i % 2 == 0) o.callback = [&](const work_end&) { ++told; };
    auto w = p.submit([&] { ++ran; }, o);
    for (std::uint64_t spin = patience * (i % 16) / 8; spin != 0; --spin) __builtin_ia32_pause();
    const bool taken = w.cancel();
    if (taken) {
      patience += patience < 4096 ? 1 + patience / 16 : 0;
    } else {
      patience -= patience / 16;
    }
    const bool has_value = w.fetch().has_value();
    expect(taken != (ran == 1), "cancelled and run, or neither");
    expect(has_value == (ran == 1), "the outcome of the other one");
    expect(i % 2 != 0 || told == 1, "not one callback");
    cancelled += taken ? 1 : 0;
    if (i % 16 == 0) ++dog.progress;
  }
  p.wait_idle();
  const pool_stats s = p.stats();
  expect(s.cancelled == cancelled && s.succeeded == rounds - cancelled, "the totals do not add up");
  all.works += rounds;
  all.ends[static_cast<std::size_t>(work_status::cancelled)] += cancelled;
}

/// A pool is idle when nothing is outstanding, and not before.
void idle(std::uint64_t rounds, stress::watchdog& dog, sums& all) {
  thread_pool p({.max_threads = 3});
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::atomic<std::uint64_t> done{0};
    const std::uint64_t first = 1 + i % 3;
    for (std::uint64_t n = 0; n < first; ++n) {
      static_cast<void>(p.submit([&] {
        static_cast<void>(p.submit([&] { ++done; }));
        ++done;
      }));
    }
    p.wait_idle();
    expect(done == 2 * first, "wait_idle returned with work outstanding");
    all.works += 2 * first;
    if (i % 16 == 0) ++dog.progress;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const stress::options o(argc, argv);
  stress::watchdog dog;
  sums all;
  std::uint64_t rounds = 0;
  const std::uint64_t races = stress::number_after(argc, argv, "--races", 0);
  const std::uint64_t idles = stress::number_after(argc, argv, "--idle", 0);
  if (races != 0) race(races, dog, all);
  if (idles != 0) idle(idles, dog, all);
  if (races == 0 && idles == 0) {
    for (; !o.is_over(); ++rounds) {
      const std::uint64_t round = o.seed + rounds;
      switch (round % 4) {
        case 0: breathe(round, dog, all); break;
        case 1: race(2000, dog, all); break;
        case 2: idle(1000, dog, all); break;
        default: mix(round, dog, all); break;
      }
    }
  }
  const auto ended = [&](work_status how) { return all.ends[static_cast<std::size_t>(how)]; };
  return stress::finish("pool",
                        o,
                        {{"rounds", rounds},
                         {"works", all.works},
                         {"failed", ended(work_status::failed)},
                         {"cancelled", ended(work_status::cancelled)},
                         {"stopped", ended(work_status::stopped)},
                         {"force_stopped", ended(work_status::force_stopped)},
                         {"abandoned", ended(work_status::abandoned)},
                         {"discarded", ended(work_status::discarded)},
                         {"most_threads", all.most_threads}},
                        violations);
}
