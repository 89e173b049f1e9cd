// The end of a runtime, in every circumstance.
#include "support/sanitized.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/error.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace rota::test::shutdown_test {
namespace {

task<int> number(int n) { co_return n; }

class threadsafe_deaths : public ::testing::Test {
 protected:
  threadsafe_deaths() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};
using shutdown_death_test = threadsafe_deaths;

task<> destroy(runtime*& rt) {
  delete rt;
  co_return;
}

TEST_F(shutdown_death_test, runtime_destroyed_on_its_own_worker_aborts) {
  const auto crash = [] {
    auto* rt = new runtime(with_workers(2));
    rt->spawn(destroy(rt)).join();
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "runtime destroyed on its own worker");
}

TEST_F(shutdown_death_test, runtime_destroyed_in_a_task_that_lent_its_role_aborts) {
  const auto crash = [] {
    auto* rt = new runtime(with_workers(1));
    struct body {
      static task<> lend_and_destroy(runtime*& r) {
        block_in_place([] {});
        delete r;
        co_return;
      }
    };
    rt->spawn(body::lend_and_destroy(rt)).join();
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "runtime destroyed on its own worker");
}

TEST_F(shutdown_death_test, runtime_destroyed_in_the_root_of_its_own_block_on_aborts) {
  const auto crash = [] {
    auto* rt = new runtime(with_workers(1));
    rt->block_on(destroy(rt));
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "runtime destroyed on its own worker");
}

/// A blocking section or a runtime inside of another one: the outermost task waits for this thread.
enum class nest : std::uint8_t { section_in_section, other_runtime, closure_and_other_runtime };

task<> destroy_from(runtime*& r, nest how) {
  const auto inside = [&] {
    if (how == nest::section_in_section) {
      block_in_place([&] { delete r; });
    } else {
      run(destroy(r));
    }
  };
  block_in_place(inside);
  co_return;
}

void destroy_in_depth(nest how) {
  auto* rt = new runtime(with_workers(1));
  if (how == nest::closure_and_other_runtime) {
    rt->spawn_blocking([&] { rt->block_on(destroy_from(rt, how)); }).join();
  } else {
    rt->spawn(destroy_from(rt, how)).join();
  }
}

TEST_F(shutdown_death_test, runtime_destroyed_inside_nested_sections_aborts) {
  for (const nest how : {nest::section_in_section, nest::other_runtime, nest::closure_and_other_runtime}) {
    const auto crash = [how] { destroy_in_depth(how); };
    EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "runtime destroyed on its own worker");
  }
}

task<> throws() {
  throw std::runtime_error("nobody takes me");
  co_return;
}

TEST_F(shutdown_death_test, unhandled_exception_aborts) {
  const auto crash = [] {
    runtime rt(with_workers(1));
    rt.spawn(throws()).detach();
    wait_until([] { return false; });
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "unhandled exception in task .*nobody takes me");
}

TEST_F(shutdown_death_test, thread_hook_that_throws_aborts) {
  const auto crash = [] {
    runtime_options o = with_workers(1);
    o.blocking.on_thread_start = [](unsigned) { throw std::runtime_error("a hook threw"); };
    runtime rt(o);
    wait_until([] { return false; });
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "a hook threw");
}

TEST(unhandled, policy_report_keeps_the_workers_running) {
  runtime_options o = with_workers(1);
  o.on_unhandled = unhandled_policy::report;
  runtime rt(o);
  ::testing::internal::CaptureStderr();
  rt.spawn(throws()).detach();
  wait_until([&rt] { return rt.stats().total_unhandled == 1; });
  EXPECT_EQ(rt.spawn(number(5)).join(), 5);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("nobody takes me"), std::string::npos);
}

TEST(unhandled, exception_rethrown_by_join_is_not_counted) {
  runtime rt(with_workers(1));
  EXPECT_THROW(rt.spawn(throws()).join(), std::runtime_error);
  EXPECT_EQ(rt.spawn(number(5)).join(), 5);
  EXPECT_EQ(rt.stats().total_unhandled, 0U);
}

TEST(shutdown, a_spawn_after_it_gives_a_cancelled_handle) {
  std::atomic<int> ended = 0;
  runtime rt(with_workers(1));
  rt.shutdown(0s);
  auto handle = rt.spawn(sleep_forever(witness(ended)));
  EXPECT_TRUE(handle.is_done());
  EXPECT_EQ(ended.load(), 1) << "its arguments went before spawn returned";
  EXPECT_THROW(handle.join(), cancelled_error);
  auto blocking = rt.spawn_blocking([mine = witness(ended)] { ADD_FAILURE() << "it must not begin"; });
  EXPECT_TRUE(blocking.is_done());
  EXPECT_THROW(rt.block_on(number(1)), cancelled_error);
}

TEST(shutdown, it_is_idempotent_and_reports_once) {
  std::atomic<int> ended = 0;
  runtime rt(with_workers(2));
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 10; ++i) all.push_back(rt.spawn(sleep_forever(witness(ended))));
  const shutdown_report first = rt.shutdown(0s);
  EXPECT_EQ(first.cancelled, 10U);
  EXPECT_EQ(first.drained, 0U);
  EXPECT_TRUE(first.survivors.empty());
  EXPECT_EQ(ended.load(), 10);
  const shutdown_report second = rt.shutdown(1h);
  EXPECT_EQ(second.cancelled, 0U);
  for (auto& h : all) EXPECT_THROW(h.join(), cancelled_error);
}

TEST(shutdown, a_closure_that_does_not_return_is_reported_and_not_waited_for) {
  std::binary_semaphore go(0);
  std::binary_semaphore began(0);
  std::optional<join_handle<void>> handle;
  {
    runtime rt(with_workers(1));
    handle = rt.spawn_blocking([&] {
      this_task::set_name("stubborn");
      began.release();
      go.acquire();
    });
    began.acquire();
    const shutdown_report report = rt.shutdown(1ms);
    ASSERT_EQ(report.survivors.size(), 1U);
    EXPECT_EQ(report.survivors[0].name, "stubborn");
  }
  go.release();
  handle->join();
}

TEST(shutdown, closure_that_ends_within_the_grace_is_waited_for) {
  std::binary_semaphore began(0);
  std::atomic<bool> done = false;
  runtime rt(with_workers(1));
  rt.spawn_blocking([&] {
      began.release();
      std::this_thread::sleep_for(20ms);
      done = true;
    }).detach();
  began.acquire();
  EXPECT_TRUE(rt.shutdown(1h).survivors.empty());
  EXPECT_TRUE(done.load());
}

TEST(shutdown, running_closure_sees_the_cancel_and_queued_ones_never_begin) {
  runtime_options o = with_workers(1);
  o.blocking.max_threads = 1;
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  runtime rt(o);
  auto first = rt.spawn_blocking([&begun] {
    ++begun;
    wait_until([] { return this_task::cancel_requested(); });
  });
  wait_until([&begun] { return begun == 1; });
  auto second = rt.spawn_blocking([&begun, mine = witness(ended)] { ++begun; });
  rt.shutdown(1h);
  first.join();
  EXPECT_THROW(second.join(), cancelled_error);
  EXPECT_EQ(begun.load(), 1);
  EXPECT_EQ(ended.load(), 1);
}

// Scenario 15: each spawned task runs or is refused. None is lost, and its arguments are destroyed once.
TEST(shutdown, spawns_that_race_with_it_run_or_are_refused) {
  constexpr int rounds = 50;
  constexpr int per_round = 40;
  std::atomic<int> ended = 0;
  int values = 0;
  int refused = 0;
  for (int r = 0; r < rounds; ++r) {
    auto rt = std::make_unique<runtime>(with_workers(2));
    std::atomic<int> spawned = 0;
    std::thread foreign([&, handle = rt->handle()] {
      struct body {
        static task<int> hold(witness /*mine*/, int n) { co_return n; }
      };
      for (int i = 0; i < per_round; ++i) {
        const bool blocking = i % 4 == 3;
        auto h = blocking ? handle.spawn_blocking([mine = witness(ended), i] { return i; })
                          : handle.spawn(body::hold(witness(ended), i));
        ++spawned;
        try {
          EXPECT_EQ(h.join(), i);
          ++values;
        } catch (const cancelled_error&) {
          ++refused;
        }
      }
    });
    wait_until([&] { return spawned > r % 20; });
    rt.reset();
    foreign.join();
  }
  EXPECT_EQ(values + refused, rounds * per_round);
  EXPECT_EQ(ended.load(), rounds * per_round);
}

TEST(shutdown, thousand_runtimes_leak_no_thread_and_no_descriptor) {
  {
    const runtime once(with_workers(2));
  }
  const std::size_t threads = threads_of_process();
  const std::size_t files = open_files();
  for (int i = 0; i < 1'000; ++i) {
    runtime rt(with_workers(2));
    if (i % 2 == 0) {
      EXPECT_EQ(rt.spawn(number(i)).join(), i);
    }
  }
  EXPECT_EQ(open_files(), files);
  // A joined thread may stay listed for a moment.
  test::wait_until([threads] { return threads_of_process() <= threads; });
}

task<int> await_other(join_handle<int> other) { co_return co_await other; }

/// Scenario 18.
void two_runtimes(bool first_dies_first) {
  auto a = std::make_unique<runtime>(with_workers(1));
  auto b = std::make_unique<runtime>(with_workers(1));
  EXPECT_EQ(a->spawn(await_other(b->spawn(number(4)))).join(), 4);
  EXPECT_EQ(b->spawn(await_other(a->spawn(number(5)))).join(), 5);
  struct body {
    static task<int> never(int n) {
      co_await sleep_for(std::chrono::hours(1'000'000));
      co_return n;
    }
  };
  auto waits_in_a = a->spawn(await_other(b->spawn(body::never(1))));
  auto waits_in_b = b->spawn(await_other(a->spawn(body::never(2))));
  (first_dies_first ? a : b).reset();
  EXPECT_THROW(waits_in_a.join(), cancelled_error);
  EXPECT_THROW(waits_in_b.join(), cancelled_error);
  (first_dies_first ? b : a).reset();
}

TEST(shutdown, mutual_awaits_of_two_runtimes_end_if_the_first_is_destroyed_first) { two_runtimes(true); }
TEST(shutdown, mutual_awaits_of_two_runtimes_end_if_the_second_is_destroyed_first) { two_runtimes(false); }

// Row 26: the waker, the handle and the runtime's handle are destroyed after the runtime, in every order.
TEST(shutdown, handles_may_outlive_the_runtime) {
  std::atomic<int> ended = 0;
  std::optional<join_handle<void>> handle;
  std::optional<runtime_handle> outside;
  {
    runtime rt(with_workers(2));
    handle = rt.spawn(sleep_forever(witness(ended)));
    outside.emplace(rt.handle());
  }
  EXPECT_EQ(ended.load(), 1);
  EXPECT_THROW(outside->spawn(number(1)).join(), cancelled_error);
  EXPECT_THROW(handle->join(), cancelled_error);
  handle.reset();
  const runtime_handle copy(*outside);
  outside.reset();
  EXPECT_THROW(copy.spawn(number(2)).join(), cancelled_error);
}

TEST(shutdown, spawn_in_a_forked_child_is_refused_and_destruction_is_safe) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find the sanitizer's own lock taken";
  auto rt = std::make_unique<runtime>(with_workers(1));
  EXPECT_EQ(rt->spawn(number(1)).join(), 1);
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    int code = 1;
    try {
      rt->spawn(number(2)).detach();
    } catch (const error& e) {
      code = e.code() == errc::forked ? 0 : 2;
    }
    rt.reset();
    ::_exit(code);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(rt->spawn(number(3)).join(), 3) << "the parent goes on";
}

}  // namespace
}  // namespace rota::test::shutdown_test
