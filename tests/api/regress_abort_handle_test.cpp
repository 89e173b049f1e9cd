// Cancelling a task beside the thread that joins it, and one task of a join_set.
#include "support/sanitized.hpp"

#include <rota/abort_handle.hpp>
#include <rota/error.hpp>
#include <rota/join_set.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace rota {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = test::sanitized ? 50 : 500;

task<int> hour() {
  co_await sleep_for(1h);
  co_return 1;
}
task<int> at_once(int value) { co_return value; }

TEST(abort_handle, ends_a_join_of_another_thread) {
  runtime rt({.workers = 2});
  auto work = rt.spawn(hour());
  const abort_handle stop = work.abort_handle();
  EXPECT_EQ(stop.id(), work.id());
  EXPECT_FALSE(stop.is_finished());
  std::thread other([stop] { EXPECT_TRUE(stop.cancel(cancel_reason::timeout)); });
  try {
    static_cast<void>(work.join());
    ADD_FAILURE() << "it was not cancelled";
  } catch (const cancelled_error& e) {
    EXPECT_EQ(e.reason(), cancel_reason::timeout);
  }
  other.join();
  EXPECT_TRUE(stop.is_finished());
  EXPECT_FALSE(stop.cancel());
}

// T1 takes the outcome and drops its reference while T2 and T3 cancel. Each needs a reference of its own.
TEST(abort_handle, may_cancel_while_the_joining_thread_drops_the_task) {
  runtime rt({.workers = 2});
  for (int i = 0; i < rounds; ++i) {
    auto work = rt.spawn(at_once(i));
    std::latch go(3);
    // Each thread has the only copy of its handle, so the last reference may be theirs.
    const auto cancels = [&go](const abort_handle stop) {
      go.arrive_and_wait();
      stop.cancel();
      while (!stop.is_finished()) std::this_thread::yield();
    };
    std::thread second(cancels, work.abort_handle());
    std::thread third(cancels, work.abort_handle());
    go.arrive_and_wait();
    const auto end = work.wait_for(1h);
    second.join();
    third.join();
    ASSERT_TRUE(end.has_value());
    if (end->has_value()) {
      ASSERT_EQ(end->value(), i);
    }
  }
}

TEST(abort_handle, works_after_the_join_handle_is_detached) {
  runtime rt({.workers = 1});
  auto gone = std::make_shared<int>(0);
  const std::weak_ptr<int> frame = gone;
  const auto holds = [](std::shared_ptr<int> kept) -> task<> {
    co_await sleep_for(1h);
    *kept = 1;
  };
  auto work = rt.spawn(holds, std::move(gone));
  const abort_handle stop = work.abort_handle();
  const abort_handle copy = stop;
  work.detach();
  EXPECT_FALSE(work.abort_handle().valid());
  EXPECT_EQ(copy, stop);
  EXPECT_TRUE(copy.cancel());
  while (!stop.is_finished()) std::this_thread::yield();
  EXPECT_TRUE(frame.expired()) << "an abort_handle keeps no frame";
}

// The last reference is dropped outside of the runtime, after it has ended.
TEST(abort_handle, outlives_its_runtime_without_cancelling_anything) {
  std::optional<abort_handle> late;
  const auto value = std::make_shared<int>(7);
  {
    runtime rt({.workers = 1});
    auto work = rt.spawn([](std::shared_ptr<int> v) -> task<std::shared_ptr<int>> { co_return v; }, value);
    late = work.abort_handle();
    static_cast<void>(work.join());
  }
  EXPECT_TRUE(late->is_finished());
  EXPECT_FALSE(late->cancel());
  EXPECT_EQ(value.use_count(), 1);
}

TEST(abort_handle, cancels_nothing_when_empty) {
  abort_handle none;
  EXPECT_FALSE(none.valid());
  EXPECT_FALSE(none.cancel());
  EXPECT_FALSE(none.is_finished());
  EXPECT_EQ(none.id(), task_id{});
  runtime rt({.workers = 1});
  auto work = rt.spawn(hour());
  abort_handle from = work.abort_handle();
  const abort_handle to = std::move(from);
  EXPECT_TRUE(to.valid());
  EXPECT_FALSE(from.valid() || from.cancel() || from.is_finished());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(join_handle<int>().abort_handle(), none);
  EXPECT_TRUE(to.cancel());
  EXPECT_TRUE(work.wait_for(1h)->is_cancelled());
}

TEST(join_set, cancels_one_member_and_leaves_the_others) {
  struct body {
    static task<> run() {
      join_set<int> set;
      std::vector<abort_handle> members;
      for (int i = 0; i < 3; ++i) members.push_back(set.spawn(hour()));
      EXPECT_TRUE(members[1].cancel());
      const auto first = co_await set.next();
      EXPECT_TRUE(first.has_value() && first->is_cancelled());
      EXPECT_TRUE(members[1].is_finished());
      EXPECT_FALSE(members[0].is_finished());
      EXPECT_FALSE(members[2].is_finished());
      EXPECT_EQ(set.size(), 2U);
      co_await set.close();
      EXPECT_TRUE(members[0].is_finished());
      EXPECT_FALSE(members[2].cancel());
    }
  };
  runtime rt({.workers = 2});
  rt.block_on(body::run());
}

TEST(join_set, abort_handle_of_a_member_works_after_the_set_is_destroyed) {
  struct body {
    static task<abort_handle> run() {
      join_set<int> set;
      auto member = set.spawn(at_once, 3);
      const auto end = co_await set.next();
      EXPECT_EQ(end->value(), 3);
      co_return member;
    }
  };
  runtime rt({.workers = 1});
  const abort_handle member = rt.block_on(body::run());
  EXPECT_TRUE(member.is_finished());
  EXPECT_FALSE(member.cancel());
}

}  // namespace
}  // namespace rota
