// Regression: exceptions that no caller could see, of pool jobs, pool handlers and mailbox handlers, were
// silent. One test for each row of the table in docs/failures.md.
#include <rota/gate/actor.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/pool/events.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/pool/watch.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/this_task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rota::unhandled_exception;
using rota::unhandled_from;
using rota::unhandled_policy;
using rota::pool::thread_pool;
using rota::pool::work_options;

/// The argument of the policy's function.
struct heard {
  unhandled_from from;
  std::uint64_t number;
  std::string name;
  std::string what;
};

std::mutex lock;
std::vector<heard> all;

const unhandled_policy note = unhandled_policy::callback([](const unhandled_exception& e) noexcept {
  const std::lock_guard guard(lock);
  all.push_back({e.from, e.number, std::string(e.name), e.what});
});

std::vector<heard> take_all() {
  const std::lock_guard guard(lock);
  return std::exchange(all, {});
}

[[noreturn]] void fail() { throw std::runtime_error("disk full"); }

/// Runs `body` on a pool, and returns what was reported until the pool has ended.
template <class F>
std::vector<heard> reports_of(F body) {
  static_cast<void>(take_all());
  {
    thread_pool pool({.max_threads = 2, .on_unhandled = note});
    body(pool);
  }
  return take_all();
}

// ---- jobs -------------------------------------------------------------------------------------------------

TEST(regress_unhandled, dropped_job_is_reported_once_with_id_and_name) {
  std::uint64_t id = 0;
  const auto found = reports_of([&id](thread_pool& pool) {
    id = pool.submit(fail, {.name = "import"}).id().value;
    pool.wait_idle();
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].from, unhandled_from::pool_job);
  EXPECT_EQ(found[0].number, id);
  EXPECT_EQ(found[0].name, "import");
  EXPECT_EQ(found[0].what, "disk full");
}

TEST(regress_unhandled, job_whose_handle_is_dropped_after_the_end_is_reported) {
  const auto found = reports_of([](thread_pool& pool) {
    auto kept = pool.submit(fail);
    kept.wait();
    pool.wait_idle();
    EXPECT_TRUE(take_all().empty());
  });
  EXPECT_EQ(found.size(), 1U);
}

TEST(regress_unhandled, fetched_job_is_not_reported) {
  const auto found = reports_of([](thread_pool& pool) {
    EXPECT_TRUE(pool.submit(fail).fetch().has_exception());
    rota::runtime runtime({.workers = 1});
    auto awaited = pool.submit(fail);
    const auto ask = [&]() -> rota::task<void> { co_await awaited; };
    EXPECT_THROW(runtime.block_on(ask()), std::runtime_error);
    auto looked_at = pool.submit(fail);
    const auto look = [&]() -> rota::task<void> {
      const auto end = co_await looked_at.result();
      EXPECT_TRUE(end.has_exception());
    };
    runtime.block_on(look());
  });
  EXPECT_TRUE(found.empty());
}

TEST(regress_unhandled, stored_result_is_reported_when_it_is_cleared_but_not_when_it_is_fetched) {
  const auto found = reports_of([](thread_pool& pool) {
    const work_options stored{.store_result = true};
    const auto first = pool.submit(fail, stored).id();
    const auto second = pool.submit(fail, stored).id();
    pool.wait_idle();
    EXPECT_TRUE(take_all().empty());
    EXPECT_TRUE(pool.fetch<void>(first).has_value());
    EXPECT_TRUE(take_all().empty());
    EXPECT_TRUE(pool.wait(second));
    EXPECT_EQ(pool.clear_results(), 1U);
  });
  EXPECT_EQ(found.size(), 1U);
}

TEST(regress_unhandled, only_the_last_attempt_is_reported) {
  const auto found = reports_of([](thread_pool& pool) {
    int runs = 0;
    pool.submit([&runs] { throw std::runtime_error(std::to_string(++runs)); }, {.retry = {.limit = 2}});
    pool.wait_idle();
    int tries = 0;
    pool.submit(
        [&tries] {
          if (++tries < 3) fail();
        },
        {.retry = {.limit = 2}});
    pool.wait_idle();
    EXPECT_EQ(tries, 3);
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "3");
}

TEST(regress_unhandled, dependency_failure_is_reported_once_at_its_root) {
  std::uint64_t root = 0;
  const auto found = reports_of([&root](thread_pool& pool) {
    auto first = pool.submit(fail, {.name = "root"});
    root = first.id().value;
    auto second = pool.submit([] {}, {.after = {first.id()}});
    pool.submit([] {}, {.after = {second.id()}});
    pool.wait_idle();
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].number, root);
}

TEST(regress_unhandled, cancelled_and_stopped_jobs_are_not_reported) {
  const auto found = reports_of([](thread_pool& pool) {
    std::atomic<bool> runs{false};
    const auto waits = [&runs] {
      runs = true;
      rota::pool::this_work::sleep_for(24h);
    };
    auto stopped = pool.submit(waits);
    auto blocked = pool.submit([] {}, {.after = {stopped.id()}});
    while (!runs) std::this_thread::yield();
    EXPECT_TRUE(blocked.cancel());
    auto follows = pool.submit([] {}, {.after = {stopped.id()}});
    EXPECT_TRUE(stopped.stop());
    follows.wait();
  });
  EXPECT_TRUE(found.empty());
}

TEST(regress_unhandled, cancelled_error_that_a_job_throws_itself_is_reported) {
  const auto found = reports_of([](thread_pool& pool) {
    static_cast<void>(
        pool.submit([] { throw rota::cancelled_error(rota::cancel_reason::user); }, {.store_result = true}));
    pool.wait_idle();
  });
  EXPECT_EQ(found.size(), 1U);
}

TEST(regress_unhandled, coroutine_job_and_its_detached_task_are_reported) {
  const auto found = reports_of([](thread_pool& pool) {
    const auto child = []() -> rota::task<void> {
      rota::this_task::set_name("child");
      co_await rota::yield();
      throw std::runtime_error("child");
    };
    pool.submit([&child]() -> rota::task<void> {
      static_cast<void>(rota::spawn(child()));
      co_await rota::yield();
      fail();
    });
    pool.wait_idle();
  });
  ASSERT_EQ(found.size(), 2U);
  const bool task_first = found[0].from == unhandled_from::task;
  EXPECT_EQ(found[task_first ? 0 : 1].name, "child");
  EXPECT_EQ(found[task_first ? 1 : 0].from, unhandled_from::pool_job);
}

TEST(regress_unhandled, failed_item_of_a_watch_is_reported_when_it_is_not_put_back) {
  int calls = 0;
  rota::pool::source<int> items(4);
  const auto found = reports_of([&](thread_pool& pool) {
    EXPECT_EQ(items.try_push(1), rota::pool::push_status::pushed);
    const auto body = [&calls](int&) {
      ++calls;
      fail();
    };
    const auto watching = rota::pool::watch_source(pool, items, body, {.most = 1, .returns = 2});
    pool.wait_idle();
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(found.size(), 1U);
}

// The handle goes while the job ends: either thread may be the last owner of the result.
TEST(regress_unhandled, each_failure_is_fetched_or_reported_whichever_owner_is_last) {
  constexpr int rounds = 2000;
  int fetched = 0;
  const auto found = reports_of([&fetched](thread_pool& pool) {
    for (int i = 0; i < rounds; ++i) {
      auto made = pool.submit(fail);
      if (i % 4 == 0) fetched += made.fetch().has_exception() ? 1 : 0;
      if (i % 4 == 1) made.wait();
    }
    pool.wait_idle();
  });
  EXPECT_EQ(fetched, rounds / 4);
  EXPECT_EQ(found.size(), static_cast<std::size_t>(rounds - fetched));
}

// ---- handlers of a pool -----------------------------------------------------------------------------------

TEST(regress_unhandled, failure_that_a_callback_receives_is_not_reported) {
  int told = 0;
  const auto found = reports_of([&told](thread_pool& pool) {
    pool.submit(fail, {.callback = [&told](const rota::pool::work_end& end) {
                  if (end.exception != nullptr) ++told;
                }});
    pool.wait_idle();
  });
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(found.empty());
}

TEST(regress_unhandled, callback_that_throws_is_reported) {
  std::uint64_t id = 0;
  const auto found = reports_of([&id](thread_pool& pool) {
    const auto callback = [](const rota::pool::work_end&) { throw std::runtime_error("callback"); };
    id = pool.submit([] {}, {.callback = callback}).id().value;
    pool.wait_idle();
    EXPECT_EQ(pool.stats().unhandled, 1U);
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].from, unhandled_from::pool_handler);
  EXPECT_EQ(found[0].name, "callback");
  EXPECT_EQ(found[0].number, id);
}

TEST(regress_unhandled, thread_hook_that_throws_is_reported) {
  static_cast<void>(take_all());
  {
    thread_pool pool({.max_threads = 1, .on_thread_start = [](unsigned) { fail(); }, .on_unhandled = note});
    pool.submit([] {}).wait();
  }
  const auto found = take_all();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "thread hook");
  EXPECT_EQ(found[0].number, 0U);
}

struct listener : rota::pool::observer {
  void error(const rota::pool::pool_error& what) override {
    ++errors;
    if (throws) throw std::runtime_error(what.from == rota::pool::error_from::work ? "of a job" : "other");
  }
  std::atomic<int> errors{0};
  bool throws = false;
};

TEST(regress_unhandled, observer_replaces_the_report_and_its_own_exception_is_reported) {
  for (const bool throws : {false, true}) {
    listener listens;
    listens.throws = throws;
    const auto found = reports_of([&listens](thread_pool& pool) {
      const auto subscribed = pool.subscribe(listens);
      pool.submit(fail);
      pool.wait_idle();
    });
    EXPECT_EQ(listens.errors, 1);
    ASSERT_EQ(found.size(), throws ? 1U : 0U);
    if (!throws) continue;
    EXPECT_EQ(found[0].name, "error");
    EXPECT_EQ(found[0].what, "of a job");
  }
}

TEST(regress_unhandled, pool_reports_on_standard_error_by_default_and_goes_on) {
  ::testing::internal::CaptureStderr();
  {
    thread_pool pool({.max_threads = 1});
    pool.submit(fail, {.name = "import"});
    pool.submit([] {}).wait();
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("'import': disk full"), std::string::npos);
}

TEST(regress_unhandled, pool_ends_the_program_if_its_policy_says_so) {
  const auto crash = [] {
    thread_pool pool({.max_threads = 1, .on_unhandled = unhandled_policy::terminate});
    pool.submit(fail);
    pool.wait_idle();
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGABRT), "unhandled exception in pool job .*disk full");
}

TEST(regress_unhandled, runtime_refuses_the_policy_of_a_pool_in_its_blocking_options) {
  rota::runtime_options options;
  options.blocking.on_unhandled = unhandled_policy::terminate;
  EXPECT_THROW(rota::runtime refused(options), std::invalid_argument);
}

// ---- mailboxes --------------------------------------------------------------------------------------------

/// Sends `messages` messages to a throwing handler, destroys the mailbox, and returns the reports until then.
std::vector<heard> reports_of_mailbox(rota::gate::on_error policy, int messages, bool reads_error) {
  static_cast<void>(take_all());
  {
    rota::gate::executor threads(1);
    const auto make = [] { return [](int) { fail(); }; };
    auto box = threads.make_mailbox<int>(
        rota::gate::made_by{make},
        {.error_policy = policy, .restarts = {.limit = 2, .pause = 0ns}, .on_unhandled = note});
    for (int i = 0; i < messages; ++i) static_cast<void>(box.send(i));
    box.close();
    box.join();
    if (reads_error) {
      EXPECT_NE(box.error(), nullptr);
    }
  }
  return take_all();
}

TEST(regress_unhandled, mailbox_that_skips_reports_each_exception) {
  const auto found = reports_of_mailbox(rota::gate::on_error::skip, 3, false);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].from, unhandled_from::mailbox);
  EXPECT_EQ(found[0].what, "disk full");
}

TEST(regress_unhandled, mailbox_that_stopped_reports_the_error_that_was_not_read) {
  EXPECT_EQ(reports_of_mailbox(rota::gate::on_error::stop, 3, false).size(), 1U);
  EXPECT_TRUE(reports_of_mailbox(rota::gate::on_error::stop, 3, true).empty());
}

TEST(regress_unhandled, mailbox_that_restarts_reports_each_restart) {
  EXPECT_EQ(reports_of_mailbox(rota::gate::on_error::restart, 3, true).size(), 2U);
  EXPECT_EQ(reports_of_mailbox(rota::gate::on_error::restart, 3, false).size(), 3U);
}

struct state {};

TEST(regress_unhandled, failure_of_an_actor_is_reported_at_the_top_of_its_supervisors) {
  static_cast<void>(take_all());
  {
    rota::gate::executor threads(1);
    const auto make = [] { return state{}; };
    rota::gate::actor<state> above(threads, make, {.on_unhandled = note});
    rota::gate::actor<state> below(threads, make, {.on_unhandled = note}, above.ref().supervisor());
    EXPECT_EQ(below.tell([](state&) { fail(); }), rota::gate::send_status::sent);
    above.join();
  }
  EXPECT_EQ(take_all().size(), 1U);
}

TEST(regress_unhandled, failure_of_an_actor_is_reported_when_its_supervisor_ends_first) {
  static_cast<void>(take_all());
  {
    rota::gate::executor threads(1);
    const auto make = [] { return state{}; };
    rota::gate::actor<state> above(threads, make, {.on_unhandled = note});
    rota::gate::actor<state> below(threads, make, {.on_unhandled = note}, above.ref().supervisor());
    above.pause();
    EXPECT_EQ(below.tell([](state&) { fail(); }), rota::gate::send_status::sent);
    below.join();
    EXPECT_EQ(above.stats().depth, 1U);
  }
  EXPECT_EQ(take_all().size(), 1U);
}

}  // namespace
