// Tasks that block, runtimes beside and inside of one another.
//
//  scenario 16  every worker blocks               both_workers_block_and_the_reports_are_limited
//  scenario 17  block_on inside a task            block_on_in_a_task_is_refused_except_inside_block_in_place
//  scenario 18  two runtimes                      each_task_resumes_on_a_thread_of_its_own_runtime,
//                                                 runtime_works_inside_a_task_of_another_runtime,
//                                                 runtimes_destroyed_in_any_order_end_joins_between_them
//  row 10       joins that go deep                joins_that_go_deep_need_no_deep_stack, unit: blocking.*
//  row 14       B's waker fired on a worker of A  each_task_resumes_on_a_thread_of_its_own_runtime
//  row 16       a worker that stays in user code  task_queued_behind_a_busy_worker_is_stolen
#include "api/scenario_support.hpp"

#include <rota/rota.hpp>

#include <pthread.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <vector>

namespace rota::test {
namespace {

std::size_t lines_with(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

// Eight times a task is stuck until the watchdog has reported it, or would have; two hold both workers.
TEST(scenario_blocking, both_workers_block_and_the_reports_are_limited) {
  runtime_options o = with_workers(2);
  o.watchdog = 200ms;  // long: on a busy machine only stuck tasks count as stalled
  runtime rt(o);
  struct body {
    static task<int> naps(int n) {
      co_await sleep_for(1ms);
      co_return n;
    }
    static task<> stuck(std::latch& both, runtime& r, std::uint64_t until) {
      both.arrive_and_wait();
      wait_until([&r, until] { return r.stats().total_stalls >= until; });
      co_return;
    }
  };
  testing::internal::CaptureStderr();
  std::vector<join_handle<int>> timers;
  for (int i = 0; i < 100; ++i) timers.push_back(rt.spawn(body::naps(i)));
  for (std::uint64_t stalls = 2; stalls <= 8; stalls += 2) {
    std::latch both(2);
    auto first = rt.spawn(body::stuck(both, rt, stalls));
    auto second = rt.spawn(body::stuck(both, rt, stalls));
    first.join();
    second.join();
  }
  int in_order = 0;
  for (auto& h : timers) in_order += h.join() == in_order ? 1 : 0;
  EXPECT_EQ(in_order, 100) << "timers came late, and none was lost";
  rt.shutdown(1h);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(rt.stats().total_stalls, 8U);
  EXPECT_EQ(lines_with(said, "without a suspension"), 5U) << said;
  EXPECT_GE(lines_with(said, "rota: worker 0 has run task "), 1U) << said;
  EXPECT_GE(lines_with(said, "rota: worker 1 has run task "), 1U) << said;
}

TEST(scenario_blocking, task_queued_behind_a_busy_worker_is_stolen) {
  runtime rt(with_workers(2));
  std::binary_semaphore ran(0);
  struct body {
    static task<> child(std::binary_semaphore& s) {
      s.release();
      co_return;
    }
    static task<double> stays(std::binary_semaphore& s) {
      const auto began = std::chrono::steady_clock::now();
      spawn(child(s)).detach();
      s.acquire();  // in user code until the child has run
      co_return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
    }
  };
  const double waited = rt.spawn(body::stays(ran)).join();
  EXPECT_EQ(rt.stats().total_stolen, 1U);
  wait_until([&rt] { return rt.stats().total_ripened >= 1; });  // counted after the other worker may take it
  std::printf("taken away after %.2f ms\n", waited);
}

TEST(scenario_blocking, block_on_in_a_task_is_refused_except_inside_block_in_place) {
  runtime rt(with_workers(1));
  struct body {
    static task<int> tries(runtime& r) {
      try {
        r.block_on(number(1));
        ADD_FAILURE() << "inside a task";
      } catch (const error& e) {
        EXPECT_EQ(code_of(e), errc::nested_block_on);
      }
      // Its only worker waits here; what is spawned inside runs nevertheless.
      const int got = block_in_place([&r] {
        auto there = r.spawn(number(20));
        return r.block_on(number(1)) + there.join();
      });
      co_return got;
    }
  };
  EXPECT_EQ(rt.spawn(body::tries(rt)).join(), 21);
  EXPECT_EQ(rt.block_on(body::tries(rt)), 21);
  EXPECT_EQ(rt.stats().total_shortages, 0U);
}

// --- deep joins

template <class F>
void on_a_thread_with_stack(std::size_t bytes, F f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread{};
  const auto entry = [](void* data) -> void* {
    (*static_cast<F*>(data))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &f), 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

// Joins with `co_await`: no thread blocks, and the native stack does not grow.
TEST(scenario_blocking, joins_that_go_deep_need_no_deep_stack) {
  constexpr int deep = sanitized ? 10'000 : 100'000;
  struct body {
    static task<int> chain(int left) {
      if (left == 0) co_return 0;
      auto next = spawn(chain(left - 1));
      const int below = co_await next;
      co_return below + 1;
    }
  };
  runtime rt(with_workers(1));
  EXPECT_EQ(rt.spawn(body::chain(deep)).join(), deep);
  on_a_thread_with_stack(256 * 1024, [&] { EXPECT_EQ(rt.block_on(body::chain(deep)), deep); });
}

// --- two runtimes

task<std::thread::id> where() { co_return std::this_thread::get_id(); }

TEST(scenario_blocking, each_task_resumes_on_a_thread_of_its_own_runtime) {
  runtime a(with_workers(1));
  runtime b(with_workers(1));
  const std::thread::id of_a = a.spawn(where()).join();
  const std::thread::id of_b = b.spawn(where()).join();
  ASSERT_NE(of_a, of_b);
  struct body {
    static task<int> waits(event& e, std::thread::id home) {
      EXPECT_EQ(std::this_thread::get_id(), home);
      co_await e();
      EXPECT_EQ(std::this_thread::get_id(), home);
      co_await sleep_for(1us);
      EXPECT_EQ(std::this_thread::get_id(), home);
      co_return 1;
    }
    static task<> fires(event& e, std::thread::id home) {
      EXPECT_EQ(std::this_thread::get_id(), home);
      e.fire();
      co_return;
    }
    static task<int> joins(join_handle<int> other, std::thread::id home) {
      const int got = co_await other;
      EXPECT_EQ(std::this_thread::get_id(), home) << "its joined task ended elsewhere";
      co_return got;
    }
  };
  for (int i = 0; i < 500; ++i) {
    event for_a;
    event for_b;
    auto in_a = a.spawn(body::waits(for_a, of_a));
    auto in_b = b.spawn(body::waits(for_b, of_b));
    auto joins_b = a.spawn(body::joins(std::move(in_b), of_a));
    auto joins_a = b.spawn(body::joins(std::move(in_a), of_b));
    // Each wakes the other runtime's task.
    auto from_b = b.spawn(body::fires(for_a, of_b));
    auto from_a = a.spawn(body::fires(for_b, of_a));
    ASSERT_EQ(joins_a.join() + joins_b.join(), 2);
    from_a.join();
    from_b.join();
  }
}

TEST(scenario_blocking, runtime_works_inside_a_task_of_another_runtime) {
  runtime outer(with_workers(1));
  struct body {
    static task<int> inside(runtime_handle around) {
      const int got = block_in_place([&around] {
        runtime inner(with_workers(1));
        // A task of `inner` awaits one of `outer`. The only worker of `outer` is here; it lends its role.
        return inner.block_on(adds(around.spawn(number(20))));
      });
      co_return got;
    }
    static task<int> adds(join_handle<int> other) {
      const int got = co_await other;
      auto own = spawn(number(1));
      const int more = co_await own;
      co_return got + more;
    }
  };
  EXPECT_EQ(outer.spawn(body::inside(outer.handle())).join(), 21);
}

task<> waits_for(join_handle<void> other) { co_await other; }

TEST(scenario_blocking, runtimes_destroyed_in_any_order_end_joins_between_them) {
  for (int round = 0; round < (sanitized ? 20 : 100); ++round) {
    std::atomic<int> ended = 0;
    auto a = std::make_unique<runtime>(with_workers(2));
    auto b = std::make_unique<runtime>(with_workers(2));
    auto in_a = a->spawn(waits_for(b->spawn(sleep_forever(witness(ended)))));
    auto in_b = b->spawn(waits_for(a->spawn(sleep_forever(witness(ended)))));
    if (round % 3 != 2) {
      (round % 3 == 0 ? a : b).reset();
    } else {
      // Both at once, each with tasks that wait for the other's.
      std::thread other([&a] { a.reset(); });
      b.reset();
      other.join();
    }
    EXPECT_THROW(in_a.join(), cancelled_error);
    EXPECT_THROW(in_b.join(), cancelled_error);
    a.reset();
    b.reset();
    ASSERT_EQ(ended, 2);
  }
}

}  // namespace
}  // namespace rota::test
