// Idle: no observer is told of it and no waiter released while a work is outstanding.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/this_task.hpp>

namespace regress_idle_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

// A work that moves from one count to another is in one of them at every moment.
TEST(regress_idle, a_wait_never_returns_while_a_work_is_outstanding) {
  constexpr int rounds = 20'000;
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < rounds; ++i) {
    int done = 0;  // plain: the wait orders it
    static_cast<void>(p.submit([&] { static_cast<void>(p.submit([&] { ++done; })); }));
    p.wait_idle();
    ASSERT_EQ(done, 1);
  }
}

// The end of one batch does not release a waiter of the next batch.
TEST(regress_idle, wait_that_begins_as_a_batch_ends_waits_for_the_next_batch) {
  thread_pool p({.max_threads = 2});
  std::atomic<bool> end{false};
  std::thread other([&] {
    while (!end) p.submit([] {}).wait();
  });
  for (int i = 0; i < 5'000; ++i) {
    std::atomic<bool> done{false};
    static_cast<void>(p.submit([&] {
      std::this_thread::yield();
      done = true;
    }));
    p.wait_idle();
    ASSERT_TRUE(done);
  }
  end = true;
  other.join();
}

/// Counts starts and idle events, and submits from within an idle event.
class turns final : public observer {
 public:
  explicit turns(thread_pool& p, int more) : pool_(&p), more_(more), heard_(p.subscribe(*this)) {}
  void pool_started() override {
    EXPECT_EQ(depth.fetch_add(1), 0) << "each start has its end before the next";
    ++started;
  }
  void pool_idle(const pool_span& span) override {
    EXPECT_EQ(depth.fetch_sub(1), 1);
    EXPECT_LE(span.started, span.ended);
    ++idle;
    if (more_-- > 0) static_cast<void>(pool_->submit([this] { ++ran; }));
  }
  std::atomic<int> depth{0};
  std::atomic<int> started{0};
  std::atomic<int> idle{0};
  std::atomic<int> ran{0};

 private:
  thread_pool* pool_;
  std::atomic<int> more_;
  subscription heard_;
};

TEST(regress_idle, job_submitted_by_an_idle_handler_begins_a_new_batch) {
  thread_pool p({.max_threads = 2});
  turns seen(p, 100);
  static_cast<void>(p.submit([] {}));
  until([&] { return seen.idle == 101; });
  expect_idle(p);
  EXPECT_EQ(seen.started, 101);
  EXPECT_EQ(seen.ran, 100);
  EXPECT_EQ(seen.depth, 0);
}

TEST(regress_idle, started_and_idle_events_alternate) {
  thread_pool p({.max_threads = 2});
  turns seen(p, 0);
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 3'000; ++i) p.submit([] {}).wait();
    });
  }
  for (std::thread& each : callers) each.join();
  p.wait_idle();
  // The handler may be between its two increments.
  until([&] { return seen.depth == 0 && seen.idle == seen.started; });
  EXPECT_GE(seen.started, 1);
}

TEST(regress_idle, timed_wait_returns_whether_the_pool_is_idle) {
  thread_pool p({.max_threads = 1});
  {
    blocker busy(p);
    EXPECT_FALSE(p.wait_idle(1ms));
    EXPECT_FALSE(p.wait_idle(0s));
    EXPECT_FALSE(p.wait_idle(-1h));
  }
  EXPECT_TRUE(p.wait_idle(std::chrono::hours::max()));
}

TEST(regress_idle, suspended_pool_with_a_job_is_not_idle) {
  thread_pool p({.max_threads = 1, .start = start_mode::suspended});
  auto w = p.submit([] {});
  EXPECT_FALSE(p.wait_idle(1ms)) << "what is held is outstanding";
  p.start();
  p.wait_idle();
  EXPECT_EQ(w.status(), work_status::succeeded);
}

TEST(regress_idle, wait_idle_inside_a_job_throws_would_deadlock) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([&] { p.wait_idle(); });
  try {
    w.fetch().value();
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::would_deadlock);
  }
}

TEST(regress_idle, coroutine_is_outstanding_until_it_ends) {
  thread_pool p({.max_threads = 2});
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> done{0};
    for (int k = 0; k < 10; ++k) {
      static_cast<void>(p.submit([&]() -> task<void> {
        for (int turn = 0; turn < 5; ++turn) co_await yield();
        ++done;
      }));
    }
    p.wait_idle();
    ASSERT_EQ(done, 10);
  }
  expect_idle(p);
}

TEST(regress_idle, many_threads_may_wait_at_once) {
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 50; ++round) {
    blocker busy(p);
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&, t] { t % 2 == 0 ? p.wait_idle() : p.wait_idle(help); });
    }
    busy.let_go();
    for (std::thread& each : callers) each.join();
  }
}

/// A result with a destructor that waits until its pool is idle.
class heavy {
 public:
  explicit heavy(thread_pool& pool) noexcept : pool_(&pool) {}
  heavy(heavy&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
  heavy(const heavy&) = delete;
  heavy& operator=(heavy&& other) noexcept {
    std::swap(pool_, other.pool_);
    return *this;
  }
  heavy& operator=(const heavy&) = delete;
  ~heavy() {
    if (pool_ != nullptr) pool_->wait_idle();
  }

 private:
  thread_pool* pool_;
};

// The destructor belongs to no work, so its wait is not refused. Works that ended on its thread do not count.
TEST(regress_idle, destructor_of_a_result_may_call_wait_idle) {
  thread_pool p({.max_threads = 1});
  for (const bool has_callback : {false, true}) {
    {
      const blocker first(p);
      p | [] {};
      work_options how{};
      if (has_callback) how.callback = [](const work_end&) {};
      static_cast<void>(p.submit([&p] { return heavy(p); }, how));
      p | [] {};
    }
    expect_idle(p);
  }
}
}  // namespace
}  // namespace regress_idle_test
