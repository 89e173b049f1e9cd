// What a runtime reports of tasks in trouble: on standard error and in its statistics.
#include "runtime/report_limit.hpp"

#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/testing/runtime.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace rota::reports_test {
namespace {

using namespace std::chrono_literals;

runtime_options with_workers(unsigned n) {
  runtime_options o;
  o.workers = n;
  return o;
}

task<> guarded() {
  this_task::set_name("guarded");
  const auto guard = shield(1s);
  co_await sleep_until(std::chrono::steady_clock::time_point::max());
}

TEST(reports, a_shield_whose_limit_passes_is_named) {
  ::testing::internal::CaptureStderr();
  testing::virtual_clock clock;
  runtime rt(with_workers(1), clock);
  auto early = rt.spawn([]() -> task<> {
    auto held = spawn(guarded());  // behind this task, on the only worker
    held.cancel();
    const outcome<void> end = co_await held.result();
    EXPECT_TRUE(end.is_cancelled());
  });
  early.join();
  EXPECT_EQ(rt.stats().total_shields_overridden, 0U) << "cancelled before it began: no shield was up";
  auto later = rt.spawn([]() -> task<> {
    auto child = spawn(guarded());
    co_await yield();
    child.cancel();
    const outcome<void> end = co_await child.result();
    EXPECT_TRUE(end.is_cancelled());
  });
  later.join();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(rt.stats().total_shields_overridden, 1U);
  EXPECT_NE(text.find("'guarded', last awaited at "), std::string::npos) << text;
  EXPECT_NE(text.find("reports_test.cpp:"), std::string::npos) << text;
}

task<> fails() {
  const bool yes = true;
  if (yes) throw std::runtime_error("no");
  co_return;
}

TEST(reports, suppressed_exception_is_counted) {
  runtime rt(with_workers(1));
  // All have begun when the first one fails. A task that had not begun would be discarded, without exception.
  const auto fails_later = []() -> task<> {
    co_await yield();
    co_await fails();
  };
  auto both = rt.spawn([&]() -> task<> { co_await when_all(fails_later(), fails_later(), fails_later()); });
  EXPECT_THROW(both.join(), std::runtime_error);
  EXPECT_EQ(rt.stats().total_suppressed + rt.stats().total_cancelled, 2U);
  EXPECT_EQ(rt.stats().total_unhandled, 0U);
}

// --- dump() from inside of a task

bool lists(const std::string& text, const char* name) {
  return text.find('\'' + std::string(name) + '\'') != std::string::npos;
}

/// A task has its name in reports once it has suspended.
task<std::string> named(const char* name) {
  this_task::set_name(name);
  while (!lists(dump(), name)) co_await yield();
  co_return dump();
}

TEST(reports, dump_is_of_the_runtime_of_the_task_that_calls_it) {
  const auto text = run([]() -> task<std::string> {
    auto said = co_await named("the root");
    auto seen = spawn(named("on a worker"));
    said += co_await seen;
    said += spawn_blocking([] { return dump(); }).join();
    said += block_in_place([] { return dump(); });
    co_return said;
  });
  EXPECT_TRUE(lists(text, "the root")) << text;
  EXPECT_TRUE(lists(text, "on a worker")) << text;
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find("rota runtime: ", at)) != std::string::npos; ++at) ++times;
  EXPECT_EQ(times, 4U) << text;
}

TEST(reports, dump_is_of_the_inner_one_of_two_runtimes) {
  runtime outer(with_workers(1));
  const auto text = outer.spawn_blocking([] { return run(named("inside"), with_workers(1)); }).join();
  EXPECT_TRUE(lists(text, "inside")) << text;
  auto held = outer.spawn(named("outside"));
  EXPECT_FALSE(lists(held.join(), "inside"));
}

// The worker is inside of a task that does not return, so the joining thread runs the other task.
TEST(reports, dump_in_a_helping_join_is_of_the_runtime_of_the_task) {
  runtime rt(with_workers(1));
  std::binary_semaphore inside(0);
  std::binary_semaphore go(0);
  auto holder = rt.spawn([&]() -> task<> {
    inside.release();
    go.acquire();
    co_return;
  });
  inside.acquire();
  EXPECT_TRUE(lists(rt.spawn(named("helped")).join(help), "helped"));
  go.release();
  holder.join();
}

TEST(reports, dump_of_a_testing_runtime_is_its_own) {
  testing::runtime rt;
  const auto texts = rt.block_on([&rt]() -> task<std::pair<std::string, std::string>> {
    const auto mine = co_await named("here");
    co_return std::pair<std::string, std::string>(mine, rt.dump());
  });
  EXPECT_TRUE(lists(texts.first, "here")) << texts.first;
  EXPECT_EQ(texts.first, texts.second);
}

errc refusal_of_dump() {
  try {
    static_cast<void>(dump());
  } catch (const error& e) {
    return static_cast<errc>(e.code().value());
  }
  return errc{};
}

TEST(reports, dump_outside_of_a_runtime_is_refused) {
  const auto asks = []() -> task<errc> { co_return refusal_of_dump(); };
  EXPECT_EQ(refusal_of_dump(), errc::no_runtime);
  EXPECT_EQ(core::run_on_this_thread(asks(), nullptr), errc::no_runtime);
  pool::thread_pool pool;
  EXPECT_EQ(pool.submit(refusal_of_dump).fetch().value(), errc::no_runtime);
  EXPECT_EQ(pool.submit(asks()).fetch().value(), errc::no_runtime);
}

TEST(reports, a_task_that_stays_in_user_code_is_named) {
  ::testing::internal::CaptureStderr();
  runtime_options o = with_workers(1);
  o.watchdog = 5ms;
  runtime rt(o);
  rt.spawn([&rt]() -> task<> {
      this_task::set_name("stubborn");
      co_await sleep_for(1ms);
      const std::uint64_t before = rt.stats().total_stalls;
      while (rt.stats().total_stalls == before) std::this_thread::yield();
    }).join();
  rt.shutdown(1h);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("rota: worker 0 has run task "), std::string::npos) << text;
  EXPECT_NE(text.find(" 'stubborn' for "), std::string::npos) << text;
  EXPECT_NE(text.find("; it last awaited at runtime/reports_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("; it was spawned at runtime/reports_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("; move blocking work to spawn_blocking()"), std::string::npos) << text;
  EXPECT_NE(text.find("rota: worker 0 has left task "), std::string::npos) << text;
}

/// Redirects standard error to `other` during its life, or closes it if `other` is -1.
class standard_error {
 public:
  explicit standard_error(int other) : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    std::fflush(stderr);
    EXPECT_EQ(other == -1 ? ::close(STDERR_FILENO) : ::dup2(other, STDERR_FILENO),
              other == -1 ? 0 : STDERR_FILENO);
  }
  standard_error(const standard_error&) = delete;
  standard_error& operator=(const standard_error&) = delete;
  ~standard_error() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

// The task itself reads its reports: it blocks until the watchdog has reported that it still runs.
TEST(reports, a_task_that_stays_for_long_is_named_again) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::string text;
  const auto read_until = [&](const char* words) {
    char more[512];
    while (text.find(words) == std::string::npos) {
      const ssize_t got = ::read(ends[0], more, sizeof more);
      if (got <= 0) return;
      text.append(more, static_cast<std::size_t>(got));
    }
  };
  {
    const standard_error said(ends[1]);
    runtime_options o = with_workers(1);
    o.watchdog = 5ms;
    runtime rt(o);
    rt.spawn([&]() -> task<> {
        this_task::set_name("blocked");
        read_until("still runs task ");
        co_return;
      }).join();
    read_until("has left task ");
    rt.shutdown(1h);
    EXPECT_EQ(rt.stats().total_stalls, 1U) << "one poll";
  }
  EXPECT_NE(text.find("; it is blocked in a system call)"), std::string::npos) << text;
  EXPECT_EQ(text.find("it last awaited"), std::string::npos) << "it never did: " << text;
  EXPECT_NE(text.find("; it was spawned at runtime/reports_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("rota: worker 0 still runs task "), std::string::npos) << text;
  ::close(ends[0]);
  ::close(ends[1]);
}

void fail_with_nobody_to_tell(int other) {
  runtime_options o = with_workers(2);
  o.on_unhandled = unhandled_policy::report;
  runtime rt(o);
  const standard_error unheard(other);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    rt.spawn(fails()).detach();
    while (rt.stats().total_unhandled < i) std::this_thread::yield();
  }
  EXPECT_EQ(rt.spawn([]() -> task<int> { co_return 3; }).join(), 3) << "workers go on";
}

TEST(reports, a_standard_error_that_is_full_or_closed_changes_nothing) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_NE(full, -1);
  fail_with_nobody_to_tell(full);
  ::close(full);
  fail_with_nobody_to_tell(-1);
}

TEST(reports, at_most_five_lines_a_minute_are_reported) {
  detail::report_limit limit;
  const base::time_point begin(1h);
  for (int minute = 0; minute < 3; ++minute) {
    for (unsigned i = 0; i < 5; ++i) EXPECT_TRUE(limit.admits(begin + minute * 60s));
    EXPECT_FALSE(limit.admits(begin + minute * 60s));
    EXPECT_FALSE(limit.admits(begin + minute * 60s + 59s));
  }
}

}  // namespace
}  // namespace rota::reports_test
