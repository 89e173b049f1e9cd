// Cancellation: when it is delivered, what it destroys, in which order, where, and what it leaves alone.
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include "unit/task/task_support.hpp"

namespace rota::cancel_test {
namespace {

using test::counted;
using test::event;
using test::expect_cancelled;
using test::journal;
using test::manual_scheduler;
using test::nest;
using test::note;
using test::slow_operation;
using test::waits_slowly;

TEST(cancel, before_the_start_nothing_runs_and_arguments_are_destroyed_once) {
  manual_scheduler s;
  counted::reset();
  int lines = 0;
  auto h = s.spawn(
      [](counted, int* out) -> task<> {
        ++*out;
        co_return;
      },
      counted(1),
      &lines);
  EXPECT_TRUE(h.cancel());
  EXPECT_EQ(counted::alive, 1) << "the canceller destroys nothing";
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(lines, 0);
  EXPECT_EQ(s.cancelled, 1);
  expect_cancelled(h);
}

TEST(cancel, adds_no_second_queue_entry_for_a_task_that_is_queued) {
  manual_scheduler s;
  journal j;
  std::vector<join_handle<void>> others;
  for (int i = 0; i < 1000; ++i) others.push_back(s.spawn([]() -> task<> { co_return; }));
  auto h = s.spawn([](note) -> task<> { co_return; }, note(j, "argument"));
  h.cancel();
  EXPECT_EQ(j.text(), "");
  EXPECT_EQ(s.run_until_idle(), 1001) << "no second entry";
  EXPECT_EQ(j.text(), "[argument]");
  expect_cancelled(h);
  EXPECT_EQ(s.ended, 1001);
}

TEST(cancel, while_suspended_destroys_frames_innermost_first) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(nest(j, e, 3));
  s.run_until_idle();
  EXPECT_TRUE(h.cancel());
  EXPECT_EQ(j.text(), "") << "the canceller destroys nothing";
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[0] [1] [2] [3]");
  EXPECT_EQ(e.cancels, 1);
  EXPECT_EQ(e.reason, cancel_reason::user);
  EXPECT_FALSE(e.is_awaited());
  expect_cancelled(h);
}

task<> catches_all(journal& j, event& e) {
  const note local(j, "local");
  try {
    const note guarded(j, "guarded");
    co_await e();
    j.add("resumed");
  } catch (...) {
    j.add("caught");
  }
  j.add("after");
}

TEST(cancel, no_catch_block_sees_it) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(catches_all(j, e));
  s.run_until_idle();
  h.cancel();
  note::exceptions_in_flight = 0;
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[guarded] [local]");
  EXPECT_EQ(note::exceptions_in_flight, 0) << "no exception is in flight: destructors must ask unwinding()";
  expect_cancelled(h);
}

TEST(cancel, unwinding_is_false_when_frames_end_by_themselves) {
  manual_scheduler s;
  journal j;
  auto returns = s.spawn(
      [](journal* in) -> task<> {
        const note local(*in, "returned");
        co_return;
      },
      &j);
  auto throws = s.spawn(
      [](journal* in) -> task<> {
        const note local(*in, "thrown");
        throw 1;
        co_return;
      },
      &j);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "returned thrown");
  EXPECT_FALSE(this_task::unwinding());
  returns.join();
  EXPECT_THROW(throws.join(), int);
}

TEST(cancel, request_while_running_loses_to_a_returned_value) {
  manual_scheduler s;
  join_handle<int>* self = nullptr;
  auto h = s.spawn(
      [](join_handle<int>** me) -> task<int> {
        EXPECT_FALSE(this_task::cancel_requested());
        EXPECT_TRUE((*me)->cancel());
        EXPECT_TRUE(this_task::cancel_requested());
        co_return 5;
      },
      &self);
  self = &h;
  s.run_until_idle();
  EXPECT_EQ(h.join(), 5);
  EXPECT_EQ(s.cancelled, 0);
}

TEST(cancel, request_while_running_loses_to_a_thrown_exception) {
  manual_scheduler s;
  join_handle<void>* self = nullptr;
  auto h = s.spawn(
      [](join_handle<void>** me) -> task<> {
        (*me)->cancel();
        throw 7;
        co_return;
      },
      &self);
  self = &h;
  s.run_until_idle();
  EXPECT_THROW(h.join(), int);
}

TEST(cancel, request_while_running_is_delivered_at_the_next_suspension) {
  manual_scheduler s;
  journal j;
  event e;
  join_handle<void>* self = nullptr;
  auto h = s.spawn(
      [](join_handle<void>** me, journal* in, event* on) -> task<> {
        const note local(*in, "local");
        (*me)->cancel();
        in->add("still-running");
        co_await (*on)();
        in->add("never");
      },
      &self,
      &j,
      &e);
  self = &h;
  s.run_until_idle();
  EXPECT_EQ(j.text(), "still-running [local]");
  EXPECT_EQ(e.cancels, 1);
  expect_cancelled(h);
}

TEST(cancel, second_request_keeps_the_first_reason) {
  manual_scheduler s;
  event e;
  auto h = s.spawn([](event* on) -> task<> { co_await (*on)(); }, &e);
  s.run_until_idle();
  EXPECT_TRUE(h.cancel(cancel_reason::sibling_failed));
  EXPECT_TRUE(h.cancel(cancel_reason::user));
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(e.cancels, 1);
  EXPECT_FALSE(h.cancel()) << "it has ended";
  expect_cancelled(h, cancel_reason::sibling_failed);
  EXPECT_FALSE(h.cancel()) << "the handle is empty";
}

TEST(cancel, a_task_that_ended_is_not_cancelled) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> { co_return 1; });
  s.run_until_idle();
  EXPECT_FALSE(h.cancel());
  EXPECT_EQ(h.join(), 1);
}

TEST(cancel, cancels_the_leaf_although_its_event_has_fired) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(nest(j, e, 0));
  s.run_until_idle();
  e.fire();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[0]");
  EXPECT_EQ(e.cancels, 1) << "the leaf is told, so that it can pass the event on";
  expect_cancelled(h);
}

// --- leaves that end later

TEST(cancel, frames_stay_while_an_operation_may_still_touch_them) {
  manual_scheduler s;
  journal j;
  slow_operation op;
  auto h = s.spawn(waits_slowly(j, op));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(op.cancels, 1);
  EXPECT_EQ(j.text(), "");
  EXPECT_FALSE(h.is_done());
  op.wake_for_nothing();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(op.cancels, 1) << "asked once";
  EXPECT_EQ(j.text(), "") << "not ended yet";
  EXPECT_TRUE(h.cancel()) << "again, to no effect";
  s.run_until_idle();
  EXPECT_EQ(op.cancels, 1);
  op.end();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "[local]");
  EXPECT_EQ(op.resumes, 0);
  expect_cancelled(h);
}

TEST(cancel, an_operation_that_ended_in_time_needs_no_wait) {
  manual_scheduler s;
  journal j;
  slow_operation op;
  auto h = s.spawn(waits_slowly(j, op));
  s.run_until_idle();
  h.cancel();
  op.end();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(j.text(), "[local]");
  expect_cancelled(h);
}

// --- which thread

TEST(cancel, frames_are_destroyed_on_the_thread_that_runs_the_task) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(nest(j, e, 1));
  s.run_until_idle();
  std::thread canceller([&h] { h.cancel(); });
  canceller.join();
  EXPECT_EQ(j.text(), "");
  s.run_until_idle();
  EXPECT_EQ(note::destroyed_on, std::this_thread::get_id());
  EXPECT_EQ(j.text(), "[0] [1]");
  expect_cancelled(h);
}

// --- cancellation points

TEST(cancel, checkpoint_delivers_a_pending_cancellation) {
  manual_scheduler s;
  journal j;
  join_handle<void>* self = nullptr;
  auto h = s.spawn(
      [](join_handle<void>** me, journal* in) -> task<> {
        const note local(*in, "local");
        co_await checkpoint();
        in->add("first");
        (*me)->cancel();
        co_await checkpoint();
        in->add("never");
      },
      &self,
      &j);
  self = &h;
  s.run_until_idle();
  EXPECT_EQ(j.text(), "first [local]");
  expect_cancelled(h);
}

TEST(cancel, checkpoint_without_a_request_does_not_suspend) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<> {
    for (int i = 0; i < 100; ++i) co_await checkpoint();
  });
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(s.enrolled, 0);
  h.join();
}

TEST(cancel, a_loop_that_only_yields_can_be_cancelled) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(
      [](journal* in) -> task<> {
        const note local(*in, "local");
        for (;;) co_await yield();
      },
      &j);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(s.run_one());
  h.cancel();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(j.text(), "[local]");
  expect_cancelled(h);
}

TEST(cancel, a_loop_that_is_always_ready_can_be_cancelled) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(
      [](journal* in) -> task<> {
        const note local(*in, "local");
        for (;;) co_await test::ready_leaf();
      },
      &j);
  EXPECT_TRUE(s.run_one());
  h.cancel();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(j.text(), "[local]");
  expect_cancelled(h);
}

}  // namespace
}  // namespace rota::cancel_test
