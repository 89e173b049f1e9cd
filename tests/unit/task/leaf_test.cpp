// Leaves: early, late, double and stolen wakes, failing starts, and the budget with ready leaves.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "unit/task/task_support.hpp"

namespace rota::leaf_test {
namespace {

using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;

task<> wait_for_both(event& first, event& second, journal& j) {
  co_await first();
  j.add("first");
  co_await second();
  j.add("second");
}

TEST(leaf, an_event_that_has_fired_already_does_not_suspend) {
  manual_scheduler s;
  journal j;
  event a;
  event b;
  a.fire();
  b.fire();
  auto h = s.spawn(wait_for_both(a, b, j));
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(j.text(), "first second");
  EXPECT_EQ(a.looks, 0) << "start() said so already";
  h.join();
}

TEST(leaf, spurious_wakeup_does_not_resume_the_task) {
  manual_scheduler s;
  journal j;
  event a;
  event b;
  auto h = s.spawn(wait_for_both(a, b, j));
  s.run_until_idle();
  for (int i = 0; i < 5; ++i) {
    a.wake_for_nothing();
    EXPECT_EQ(s.run_until_idle(), 1) << "it looks";
    EXPECT_EQ(j.text(), "");
  }
  EXPECT_EQ(a.looks, 5);
  EXPECT_TRUE(a.is_awaited()) << "and is registered still";
  a.fire();
  b.fire();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "first second");
  h.join();
}

TEST(leaf, two_wakes_make_one_run) {
  manual_scheduler s;
  journal j;
  event a;
  event b;
  auto h = s.spawn(wait_for_both(a, b, j));
  s.run_until_idle();
  a.wake_for_nothing();
  a.wake_for_nothing();
  a.fire();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(a.resumes, 1);
  b.fire();
  s.run_until_idle();
  h.join();
}

// The releaser of leaf 1 is late: the task waits for leaf 2 when the wake arrives.
TEST(leaf, a_late_wake_does_not_resume_the_next_leaf) {
  manual_scheduler s;
  journal j;
  event a;
  event b;
  auto h = s.spawn(wait_for_both(a, b, j));
  s.run_until_idle();
  waker late = a.steal_waker();
  a.fire();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "first");
  late.wake();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(j.text(), "first");
  EXPECT_EQ(b.resumes, 0);
  b.fire();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "first second");
  h.join();
}

TEST(leaf, a_wake_after_the_end_does_nothing_and_keeps_the_memory) {
  manual_scheduler s;
  event a;
  waker late;
  {
    auto h = s.spawn([](event* on) -> task<> { co_await (*on)(); }, &a);
    s.run_until_idle();
    late = a.steal_waker();
    a.fire();
    s.run_until_idle();
    h.join();
  }
  EXPECT_EQ(s.ended, 1);
  EXPECT_EQ(s.live, 1) << "the waker keeps the task's memory";
  late.wake();
  EXPECT_EQ(s.run_until_idle(), 0);
  EXPECT_EQ(s.live, 0);
}

/// Fires inside of start().
class fires_at_once final : public leaf {
 public:
  fires_at_once() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override {
    ++looks;
    return true;
  }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  [[nodiscard]] int await_resume() const noexcept { return looks; }

 protected:
  bool start() override {
    make_waker().wake();
    return false;
  }

 private:
  int looks = 0;
};

TEST(leaf, a_wake_before_start_has_returned_is_not_lost) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    const int looks = co_await fires_at_once();
    co_return looks;
  });
  EXPECT_EQ(s.run_until_idle(), 2) << "it was still running, so it comes again";
  EXPECT_EQ(h.join(), 1);
}

class start_throws final : public leaf {
 public:
  start_throws() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override { return false; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  static void await_resume() noexcept {}

 protected:
  bool start() override { throw std::invalid_argument("nothing was started"); }
};

TEST(leaf, an_exception_from_start_appears_at_the_co_await) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(
      [](journal* in) -> task<> {
        try {
          co_await start_throws();
          in->add("resumed");
        } catch (const std::invalid_argument& e) {
          in->add(e.what());
        }
        co_await yield();
        in->add("goes-on");
      },
      &j);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "nothing was started goes-on");
  h.join();
}

class resume_throws final : public leaf {
 public:
  explicit resume_throws(event& of) noexcept : inner_(of()) {}
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  static void await_resume() { throw std::domain_error("at this point"); }

 private:
  event::wait inner_;
};

TEST(leaf, an_exception_from_await_resume_appears_at_the_co_await) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event* on) -> task<bool> {
        bool caught = false;
        try {
          co_await resume_throws(*on);
        } catch (const std::domain_error&) {
          caught = true;
        }
        co_return caught;
      },
      &e);
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

/// Takes a permit in start(): the operation is then done, even if the budget is spent.
class permit final : public leaf {
 public:
  explicit permit(int& from) noexcept : from_(&from) {}
  [[nodiscard]] bool is_ready() noexcept override { return taken_; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
    if (taken_) ++*from_;
    taken_ = false;
    return cancel_progress::ended;
  }
  [[nodiscard]] bool await_resume() const noexcept { return taken_; }

 protected:
  bool start() override {
    --*from_;
    taken_ = true;
    return true;
  }

 private:
  int* from_;
  bool taken_ = false;
};

TEST(leaf, forced_yield_does_not_start_the_operation_twice) {
  manual_scheduler s;
  int permits = 1000;
  auto h = s.spawn(
      [](int* from) -> task<int> {
        int taken = 0;
        for (int i = 0; i < 300; ++i) {
          const bool got = co_await permit(*from);
          taken += got ? 1 : 0;
        }
        co_return taken;
      },
      &permits);
  EXPECT_EQ(s.run_until_idle(), 3);
  EXPECT_EQ(h.join(), 300);
  EXPECT_EQ(permits, 700);
}

TEST(leaf, cancellation_in_a_forced_yield_undoes_the_completed_operation) {
  manual_scheduler s;
  int permits = 1000;
  auto h = s.spawn(
      [](int* from) -> task<> {
        for (;;) static_cast<void>(co_await permit(*from));
      },
      &permits);
  EXPECT_TRUE(s.run_one());
  EXPECT_EQ(permits, 1000 - 128);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(permits, 1000 - 127) << "127 were handed over, the last was not";
}

/// Moves its bytes at once, each time.
class bulk final : public leaf {
 public:
  explicit bulk(std::size_t bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  void await_resume() const noexcept {}

 protected:
  bool start() override {
    charge(bytes_);
    return true;
  }

 private:
  std::size_t bytes_;
};

TEST(leaf, an_operation_costs_a_unit_for_each_16_KiB_that_it_moves) {
  struct row {
    std::size_t bytes;
    int operations;  // in one turn; the last one yields
  };
  constexpr std::size_t kib = 1024;
  for (const row& r : {row{0, 128},
                       row{1, 128},
                       row{16 * kib, 128},
                       row{16 * kib + 1, 65},
                       row{64 * kib, 33},
                       row{256 * kib, 9},
                       row{SIZE_MAX, 2}}) {
    manual_scheduler s;
    int done = 0;
    auto h = s.spawn(
        [](const row* of, int* count) -> task<> {
          for (;;) {
            ++*count;
            co_await bulk(of->bytes);
          }
        },
        &r,
        &done);
    EXPECT_TRUE(s.run_one());
    EXPECT_EQ(done, r.operations) << r.bytes;
    h.cancel();
    s.run_until_idle();
  }
}

// The result of a completed operation is delivered. Only the next operation yields.
TEST(leaf, large_operation_delivers_its_result_before_the_task_yields) {
  manual_scheduler s;
  bool handed_over = false;
  auto h = s.spawn(
      [](bool* over) -> task<> {
        co_await bulk(SIZE_MAX);
        *over = true;
        co_await bulk(1);
      },
      &handed_over);
  EXPECT_TRUE(s.run_one());
  EXPECT_TRUE(handed_over);
  EXPECT_FALSE(h.is_done());
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
}

TEST(leaf, two_tasks_take_turns_over_one_event) {
  manual_scheduler s;
  journal j;
  event ping;
  event pong;
  auto a = s.spawn(
      [](event* in, event* out, journal* log) -> task<> {
        for (int i = 0; i < 100; ++i) {
          co_await (*in)();
          in->reset();
          log->add("a");
          out->fire();
        }
      },
      &ping,
      &pong,
      &j);
  auto b = s.spawn(
      [](event* in, event* out, journal* log) -> task<> {
        for (int i = 0; i < 100; ++i) {
          out->fire();
          co_await (*in)();
          in->reset();
          log->add("b");
        }
      },
      &pong,
      &ping,
      &j);
  s.run_until_idle();
  EXPECT_EQ(j.count("a"), 100U);
  EXPECT_EQ(j.count("b"), 100U);
  a.join();
  b.join();
}

TEST(leaf, wakes_from_other_threads_are_never_lost) {
  manual_scheduler s;
  constexpr int rounds = 20'000;
  event e;
  std::atomic<int> seen{0};
  auto h = s.spawn(
      [](event* on, std::atomic<int>* out) -> task<> {
        for (int i = 0; i < rounds; ++i) {
          co_await (*on)();
          on->reset();
          out->store(i + 1);
        }
      },
      &e,
      &seen);
  std::thread firing([&] {
    for (int i = 0; i < rounds; ++i) {
      e.fire();
      while (seen.load() <= i) std::this_thread::yield();
    }
  });
  while (!h.is_done()) {
    if (!s.run_one()) std::this_thread::yield();
  }
  firing.join();
  EXPECT_EQ(e.resumes + 0, rounds);
  h.join();
}

}  // namespace
}  // namespace rota::leaf_test
