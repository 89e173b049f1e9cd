// Calls that block: lent roles, blocking joins, the pool, the watchdog.
#include "unit/runtime/runtime_support.hpp"

#include <rota/error.hpp>

#include <atomic>
#include <latch>
#include <string>
#include <vector>

namespace rota::test::blocking_test {
namespace {

task<int> number(int n) { co_return n; }

TEST(blocking, block_on_inside_a_task_is_refused) {
  runtime rt(with_workers(1));
  struct body {
    static task<errc> nested(runtime& r) {
      errc got{};
      try {
        r.block_on(number(1));
      } catch (const error& e) {
        got = static_cast<errc>(e.code().value());
      }
      co_return got;
    }
  };
  EXPECT_EQ(rt.spawn(body::nested(rt)).join(), errc::nested_block_on);
  EXPECT_EQ(rt.block_on(body::nested(rt)), errc::nested_block_on);
}

// One worker: the task spawned before the block runs only because the role is lent.
TEST(blocking, block_in_place_lends_the_role) {
  runtime rt(with_workers(1));
  struct body {
    static task<int> blocked(runtime& r) {
      std::binary_semaphore ran(0);
      struct other {
        static task<> release(std::binary_semaphore& s) {
          s.release();
          co_return;
        }
      };
      auto elsewhere = spawn(other::release(ran));
      const int got = block_in_place([&] {
        ran.acquire();
        return r.block_on(number(7));
      });
      co_await elsewhere;
      co_return got;
    }
  };
  EXPECT_EQ(rt.spawn(body::blocked(rt)).join(), 7);
  EXPECT_EQ(rt.stats().total_shortages, 0U);
}

TEST(blocking, a_closure_runs_tasks_on_its_own_thread) {
  runtime rt(with_workers(1));
  EXPECT_EQ(rt.spawn_blocking([] { return run(number(3)); }).join(), 3);
  EXPECT_EQ(rt.spawn_blocking([&] { return rt.block_on(number(4)); }).join(), 4);
  const auto in_place = [&] { return block_in_place([&] { return rt.block_on(number(5)); }); };
  EXPECT_EQ(rt.spawn_blocking(in_place).join(), 5);
  const auto goes_on = [&] {
    const int sum = rt.block_on(number(1)) + rt.block_on(number(2));
    return sum + spawn(number(3)).join();  // current task: the closure's again
  };
  EXPECT_EQ(rt.spawn_blocking(goes_on).join(), 6);
}

TEST(blocking, nested_block_on_is_refused_in_a_task_that_a_closure_runs) {
  runtime rt(with_workers(1));
  struct body {
    static task<errc> nested(runtime& r) {
      errc got{};
      try {
        r.block_on(number(1));
      } catch (const error& e) {
        got = static_cast<errc>(e.code().value());
      }
      co_return got;
    }
  };
  EXPECT_EQ(rt.spawn_blocking([&] { return rt.block_on(body::nested(rt)); }).join(), errc::nested_block_on);
}

TEST(blocking, exception_propagates_from_a_task_that_a_closure_runs) {
  runtime rt(with_workers(1));
  struct body {
    static task<> throws() {
      throw std::runtime_error("from inside");
      co_return;
    }
  };
  const auto closure = [&] {
    EXPECT_THROW(rt.block_on(body::throws()), std::runtime_error);
    return rt.block_on(number(7));
  };
  EXPECT_EQ(rt.spawn_blocking(closure).join(), 7);
}

TEST(blocking, a_shutdown_cancels_what_a_closure_waits_for) {
  runtime rt(with_workers(1));
  std::binary_semaphore began(0);
  struct body {
    static task<> waits(std::binary_semaphore& s) {
      s.release();
      co_await sleep_for(std::chrono::hours(1));
    }
  };
  auto closure = rt.spawn_blocking([&] { rt.block_on(body::waits(began)); });
  began.acquire();
  EXPECT_TRUE(rt.shutdown(std::chrono::hours(1)).survivors.empty());
  EXPECT_THROW(closure.join(), cancelled_error);
}

TEST(blocking, nested_block_in_place_keeps_the_current_task) {
  runtime rt(with_workers(1));
  struct body {
    static task<int> blocked(runtime& r) {
      const auto inner = [&] { return r.block_on(number(1)) + spawn(number(2)).join(); };
      co_return block_in_place([&] { return block_in_place(inner); });
    }
  };
  EXPECT_EQ(rt.spawn(body::blocked(rt)).join(), 3);
}

TEST(blocking, an_exception_leaves_block_in_place) {
  runtime rt(with_workers(1));
  struct body {
    static task<> throws() {
      block_in_place([] { throw std::runtime_error("from inside"); });
      co_return;
    }
  };
  EXPECT_THROW(rt.spawn(body::throws()).join(), std::runtime_error);
  EXPECT_EQ(rt.spawn(number(1)).join(), 1);
}

TEST(blocking, a_role_that_was_lent_is_not_reported_as_stuck) {
  runtime_options o = with_workers(1);
  o.watchdog = 100ms;
  runtime rt(o);
  struct body {
    static task<> blocked(runtime& r) {
      block_in_place([&r] {
        // Takes several times the watchdog's limit. The role's new thread has nothing to do meanwhile.
        for (int i = 0; i < 10; ++i) r.block_on(doze());
      });
      co_return;
    }
    static task<> doze() { co_await sleep_for(40ms); }
  };
  ::testing::internal::CaptureStderr();
  rt.spawn(body::blocked(rt)).join();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(rt.stats().total_stalls, 0U);
}

TEST(blocking, many_block_in_place_calls_run_at_once) {
  constexpr int n = 32;
  runtime rt(with_workers(2));
  std::latch all(n);
  struct body {
    static task<> meet(std::latch& l) {
      block_in_place([&l] { l.arrive_and_wait(); });
      co_return;
    }
  };
  std::vector<join_handle<void>> handles;
  for (int i = 0; i < n; ++i) handles.push_back(rt.spawn(body::meet(all)));
  for (auto& h : handles) h.join();
  EXPECT_GE(rt.stats().blocking_threads, 2U);
}

// Row 10: D joins A, A joins B; C joins D; on two workers.
TEST(blocking, joins_over_an_acyclic_graph_complete) {
  for (int round = 0; round < 200; ++round) {
    runtime rt(with_workers(2));
    struct body {
      static task<int> join_it(join_handle<int> other, int add) {
        const int got = other.join();
        co_return got + add;
      }
    };
    auto b = rt.spawn(number(1));
    auto a = rt.spawn(body::join_it(std::move(b), 10));
    auto d = rt.spawn(body::join_it(std::move(a), 100));
    auto c = rt.spawn(body::join_it(std::move(d), 1000));
    EXPECT_EQ(c.join(), 1111);
  }
}

// Row 10: each of 10^4 tasks spawns and joins the next. 64 run inside one another, then a thread blocks,
// so the chain needs one thread for each 64 tasks.
TEST(blocking, chain_of_ten_thousand_joins_completes) {
  runtime_options o = with_workers(2);
  runtime rt(o);
  struct body {
    static task<int> chain(int left) {
      if (left == 0) co_return 0;
      auto next = spawn(chain(left - 1));
      const int below = next.join();
      co_return below + 1;
    }
  };
  EXPECT_EQ(rt.spawn(body::chain(10'000)).join(), 10'000);
  EXPECT_EQ(rt.stats().total_shortages, 0U);
}

// Row 15.
TEST(blocking, runtime_with_128_workers_completes_all_tasks) {
  runtime rt(with_workers(128));
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(rt.spawn(number(i)));
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].join(), i);
  const runtime_stats s = rt.stats();
  EXPECT_EQ(s.num_workers, 128U);
  EXPECT_EQ(s.total_completed, 1'000U);
}

// Row 16: a task in the slot of a worker that stays in user code is taken by another worker.
TEST(blocking, task_in_the_slot_of_a_busy_worker_is_stolen) {
  runtime rt(with_workers(2));
  std::binary_semaphore ran(0);
  struct body {
    static task<> child(std::binary_semaphore& s) {
      s.release();
      co_return;
    }
    static task<> busy(std::binary_semaphore& s) {
      spawn(child(s)).detach();
      s.acquire();  // in user code until the child has run
      co_return;
    }
  };
  const auto began = std::chrono::steady_clock::now();
  rt.spawn(body::busy(ran)).join();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  wait_until([&rt] { return rt.stats().total_ripened >= 1; });  // counted after the other worker may take it
  EXPECT_EQ(rt.stats().total_stolen, 1U);
  RecordProperty("milliseconds", std::to_string(took.count()));
}

// The busy task may wake the worker that waits in the driver: the watchdog then sends the other worker there.
TEST(blocking, a_timer_fires_beside_a_worker_that_stays_in_user_code) {
  runtime rt(with_workers(2));
  struct body {
    static task<> holds(std::binary_semaphore& here, std::binary_semaphore& until) {
      here.release();
      until.acquire();
      co_return;
    }
    static task<> rings(std::binary_semaphore& armed, std::binary_semaphore& bell) {
      armed.release();
      co_await sleep_for(10ms);
      bell.release();
    }
    static task<> busy(std::binary_semaphore& bell) {
      bell.acquire();  // in user code until the timer has fired
      co_return;
    }
  };
  // One worker arms the timer while the other is held, and waits in the driver; then the other one parks. The
  // next task wakes the lower-numbered worker: in every second round that is the one in the driver.
  for (int round = 0; round < 4; ++round) {
    std::array<std::binary_semaphore, 2> until{std::binary_semaphore(0), std::binary_semaphore(0)};
    std::binary_semaphore here(0);
    std::binary_semaphore armed(0);
    std::binary_semaphore bell(0);
    std::array<join_handle<void>, 2> held;
    for (std::size_t i = 0; i < 2; ++i) {
      held[i] = rt.spawn(body::holds(here, until[i]));
      here.acquire();
    }
    const auto first = static_cast<std::size_t>(round % 2);
    until[first].release();
    held[first].join();
    join_handle<void> timer = rt.spawn(body::rings(armed, bell));
    armed.acquire();
    until[1 - first].release();
    held[1 - first].join();
    std::this_thread::sleep_for(
        1ms);  // it has parked by now, most of the time; what follows must hold at any time
    rt.spawn(body::busy(bell)).join();
    timer.join();
  }
}

// Row 18: job 1 waits for job 2 in a pool of 4.
TEST(blocking, a_blocking_job_may_wait_for_another) {
  runtime_options o = with_workers(1);
  o.blocking.max_threads = 4;
  runtime rt(o);
  std::binary_semaphore ready(0);
  auto first = rt.spawn_blocking([&ready] {
    ready.acquire();
    return 1;
  });
  auto second = rt.spawn_blocking([&ready] {
    ready.release();
    return 2;
  });
  EXPECT_EQ(first.join(), 1);
  EXPECT_EQ(second.join(), 2);
}

TEST(blocking, a_pool_keeps_to_its_limit) {
  runtime_options o = with_workers(1);
  o.blocking.max_threads = 3;
  runtime rt(o);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::counting_semaphore<64> go(0);
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(rt.spawn_blocking([&] {
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      go.acquire();
      --inside;
    }));
  }
  wait_until([&] { return inside == 3; });
  EXPECT_EQ(rt.stats().blocking_queued, 17U);
  EXPECT_EQ(rt.stats().blocking_threads, 4U) << "the worker's own, and three";
  go.release(20);
  for (auto& h : all) h.join();
  EXPECT_EQ(most.load(), 3);
}

TEST(blocking, min_threads_stay_when_idle) {
  runtime_options o = with_workers(1);
  o.blocking.min_threads = 2;
  o.blocking.keep_alive = 0ns;
  runtime rt(o);
  std::latch all(6);
  std::vector<join_handle<void>> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(rt.spawn_blocking([&all] { all.arrive_and_wait(); }));
  for (auto& h : jobs) h.join();
  wait_until([&rt] { return rt.stats().blocking_threads == 3; });
  EXPECT_EQ(rt.spawn_blocking([] { return 1; }).join(), 1);
  EXPECT_GE(rt.stats().blocking_threads, 3U);
}

// Scenario 16: both workers blocked in user code, until both are reported.
TEST(blocking, stuck_workers_are_reported_and_timers_still_fire) {
  runtime_options o = with_workers(2);
  o.watchdog = 20ms;
  runtime rt(o);
  ::testing::internal::CaptureStderr();
  struct body {
    static task<> timer() { co_await sleep_for(1ms); }
    static task<> stuck(std::latch& both, runtime& r) {
      both.arrive_and_wait();
      wait_until([&r] { return r.stats().total_stalls >= 2; });
      co_return;
    }
  };
  std::latch both(2);
  auto timer = rt.spawn(body::timer());
  auto first = rt.spawn(body::stuck(both, rt));
  auto second = rt.spawn(body::stuck(both, rt));
  first.join();
  second.join();
  timer.join();
  rt.shutdown(1h);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("worker 0 has run task"), std::string::npos) << said;
  EXPECT_NE(said.find("worker 1 has run task"), std::string::npos) << said;
}

/// The blocked task keeps its thread, another thread plays its worker, and the report says so.
TEST(blocking, dump_shows_no_task_for_a_worker_taken_over_by_another_thread) {
  runtime_options o = with_workers(1);
  o.blocking.max_threads = 1;
  runtime rt(o);
  auto occupant = rt.spawn_blocking([&rt] { wait_until([&rt] { return rt.stats().total_shortages == 1; }); });
  auto blocks = rt.spawn([&rt]() -> task<std::string> {
    std::atomic<bool> child_ran{false};
    auto child = spawn([&child_ran]() -> task<> {
      child_ran = true;
      co_return;
    });
    const std::uint64_t parks = rt.stats().workers[0].times_parked;
    std::string report = block_in_place([&] {
      wait_until([&] { return child_ran && rt.stats().workers[0].times_parked != parks; });
      return rt.dump();
    });
    co_await child;
    co_return report;
  });
  const std::string report = join_on_worker(std::move(blocks));
  EXPECT_NE(report.find("runs nothing"), std::string::npos) << report;
  occupant.join();
}

}  // namespace
}  // namespace rota::test::blocking_test
