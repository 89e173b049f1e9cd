// The promised names of gates, mailboxes and actors.
#include <rota/gate/actor.hpp>
#include <rota/gate/fan_in.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/gate/signal_gate.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace gate = rota::gate;

TEST(public_api, signal_gate_is_scheduled_once_until_it_is_served) {
  gate::signal_waker waker;
  gate::signal_word word(7);
  gate::signal_gate queue(3, word, waker);

  const bool first = queue.schedule();
  const bool again = queue.schedule();
  EXPECT_TRUE(first);
  EXPECT_FALSE(again);
  EXPECT_EQ(waker.wait(), 7U);
  EXPECT_EQ(word.take(), std::uint64_t{1} << 3U);
  queue.begin();
  EXPECT_FALSE(queue.finish_or_continue());
  EXPECT_TRUE(queue.schedule());
  EXPECT_TRUE(word.acquire(3));
  queue.begin();
  queue.finish_and_schedule();
  EXPECT_TRUE(word.acquire(3));
  queue.begin();
  EXPECT_FALSE(queue.finish());
  EXPECT_TRUE(word.set(0));
  waker.mark_active(word.index());
  EXPECT_EQ(waker.wait_until(std::chrono::steady_clock::now()), 7U);
}

TEST(public_api, mailbox_handles_its_messages_in_order) {
  std::vector<std::string> seen;
  gate::executor threads(2);
  gate::mailbox<std::string> box =
      threads.make_mailbox<std::string>([&seen](std::string&& text) { seen.push_back(std::move(text)); },
                                        {.capacity = 100,
                                         .on_full = gate::overflow::reject,
                                         .budget = 16,
                                         .time_slice = 1ms,
                                         .band = gate::priority_band::high,
                                         .error_policy = gate::on_error::skip});
  const gate::address<std::string> to = box.address();
  EXPECT_EQ(to.send("one"), gate::send_status::sent);
  EXPECT_EQ(box.try_send("two"), gate::send_status::sent);
  std::array<std::string, 2> more{"three", "four"};
  const gate::sent_count in = box.send_n(more);
  EXPECT_EQ(in.count, 2U);
  box.pause();
  box.resume();
  threads.drain();
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "three", "four"}));
  const gate::mailbox_stats stats = box.stats();
  EXPECT_EQ(stats.served, 4U);
  EXPECT_EQ(threads.stats().mailboxes, 1U);
  box.close();
  box.join();
  EXPECT_EQ(to.send("late"), gate::send_status::closed);
  EXPECT_EQ(box.error(), nullptr);
}

rota::task<int> uses_a_runtime(rota::runtime& tasks) {
  int sum = 0;
  gate::executor on_tasks(tasks);
  auto box = on_tasks.make_mailbox<int>(
      [&sum](int value) -> rota::task<void> {
        co_await rota::yield();
        sum += value;
      },
      {.capacity = 2, .on_full = gate::overflow::wait});
  for (int i = 1; i <= 10; ++i) {
    const gate::send_status how = co_await box.async_send(i);
    EXPECT_EQ(how, gate::send_status::sent);
  }
  co_await box.async_drain();
  co_await on_tasks.async_drain();
  box.close();
  co_await box.async_join();
  co_return sum;
}

TEST(public_api, mailbox_on_a_runtime_handles_async_sends) {
  rota::runtime tasks;
  EXPECT_EQ(tasks.spawn(uses_a_runtime(tasks)).join(), 55);
}

struct account {
  int balance = 0;
};

rota::task<int> asks(gate::actor_ref<account> to) {
  const auto balance = [](account& it) { return it.balance; };
  auto limited = rota::timeout(1h, to.ask(balance));
  const auto reply = co_await limited;
  co_return reply.value_or(-1);
}

TEST(public_api, actor_serves_tell_call_and_ask) {
  rota::runtime tasks;
  gate::executor on_tasks(tasks);
  gate::actor<account> bank(on_tasks, [] { return account{}; });
  gate::actor<account> savings(
      on_tasks,
      [] { return account{}; },
      {.error_policy = gate::on_error::restart,
       .restarts = {.limit = 5, .within = 1min, .pause = 1us, .longest_pause = 1s}},
      bank.ref().supervisor());
  EXPECT_EQ(savings.tell([](account& it) { it.balance = 7; }), gate::send_status::sent);
  EXPECT_EQ(savings.call([](account& it) { return it.balance; }), 7);
  EXPECT_EQ(tasks.block_on(asks(savings.ref())), 7);
  savings.close();
  savings.join();
  EXPECT_EQ(savings.stats().restarts, 0U);
}

TEST(public_api, fan_in_delivers_the_items_of_all_producers) {
  gate::fan_in<int> in({.producers = 2, .segment = 8});
  auto one = in.make_producer();
  auto two = in.make_producer();
  EXPECT_EQ(one.push(1), gate::send_status::sent);
  EXPECT_EQ(two.try_push(2), gate::send_status::sent);
  int sum = 0;
  while (sum < 3) {
    static_cast<void>(in.wait());
    static_cast<void>(in.drain([&sum](int&& value) { sum += value; }));
  }
  EXPECT_EQ(sum, 3);
}

}  // namespace
