// P12, on the real pool: failed thread starts, also the keeper's; queues that give thieves nothing; threads
// left behind at the end. A submitted job runs while a thread waits for it; no wait for a lost thread.
#include "model/pool_world.hpp"

#include <rota/pool/this_work.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::few_threads;
using model::luggage;
using model::pool_at_random;
using model::pool_exhaustive;
using model::record;
using model::signal;
using testing::check;
using testing::execution;

struct world {
  explicit world(pool_options how) : pool(std::move(how)) {}
  std::array<record, 2> of;
  signal go;
  signal entered;
  thread_pool pool;
};

void refuse(testing::options& o, unsigned threads) { o.thread_failures = threads; }

// A job that has begun just before the end is asked to stop, and need not be forced.

// A work that was submitted, and has begun, just before the end is asked to stop, and need not be forced.
TEST(pool_threads_model, a_shutdown_asks_a_job_submitted_just_before_to_stop) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(1);
    how.min_threads = 1;
    auto& w = e.make<world>(how);
    record& r = w.of[0];
    e.thread("submitter", [&w, &r] {
      try {
        r.handle = w.pool.submit(
            [] {
              this_work::sleep_for(48h);
              return 7;
            },
            r.options());
      } catch (const error& refused) {
        check(refused.code() == errc::shut_down, "it says why");
      }
    });
    e.thread("manager", [&w] { static_cast<void>(w.pool.shutdown(24h)); });
    e.finally([&r] { check(r.told != work_status::force_stopped, "it was asked to stop"); });
  };
  testing::options o = pool_exhaustive("threads_end_reaches", 0);
  o.stale_reads = 1;
  expect_holds(o, body);
}

// ---- refused ----------------------------------------------------------------------------------------------

// Up to three starts fail: that of the job, the keeper's, and the first that the waiter asks for.
TEST(pool_threads_model, a_waiter_retries_a_failed_thread_start) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    e.thread("submitter", [&w] {
      record& r = w.of[0];
      r.handle = w.pool.submit(r.function(), r.options());
      r.handle.wait();
      r.check_end();
    });
  };
  testing::options o = pool_exhaustive("threads_refused", 2);
  refuse(o, 3);
  expect_holds(o, body);
  o = pool_at_random("threads_refused pct");
  refuse(o, 3);
  expect_holds(o, body);
}

// A thread for a job cannot be started beside the end: no retry after it, and no timer is left armed.
TEST(pool_threads_model, a_thread_start_that_fails_during_shutdown_is_not_retried) {
  const auto body = [](execution& e) {
    auto& w = e.make<world>(few_threads(1));
    record& r = w.of[0];
    e.thread("submitter", [&w, &r] {
      try {
        r.handle = w.pool.submit(r.function(), r.options());
      } catch (const error& refused) {
        check(refused.code() == errc::shut_down, "it says why");
      }
    });
    e.thread("manager", [&w] { static_cast<void>(w.pool.shutdown(0s)); });
    e.finally([&r] { check(r.ends == (r.handle.valid() ? 1 : 0), "it ends once"); });
  };
  testing::options o = pool_exhaustive("threads_refused_end", 1);
  refuse(o, 1);
  expect_holds(o, body);
  o = pool_at_random("threads_refused_end pct");
  refuse(o, 1);
  expect_holds(o, body);
}

// A thread that sleeps already, on a word, on a bell, or until the pool is idle, is woken.
TEST(pool_threads_model, a_sleeping_waiter_is_woken_when_a_thread_start_fails) {
  enum class on : std::uint8_t { word, bell, epoch };
  for (const auto& [what, name] : {std::pair(on::word, "threads_told"),
                                   std::pair(on::bell, "threads_told_any"),
                                   std::pair(on::epoch, "threads_told_idle")}) {
    const auto body = [sleeps = what](execution& e) {
      pool_options how = few_threads(1);
      how.start = start_mode::suspended;
      auto& w = e.make<world>(how);
      record& r = w.of[0];
      r.handle = w.pool.submit(r.function(), r.options());
      e.thread("waiter", [&w, &r, sleeps] {
        const work_id all[]{r.handle.id()};
        if (sleeps == on::word) r.handle.wait();
        if (sleeps == on::bell) static_cast<void>(w.pool.wait_any(all));
        if (sleeps == on::epoch) w.pool.wait_idle();
        r.check_end();
      });
      e.thread("starter", [&w] { w.pool.start(); });
    };
    testing::options o = pool_exhaustive(name);
    refuse(o, 2);
    expect_holds(o, body);
    const std::string random = std::string(name) + " pct";
    o = pool_at_random(random);
    refuse(o, 2);
    expect_holds(o, body);
  }
}

// ---- thieves ----------------------------------------------------------------------------------------------

/// Gives thieves nothing.
struct hides_from_thieves {
  void set(queued_work work) { works.push_back(work); }
  std::optional<queued_work> get() {
    if (works.empty()) return std::nullopt;
    const queued_work first = works.front();
    works.pop_front();
    return first;
  }
  std::optional<queued_work> steal() {
    if (!works.empty()) throw std::runtime_error("not now");
    return std::nullopt;
  }
  std::optional<queued_work> discard() { return get(); }
  [[nodiscard]] std::size_t size() const { return works.size(); }
  std::deque<queued_work> works;
};

// The first job holds the thread of the queue. The second is in that queue, and the first waits for it.
TEST(pool_threads_model, a_thread_takes_over_a_queue_that_gives_thieves_nothing) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(2);
    how.custom = custom_queue::of<hides_from_thieves>();
    auto& w = e.make<world>(how);
    e.thread("submitter", [&w] {
      w.pool | [&w, with = luggage{}] { w.go.wait(); };
      w.pool | [&w, with = luggage{}] { w.go.raise(); };
      w.pool.wait_idle();
      check(w.go.is_raised() && w.pool.stats().succeeded == 2, "both have run");
    });
  };
  testing::options o = pool_exhaustive("threads_thief");
  o.steps = 20'000;
  expect_holds(o, body);
  o = pool_at_random("threads_thief pct");
  o.steps = 20'000;
  expect_holds(o, body);
}

// ---- left behind ------------------------------------------------------------------------------------------

/// Its destructor waits for `go`.
struct blocks {
  explicit blocks(world& w) : of(w) {}
  blocks(const blocks&) = delete;
  blocks& operator=(const blocks&) = delete;
  ~blocks() { of.go.wait(); }
  world& of;
};

// It is given up while it waits or unwinds. The end does not wait for its frame, which lives longer.
TEST(pool_threads_model, a_shutdown_does_not_wait_for_a_coroutine_that_unwinds) {
  const auto body = [](execution& e) {
    pool_options how = few_threads(1);
    how.force_grace = 0ns;
    auto& w = e.make<world>(how);
    auto& never = e.make<sync::event>();
    auto& handle = e.make<work<void>>(w.pool.submit([&w, &never, with = luggage{}]() -> task<void> {
      const blocks last(w);
      w.entered.raise();
      co_await never.wait();
    }));
    e.thread("ender", [&w, &handle] {
      w.entered.wait();
      static_cast<void>(handle.force_stop());
      static_cast<void>(w.pool.shutdown(0ns));
      check(is_final(handle.status()), "it is over");
      w.go.raise();
    });
    e.finally([&w] { check(w.pool.stats().abandoned == 0, "its thread has gone"); });
  };
  testing::options o = pool_exhaustive("threads_unwind");
  o.early_timeouts = 1;
  expect_holds(o, body);
  o = pool_at_random("threads_unwind pct");
  o.early_timeouts = 2;
  expect_holds(o, body);
}

}  // namespace
}  // namespace rota::pool
