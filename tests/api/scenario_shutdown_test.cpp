// The end of a runtime while tasks are in every state.
//
//  scenario 13  destroyed in one of its tasks       a_runtime_destroyed_on_its_own_worker_says_in_which_task
//  scenario 14  spawn after the shutdown began      every_spawn_function_refuses_after_the_shutdown_began
//  scenario 15  foreign spawns during ~runtime
//          spawns_of_foreign_threads_run_or_are_refused_during_shutdown
//  row 17       tasks in timers, sockets, joins     tasks_that_wait_for_anything_end,
//                                                   joining_thread_gets_cancelled_error
//  row 26       the last waker outlives everything  last_waker_may_fire_while_the_runtime_is_destroyed
#include "api/scenario_support.hpp"

#include <rota/cancel.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/scope.hpp>
#include <rota/when.hpp>

#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace rota::test {
namespace {

using scenario_death = deaths;

TEST_F(scenario_death, a_runtime_destroyed_on_its_own_worker_says_in_which_task) {
  const auto die = [] {
    auto* rt = new runtime(with_workers(2));
    struct body {
      static task<> destroys(runtime*& mine) {
        this_task::set_name("saw");
        delete mine;
        co_return;
      }
    };
    rt->spawn(body::destroys(rt)).join();
  };
  EXPECT_EXIT(die(), aborted, "runtime destroyed on its own worker\n.*std::terminate in task [0-9]+ 'saw'");
}

TEST(scenario_shutdown, every_spawn_function_refuses_after_the_shutdown_began) {
  std::atomic<int> ended = 0;
  std::atomic<int> ran = 0;
  std::atomic<bool> refused_inside = false;
  runtime rt(with_workers(1));
  const runtime_handle outside = rt.handle();
  struct body {
    static task<> runs(std::atomic<int>& count, witness /*mine*/) {
      ++count;
      co_return;
    }
    /// After a request to stop it spawns once more.
    static task<> spawns_late(std::atomic<int>& ran, std::atomic<int>& ended, std::atomic<bool>& refused) {
      const auto guard = shield(1h);
      co_await sleep_for(1us);  // known to the runtime from here on
      refused = true;
      while (!this_task::cancel_requested()) co_await yield();
      auto h = rota::spawn(runs(ran, witness(ended)));
      refused = h.is_done() && ended == 1;
    }
  };
  auto late = rt.spawn(body::spawns_late(ran, ended, refused_inside));
  wait_until([&refused_inside] { return refused_inside.exchange(false); });
  rt.shutdown(1h);
  EXPECT_NO_THROW(late.join());
  EXPECT_TRUE(refused_inside) << "cancelled already, and its arguments gone, before spawn had returned";

  auto direct = rt.spawn(body::runs(ran, witness(ended)));
  EXPECT_TRUE(direct.is_done());
  EXPECT_EQ(ended, 2);
  auto through_handle = outside.spawn(body::runs(ran, witness(ended)));
  EXPECT_TRUE(through_handle.is_done());
  EXPECT_EQ(ended, 3);
  auto closure = outside.spawn_blocking([&ran, mine = witness(ended)] { ++ran; });
  EXPECT_TRUE(closure.is_done());
  EXPECT_EQ(ended, 4);
  for (auto* h : {&direct, &through_handle, &closure}) {
    try {
      h->join();
      ADD_FAILURE() << "it was refused";
    } catch (const cancelled_error& e) {
      EXPECT_EQ(e.reason(), cancel_reason::shutdown);
    }
  }
  EXPECT_EQ(ran, 0);
}

TEST(scenario_shutdown, spawns_of_foreign_threads_run_or_are_refused_during_shutdown) {
  constexpr int rounds = sanitized ? 20 : 100;
  constexpr int each = 50;
  std::atomic<int> ended = 0;
  std::atomic<int> ran = 0;
  std::atomic<int> refused = 0;
  struct body {
    static task<> counts(std::atomic<int>& n, witness /*mine*/) {
      co_await yield();
      ++n;
    }
  };
  for (int r = 0; r < rounds; ++r) {
    auto rt = std::make_unique<runtime>(with_workers(2));
    std::atomic<int> spawned = 0;
    const auto work = [&, handle = rt->handle()](bool blocking) {
      for (int i = 0; i < each; ++i) {
        auto h = blocking ? handle.spawn_blocking([&ran, mine = witness(ended)] { ++ran; })
                          : handle.spawn(body::counts(ran, witness(ended)));
        ++spawned;
        const auto end = h.wait_for(1h);
        refused += end.has_value() && end->is_cancelled() ? 1 : 0;
      }
    };
    std::thread first(work, false);
    std::thread second(work, true);
    wait_until([&] { return spawned > r % each; });
    rt.reset();
    first.join();
    second.join();
  }
  EXPECT_EQ(ran + refused, rounds * each * 2);
  EXPECT_EQ(ended, rounds * each * 2) << "every argument went once";
}

// --- every kind of waiting

task<> naps(witness /*mine*/) { co_await sleep_for(std::chrono::hours(1'000'000)); }
task<> spins(witness /*mine*/) {
  for (;;) co_await yield();
}
task<> looks(witness /*mine*/) {
  for (;;) {
    co_await checkpoint();
    co_await yield();
  }
}
task<> accepts(witness /*mine*/) {
  auto listener = net::tcp_listener::bind(*net::endpoint::parse("127.0.0.1:0"));
  if (!listener.has_value()) throw error(errc::unsupported);
  const auto stream = co_await listener->accept();
  EXPECT_FALSE(stream.has_value()) << "nobody connects";
}
/// Both ends of one connection: neither sends anything.
task<> reads(std::atomic<int>& connected, witness /*mine*/) {
  auto listener = net::tcp_listener::bind(*net::endpoint::parse("127.0.0.1:0"));
  if (!listener.has_value()) throw error(errc::unsupported);
  const net::endpoint there = listener->local_endpoint().value();
  auto out = co_await net::tcp_stream::connect(there);
  auto in = co_await listener->accept();
  ++connected;
  std::array<std::byte, 8> buffer{};
  const auto got = co_await in->read(buffer);
  EXPECT_FALSE(got.has_value()) << "nobody writes";
}
task<> joins(join_handle<void> other, witness /*mine*/) { co_await other; }
task<> keeps_children(std::atomic<int>& ended, witness /*mine*/) {
  co_await with_scope([&ended](scope& s) -> task<> {
    for (int i = 0; i < 3; ++i) s.spawn(naps(witness(ended))).detach();
    co_return;
  });
}
task<> hides(std::atomic<bool>& hidden, witness /*mine*/) {
  const auto guard = shield(std::chrono::hours::max());
  hidden = true;
  co_await sleep_for(std::chrono::hours(1));
}

TEST(scenario_shutdown, tasks_that_wait_for_anything_end) {
  for (const unsigned workers : {1U, 2U}) {
    std::atomic<int> ended = 0;
    std::atomic<int> connected = 0;
    event never;
    std::atomic<bool> hidden = false;
    std::vector<join_handle<void>> all;
    const std::size_t files = open_files();
    {
      runtime rt(with_workers(workers));
      const auto add = [&](task<> t) { all.push_back(rt.spawn(std::move(t))); };
      add(naps(witness(ended)));
      add(spins(witness(ended)));
      add(looks(witness(ended)));
      add(wait_for(never, witness(ended)));
      add(reads(connected, witness(ended)));
      add(accepts(witness(ended)));
      add(joins(rt.spawn(naps(witness(ended))), witness(ended)));
      add(keeps_children(ended, witness(ended)));
      add(hides(hidden, witness(ended)));
      // 9 of them, the task that is joined, and 3 children.
      wait_until([&] {
        return rt.stats().alive_tasks == 13 && connected == 1 && never.is_awaited() && hidden.load();
      });
      wait_for_state(rt, "for children");
      const shutdown_report report = rt.shutdown(0s);
      EXPECT_EQ(report.cancelled, 13U);
      EXPECT_EQ(report.drained, 0U);
      EXPECT_TRUE(report.survivors.empty());
      EXPECT_EQ(ended, 13) << "every destructor has run, once";
    }
    for (auto& h : all) EXPECT_THROW(h.join(), cancelled_error);
    EXPECT_FALSE(never.is_awaited());
    EXPECT_EQ(open_files(), files);
  }
}

TEST(scenario_shutdown, tasks_that_never_ran_end_too) {
  std::atomic<int> ended = 0;
  std::binary_semaphore running(0);
  std::binary_semaphore go(0);
  std::vector<join_handle<void>> all;
  struct body {
    static task<> holds(std::binary_semaphore& runs, std::binary_semaphore& until) {
      runs.release();
      until.acquire();
      co_return;
    }
  };
  runtime rt(with_workers(1));
  auto holder = rt.spawn(body::holds(running, go));
  running.acquire();
  for (int i = 0; i < 100; ++i) all.push_back(rt.spawn(naps(witness(ended))));
  shutdown_report report;
  std::thread shutting_down([&] { report = rt.shutdown(1h); });
  // The shutdown has begun when a spawn is refused.
  int probes = 1;
  for (; !rt.spawn(naps(witness(ended))).is_done(); ++probes) std::this_thread::yield();
  go.release();
  shutting_down.join();
  EXPECT_NO_THROW(holder.join()) << "what was running came to its end";
  for (auto& h : all) EXPECT_THROW(h.join(), cancelled_error);
  EXPECT_EQ(report.cancelled, 100U + static_cast<unsigned>(probes));
  EXPECT_EQ(report.drained, 1U);
  EXPECT_EQ(ended, 100 + probes);
}

TEST(scenario_shutdown, joining_thread_gets_cancelled_error) {
  std::atomic<int> ended = 0;
  auto rt = std::make_unique<runtime>(with_workers(2));
  auto h = rt->spawn(naps(witness(ended)));
  std::thread joining([&h] { EXPECT_THROW(h.join(), cancelled_error); });
  rt.reset();
  joining.join();
  EXPECT_EQ(ended, 1);
}

// --- what outlives it

// A thread of the program fires the one waker of a task beside the end of the task's runtime. Meanwhile other
// threads may run the task to its end, destroy the runtime and free its memory.
TEST(scenario_shutdown, last_waker_may_fire_while_the_runtime_is_destroyed) {
  constexpr int rounds = sanitized ? 200 : 2'000;
  std::atomic<int> ended = 0;
  std::atomic<int> values = 0;
  struct body {
    static task<> waits(event& e, std::atomic<int>& n, witness /*mine*/) {
      co_await e();
      ++n;
    }
  };
  for (int r = 0; r < rounds; ++r) {
    event e;
    auto rt = std::make_unique<runtime>(with_workers(1));
    rt->spawn(body::waits(e, values, witness(ended))).detach();
    wait_until([&e] { return e.is_awaited(); });
    waker last = e.steal_waker();
    std::barrier together(2);
    std::thread waking([&] {
      together.arrive_and_wait();
      e.fire();
      last.wake();
    });
    together.arrive_and_wait();
    // Either side may be first. It computes, since on a loaded machine a yield lasts a whole time slice.
    volatile int computed = 0;
    while (computed < 50 * (r % 64)) {
      const int next = computed + 1;
      computed = next;
    }
    rt.reset();
    waking.join();
    ASSERT_EQ(ended, r + 1);
  }
  std::printf("%d of %d tasks came to their end first\n", values.load(), rounds);
}

}  // namespace
}  // namespace rota::test
