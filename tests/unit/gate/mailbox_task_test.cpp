// Mailboxes and tasks: waits for space, for an empty mailbox, and for its end.
#include "support/manual_scheduler.hpp"

#include <rota/error.hpp>
#include <rota/gate/actor.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::mailbox_task_test {
namespace {

using namespace std::chrono_literals;

constexpr mailbox_options narrow{.capacity = 1, .on_full = overflow::wait};

task<int> send_several(address<int> to, int from, int count) {
  int sent = 0;
  for (int i = 0; i < count; ++i) {
    const send_status end = co_await to.async_send(from * 1000 + i);
    sent += end == send_status::sent ? 1 : 0;
  }
  co_return sent;
}

TEST(mailboxes_and_tasks, a_sending_task_waits_until_there_is_space) {
  executor threads(1);
  runtime tasks({.workers = 2});
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&seen](int value) { seen.push_back(value); }, narrow);
  box.pause();
  static_cast<void>(box.send(-1));
  std::vector<join_handle<int>> senders;
  for (int s = 0; s < 4; ++s) senders.push_back(tasks.spawn(send_several(box.address(), s, 100)));
  std::jthread thread([to = box.address()] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(to.send(4000 + i), send_status::sent);
  });
  box.resume();
  for (auto& each : senders) EXPECT_EQ(each.join(), 100);
  thread.join();
  box.drain();
  EXPECT_EQ(seen.size(), 501U);
  std::vector<int> last(5, -1);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    int& before = last.at(static_cast<std::size_t>(seen[i] / 1000));
    EXPECT_EQ(seen[i] % 1000, before + 1) << "in the order of its sender";
    before = seen[i] % 1000;
  }
}

TEST(mailboxes_and_tasks, other_policies_do_not_wait) {
  executor threads(1);
  runtime tasks({.workers = 1});
  auto box = threads.make_mailbox<int>([](int) {}, {.capacity = 1});
  box.pause();
  EXPECT_EQ(tasks.spawn(send_several(box.address(), 0, 3)).join(), 1);
}

TEST(mailboxes_and_tasks, a_waiting_sender_is_woken_by_the_close) {
  executor threads(1);
  runtime tasks({.workers = 1});
  auto box = threads.make_mailbox<int>([](int) {}, narrow);
  box.pause();
  auto sender = tasks.spawn(send_several(box.address(), 0, 3));
  while (box.stats().depth == 0) std::this_thread::yield();
  std::this_thread::sleep_for(2ms);  // usually it waits by now; if not, it finds it closed
  box.close();
  EXPECT_EQ(sender.join(), 1);
}

TEST(mailboxes_and_tasks, a_waiting_sender_can_be_cancelled_and_its_message_is_destroyed) {
  executor threads(1);
  runtime tasks({.workers = 1});
  std::vector<int> seen;
  auto box = threads.make_mailbox<std::shared_ptr<int>>(
      [&seen](const std::shared_ptr<int>& value) { seen.push_back(*value); }, narrow);
  box.pause();
  static_cast<void>(box.send(std::make_shared<int>(1)));
  auto message = std::make_shared<int>(2);
  const std::weak_ptr<int> kept = message;
  auto waits = [](address<std::shared_ptr<int>> to, std::shared_ptr<int> what) -> task<void> {
    static_cast<void>(co_await to.async_send(std::move(what)));
  };
  auto sender = tasks.spawn(waits(box.address(), std::move(message)));
  std::this_thread::sleep_for(2ms);
  sender.cancel();
  EXPECT_THROW(sender.join(), cancelled_error);
  EXPECT_TRUE(kept.expired()) << "the message goes with it";
  box.resume();
  box.drain();
  EXPECT_EQ(seen, std::vector<int>{1});
}

TEST(mailboxes_and_tasks, a_sender_that_never_waits_yields_and_can_be_cancelled) {
  executor threads(1);
  runtime tasks({.workers = 1});
  auto box = threads.make_mailbox<int>([](int) {}, {.capacity = 4, .on_full = overflow::drop_oldest});
  auto endless = [](address<int> to) -> task<void> {
    for (;;) static_cast<void>(co_await to.async_send(1));
  };
  auto at_once = []() -> task<int> { co_return 1; };
  auto sender = tasks.spawn(endless(box.address()));
  EXPECT_EQ(tasks.spawn(at_once()).join(), 1);
  sender.cancel();
  EXPECT_THROW(sender.join(), cancelled_error);
}

TEST(mailboxes_and_tasks, async_drain_and_async_join_wait_for_the_mailbox) {
  executor threads(1);
  runtime tasks({.workers = 1});
  std::atomic<int> seen{0};
  auto box = threads.make_mailbox<int>([&seen](int) { ++seen; });
  auto body = [&]() -> task<int> {
    for (int i = 0; i < 100; ++i) static_cast<void>(box.send(i));
    co_await box.async_drain();
    const int after_drain = seen;
    co_await box.async_drain();
    box.pause();
    static_cast<void>(box.send(1));
    auto resumes = [&]() -> task<void> {
      co_await sleep_for(1ms);
      box.resume();
      box.close();
    };
    auto later = spawn(resumes());
    co_await box.async_drain();
    co_await box.async_join();
    co_await box.async_join();
    co_await later;
    co_return after_drain;
  };
  EXPECT_EQ(tasks.spawn(body).join(), 100);
  EXPECT_EQ(seen, 101);
}

TEST(mailboxes_and_tasks, a_drain_can_time_out) {
  executor threads(1);
  runtime tasks({.workers = 1});
  auto box = threads.make_mailbox<int>([](int) {});
  box.pause();
  static_cast<void>(box.send(1));
  auto body = [&]() -> task<bool> {
    auto work = box.async_drain();
    const auto in_time = co_await timeout(2ms, std::move(work));
    co_return in_time.has_value();
  };
  EXPECT_FALSE(tasks.spawn(body).join());
  box.resume();
  box.drain();
}

TEST(mailboxes_and_tasks, a_moved_from_mailbox_refuses_async_operations) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {});
  const auto other = std::move(box);
  EXPECT_THROW(static_cast<void>(box.async_send(1)), std::logic_error);
  EXPECT_THROW(static_cast<void>(box.async_join()), std::logic_error);
  EXPECT_THROW(static_cast<void>(box.async_drain()), std::logic_error);
}

// --- a task that sees the end of a mailbox, after others have acted on a deadline that holds for the task

using test::manual_scheduler;

void let_others_act(manual_scheduler& s) {
  s.time += 20ms;
  s.passed->note(s.time);
}

/// A thread of the executor may wake the task.
void run_to_end(manual_scheduler& s, const join_handle<bool>& end) {
  while (!end.is_done()) {
    s.run_until_idle();
    std::this_thread::yield();
  }
}

/// Expects that a timeout around `waits` reports its deadline: the end is seen after the deadline.
template <class Waits>
void expect_late(manual_scheduler& s, Waits waits) {
  bool went_on = false;
  const auto work = [&]() -> task<> {
    co_await waits();
    went_on = true;
  };
  const auto limited = [&]() -> task<bool> {
    const auto end = co_await timeout(10ms, work());
    co_return end.has_value();
  };
  auto end = s.spawn(limited);
  run_to_end(s, end);
  EXPECT_FALSE(end.join()) << "the deadline is reported";
  EXPECT_FALSE(went_on) << "and the end is not seen";
}

TEST(ends_of_mailboxes, are_not_reported_to_a_sender_past_its_deadline) {
  executor threads(1);
  manual_scheduler s;
  auto box = threads.make_mailbox<int>([](int) {}, narrow);
  box.close();
  expect_late(s, [&]() -> task<> {
    let_others_act(s);
    static_cast<void>(co_await box.address().async_send(1));
  });
}

TEST(ends_of_mailboxes, are_not_reported_to_a_drain_past_its_deadline) {
  executor threads(1);
  manual_scheduler s;
  auto box = threads.make_mailbox<int>([](int) {}, narrow);
  expect_late(s, [&]() -> task<> {
    let_others_act(s);
    co_await box.async_drain();
  });
}

TEST(ends_of_mailboxes, are_not_reported_to_an_ask_past_its_deadline) {
  executor threads(1);
  manual_scheduler s;
  actor<int> counts(threads, [] { return 0; });
  counts.close();
  counts.join();
  expect_late(s, [&]() -> task<> {
    let_others_act(s);
    static_cast<void>(co_await counts.ask([](int& it) { return ++it; }));
  });
}

TEST(ends_of_mailboxes, are_not_reported_past_its_deadline_to_an_ask_of_a_destroyed_actor) {
  executor threads(1);
  manual_scheduler s;
  auto counts = std::make_unique<actor<int>>(threads, [] { return 0; });
  counts->pause();
  bool went_on = false;
  const auto asks = [&]() -> task<> {
    const actor_ref<int> to = counts->ref();
    try {
      static_cast<void>(co_await to.ask([](int& it) { return ++it; }));
    } catch (const error&) {
      went_on = true;
    }
  };
  const auto limited = [&]() -> task<bool> {
    const auto end = co_await timeout(10ms, asks());
    co_return end.has_value();
  };
  auto end = s.spawn(limited);
  s.run_until_idle();
  counts.reset();
  let_others_act(s);
  run_to_end(s, end);
  EXPECT_FALSE(end.join()) << "the deadline is reported";
  EXPECT_FALSE(went_on) << "and the end is not seen";
}

}  // namespace
}  // namespace rota::gate::mailbox_task_test
