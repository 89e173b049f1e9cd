// Destroying a task that was never awaited or spawned reports it once, with the place of its coroutine.
#undef NDEBUG
#include <gtest/gtest.h>

#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace rota::test {
namespace never_awaited {
namespace {

using namespace std::chrono_literals;

task<int> child() { co_return 1; }
constexpr const char* here = "regress_never_awaited_test.cpp:";
task<> takes(task<int> inner) { static_cast<void>(co_await std::move(inner)); }
task<> ignores(task<int> /*inner*/) { co_return; }

/// Returns what `call` prints on stderr.
template <class F>
std::string printed_by(F call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

std::size_t reports_in(const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = text.find("never awaited"); at != std::string::npos;
       at = text.find("never awaited", at + 1))
    ++found;
  return found;
}

/// Without the watchdog, which has lines of its own on a slow machine.
void run_in_a_task(task<> work) { rota::run(std::move(work), {.workers = 1, .watchdog = {}}); }

TEST(a_task_that_is_never_awaited, is_reported_with_its_coroutine) {
  const std::string text = printed_by([] { [[maybe_unused]] const auto forgotten = child(); });
  EXPECT_EQ(reports_in(text), 1U) << text;
  EXPECT_NE(text.find(here), std::string::npos) << text;
  EXPECT_NE(text.find("child"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing of it has run"), std::string::npos) << text;
}

TEST(a_task_that_is_never_awaited, is_reported_with_the_task_that_destroyed_it) {
  const auto forgets = []() -> task<> {
    this_task::set_name("forgetful");
    co_await yield();
    [[maybe_unused]] const auto forgotten = child();
  };
  const std::string text = printed_by([&] { run_in_a_task(forgets()); });
  EXPECT_EQ(reports_in(text), 1U) << text;
  EXPECT_NE(text.find("'forgetful'"), std::string::npos) << text;
}

TEST(a_task_that_is_never_awaited, is_reported_when_overwritten_or_ignored_as_a_parameter) {
  const auto assigns = []() -> task<> {
    auto work = child();
    work = child();
    static_cast<void>(co_await std::move(work));
    co_await ignores(child());
  };
  const std::string text = printed_by([&] { run_in_a_task(assigns()); });
  EXPECT_EQ(reports_in(text), 2U) << text;
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_a_reported_task_contains_it) {
  const std::string text = printed_by([] { [[maybe_unused]] const auto forgotten = takes(child()); });
  EXPECT_EQ(reports_in(text), 1U) << text;
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_it_was_discarded) {
  const std::string text = printed_by([] {
    auto work = takes(child());
    std::move(work).discard();
    EXPECT_FALSE(work.valid());
    std::move(work).discard();
  });
  EXPECT_EQ(text, "");
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_a_pool_drops_the_job_that_holds_it) {
  const std::string text = printed_by([] {
    std::atomic<bool> runs{false};
    std::atomic<bool> may_end{false};
    pool::thread_pool p({.max_threads = 1, .queue_limit = 1, .on_full = pool::rejection::abort});
    auto busy = p.submit([&] {
      runs = true;
      while (!may_end) std::this_thread::yield();
    });
    while (!runs) std::this_thread::yield();
    auto cancelled = p.submit(takes(child()));
    EXPECT_ANY_THROW(static_cast<void>(p.submit(takes(child())))) << "refused";
    EXPECT_TRUE(cancelled.cancel());
    auto with_all = p.submit(takes(child()));
    static_cast<void>(p.cancel_all());
    EXPECT_FALSE(with_all.fetch().has_value());
    may_end = true;
    busy.wait();
    auto failed = p.submit([] { throw std::runtime_error("no"); });
    EXPECT_TRUE(failed.fetch().has_exception());
    auto after = p.submit(takes(child()), {.after = {failed.id()}});
    EXPECT_TRUE(after.fetch().has_exception());
  });
  EXPECT_EQ(text, "");
}

task<int> fails() {
  co_await yield();
  throw std::runtime_error("failed");
}
task<> both(task<int> first, task<int> second) {
  static_cast<void>(co_await std::move(first));
  static_cast<void>(co_await std::move(second));
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_the_task_that_has_it_as_a_parameter_has_failed) {
  const auto spawns = []() -> task<> {
    auto h = spawn(both(fails(), child()));
    auto end = h.result();
    const auto how = co_await end;
    EXPECT_TRUE(how.has_exception());
  };
  const auto forks = []() -> task<> {
    try {
      static_cast<void>(co_await when_all(both(fails(), child()), child()));
    } catch (const std::runtime_error&) {
    }
  };
  EXPECT_EQ(printed_by([&] { run_in_a_task(spawns()); }), "");
  EXPECT_EQ(printed_by([&] { run_in_a_task(forks()); }), "");
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_an_abandoned_generator_destroys_it) {
  const auto ahead = []() -> async_generator<int> {
    for (;;) {
      auto next = child();
      co_yield 1;
      co_yield co_await std::move(next);
    }
  };
  const auto leaves = [&]() -> task<> {
    auto all = ahead();
    static_cast<void>(co_await all.next());
  };
  const std::string text = printed_by([&] { run_in_a_task(leaves()); });
  EXPECT_EQ(text, "");
}

async_generator<int> fails_ahead(task<int> /*unused*/, bool at_once) {
  if (!at_once) co_yield 1;
  throw std::runtime_error("no more");
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_the_generator_that_keeps_it_fails) {
  const auto asks = []() -> task<> {
    for (const bool at_once : {true, false}) {
      auto all = fails_ahead(child(), at_once);
      try {
        while (true) static_cast<void>(co_await all.next());
      } catch (const std::runtime_error&) {
      }
    }
  };
  const std::string text = printed_by([&] { run_in_a_task(asks()); });
  EXPECT_EQ(text, "");
}

async_generator<int> ignores_and_ends(task<int> /*unused*/) { co_yield 1; }

TEST(a_task_that_is_never_awaited, is_reported_when_the_generator_that_keeps_it_ends) {
  const auto asks = []() -> task<> {
    auto all = ignores_and_ends(child());
    static_cast<void>(co_await all.next());
    static_cast<void>(co_await all.next());
  };
  const std::string text = printed_by([&] { run_in_a_task(asks()); });
  EXPECT_EQ(reports_in(text), 1U) << text;
}

TEST(a_task_that_was_awaited_or_spawned, is_not_reported) {
  const auto uses = []() -> task<> {
    static_cast<void>(co_await child());
    co_await takes(child());
    static_cast<void>(co_await when_all(child(), child()));
    static_cast<void>(co_await timeout(60s, child()));
    auto handle = spawn(child());
    static_cast<void>(co_await handle);
    auto first = child();
    const auto second = std::move(first);
    auto third = std::move(const_cast<task<int>&>(second));
    static_cast<void>(co_await std::move(third));
  };
  EXPECT_EQ(printed_by([&] { run_in_a_task(uses()); }), "");
}

TEST(a_task_that_is_never_awaited, is_not_reported_while_an_exception_unwinds) {
  const auto throws = [] {
    [[maybe_unused]] const auto work = takes(child());
    throw std::runtime_error("unwinds");
  };
  EXPECT_EQ(printed_by([&] { EXPECT_THROW(throws(), std::runtime_error); }), "");
}

TEST(a_task_that_is_never_awaited, is_not_reported_while_a_cancellation_unwinds) {
  std::atomic<bool> has_begun = false;
  const auto waits = [&has_begun]() -> task<> {
    [[maybe_unused]] const auto work = takes(child());
    has_begun = true;
    co_await sleep_for(1h);
  };
  const auto cancels = [&]() -> task<> {
    auto handle = spawn(waits());
    while (!has_begun) co_await yield();
    static_cast<void>(handle.cancel());
    static_cast<void>(co_await handle.result());
  };
  EXPECT_EQ(printed_by([&] { run_in_a_task(cancels()); }), "");
}

TEST(a_task_that_is_never_awaited, is_not_reported_when_the_library_does_not_begin_it) {
  const auto cancels = []() -> task<> {
    auto handle = spawn(takes(child()));
    static_cast<void>(handle.cancel());
    static_cast<void>(co_await handle.result());
    static_cast<void>(co_await timeout(0s, takes(child())));
    static_cast<void>(co_await when_any(child(), takes(child())));
    const auto fails = []() -> task<> {
      throw std::runtime_error("first");
      co_return;
    };
    try {
      static_cast<void>(co_await when_all(fails(), takes(child()), takes(child())));
    } catch (const std::runtime_error&) {
    }
  };
  EXPECT_EQ(printed_by([&] { run_in_a_task(cancels()); }), "");
}

}  // namespace
}  // namespace never_awaited
}  // namespace rota::test
