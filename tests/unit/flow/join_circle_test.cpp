// Tasks that join one another in a circle, and how a cancellation ends them.
#include "flow_support.hpp"

#include <rota/scope.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace join_circle_test {
namespace {

using namespace rota;
using namespace rota::test;

class join_circle : public in_every_order {
 protected:
  /// `n` tasks, each of which joins the next; the last joins the first.
  void make(std::size_t n) {
    handles.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      handles[i] = s.spawn([this, i]() -> task<void> {
        const tally c(alive);
        co_await start.at(i).wait();
        join_handle<void> mine = std::move(handles[(i + 1) % handles.size()]);
        co_await mine;
      });
    }
    s.run_until_idle();
  }
  /// Starts one task after the other, so that none runs inside of another.
  void close_the_circle() {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      start.at(i).set();
      s.run_until_idle();
    }
  }
  int alive = 0;
  std::vector<join_handle<void>> handles;
  std::array<held_event, 16> start;
};
ROTA_IN_EVERY_ORDER(join_circle);

core::header* header_of_handle(join_handle<void>& h) {
  core::header* found = nullptr;
  static_assert(sizeof(h) == sizeof(found));
  std::memcpy(&found, &h, sizeof(found));
  return found;
}

TEST_P(join_circle, cancelling_one_of_two_ends_both) {
  make(2);
  core::header& first = *header_of_handle(handles[0]);
  first.word.retain();
  close_the_circle();
  EXPECT_EQ(alive, 2);
  EXPECT_EQ(s.live, 2);
  core::cancel(first, cancel_reason::user);
  core::release(first);
  s.run_until_idle();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(s.live, 0);
  EXPECT_EQ(s.cancelled, 2);
}

TEST_P(join_circle, cancelling_one_of_ten_ends_all) {
  make(10);
  core::header& fifth = *header_of_handle(handles[4]);
  fifth.word.retain();
  close_the_circle();
  EXPECT_EQ(alive, 10);
  core::cancel(fifth, cancel_reason::user);
  core::release(fifth);
  s.run_until_idle();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(s.live, 0);
}

TEST_P(join_circle, cancelling_all_at_once_ends_all) {
  make(5);
  std::vector<core::header*> tasks;
  for (auto& h : handles) tasks.push_back(header_of_handle(h));
  for (core::header* t : tasks) t->word.retain();
  close_the_circle();
  for (core::header* t : tasks) core::cancel(*t, cancel_reason::shutdown);
  s.run_until_idle();
  for (core::header* t : tasks) core::release(*t);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(s.live, 0);
}

/// A child joins the task that owns its scope: neither can end by itself.
TEST_P(join_circle, cancelling_the_parent_ends_a_child_that_joins_it) {
  join_handle<void> parent;
  held_event start_child;
  parent = s.spawn([&]() -> task<void> {
    const tally p(alive);
    co_await with_scope([&](scope& c) -> task<void> {
      c.fork([&]() -> task<void> {
        const tally q(alive);
        co_await start_child.wait();
        join_handle<void> mine = std::move(parent);
        co_await mine;
      });
      co_await forever();
    });
  });
  s.run_until_idle();
  core::header& task_of_parent = *header_of_handle(parent);
  task_of_parent.word.retain();
  start_child.set();
  s.run_until_idle();
  EXPECT_EQ(alive, 2);
  core::cancel(task_of_parent, cancel_reason::user);
  s.run_until_idle();
  EXPECT_EQ(alive, 0);
  core::release(task_of_parent);
  EXPECT_EQ(s.live, 0);
}

/// A joins B; B waits in a when_all for a child that joins A.
TEST_P(join_circle, cancelling_one_task_ends_a_circle_through_a_child) {
  join_handle<void> a;
  join_handle<void> b;
  held_event start_a;
  held_event start_child;
  a = s.spawn([&]() -> task<void> {
    const tally p(alive);
    co_await start_a.wait();
    join_handle<void> mine = std::move(b);
    co_await mine;
  });
  b = s.spawn([&]() -> task<void> {
    const tally p(alive);
    auto joins_a = [&]() -> task<void> {
      co_await start_child.wait();
      join_handle<void> mine = std::move(a);
      co_await mine;
    };
    co_await when_all(joins_a(), waits());
  });
  s.run_until_idle();
  core::header& first = *header_of_handle(a);
  first.word.retain();
  start_child.set();
  s.run_until_idle();
  start_a.set();
  s.run_until_idle();
  EXPECT_EQ(alive, 2);
  core::cancel(first, cancel_reason::user);
  s.run_until_idle();
  EXPECT_EQ(alive, 0);
  core::release(first);
  EXPECT_EQ(s.live, 0);
}

TEST_P(join_circle, chain_that_is_no_circle_ends_from_its_last_task) {
  std::string log;
  held_event slow;
  auto last = s.spawn([&]() -> task<void> {
    const witness w(log, '3');
    co_await slow.wait();
  });
  auto middle = s.spawn([&]() -> task<void> {
    const witness w(log, '2');
    co_await last;
  });
  auto first = s.spawn([&]() -> task<void> {
    const witness w(log, '1');
    co_await middle;
  });
  s.run_until_idle();
  first.cancel();
  s.run_until_idle();
  EXPECT_EQ(log, "");
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(log, "321");
}

}  // namespace
}  // namespace join_circle_test
