// select in threads: non-blocking and blocking.
#include <rota/channel/bounded.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::channel::select_thread_test {
namespace {

using namespace std::chrono_literals;

TEST(select_of_threads, without_waiting_takes_what_is_ready) {
  auto [tx, rx] = bounded<int>(1);
  auto [tx2, rx2] = unbounded<int>();
  sync::semaphore permits(1);
  sync::mutex m;
  const auto held = m.blocking_lock();
  EXPECT_FALSE(try_select(rx.recv(), rx2.recv(), m.lock()).has_value());
  EXPECT_EQ(tx2.try_send(5), send_status::sent);
  {
    auto got = try_select(rx.recv(), rx2.recv(), m.lock());
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->get<1>(), 5);
  }
  EXPECT_EQ(try_select(on(rx.recv(), [](std::optional<int>) { return 1; }),
                       on(permits.acquire(), [](auto acquired) { return acquired.has_value() ? 2 : 0; })),
            2);
  EXPECT_EQ(permits.available(), 0U);
  int calls = 0;
  EXPECT_TRUE(
      try_select(on(tx.send(8), [&](send_status how) { calls += how == send_status::sent ? 1 : 0; })));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(try_select(tx.send(9)).has_value());
  EXPECT_EQ(rx.try_recv(), 8);
}

TEST(select_of_threads, named_awaitable_that_has_won_waits_anew) {
  auto [tx, rx] = bounded<int>(1);
  sync::notify n;
  auto called = n.wait();
  for (int i = 0; i < 2; ++i) {
    n.notify_all();
    const auto got = try_select(called, rx.recv());
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->index(), 0U);
    EXPECT_FALSE(try_select(called, rx.recv()).has_value()) << "one call lets it pass once";
  }
}

TEST(select_of_threads, closed_channel_is_ready_for_try_select) {
  auto [tx, rx] = bounded<int>(1);
  auto [tx2, rx2] = bounded<int>(1);
  tx.close();
  auto got = try_select(rx.recv(), rx2.recv());
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->index(), 0U);
  EXPECT_FALSE(got->get<0>().has_value());
}

// A try leaves no waiter in the line.
TEST(select_of_threads, try_select_leaves_no_waiter_behind) {
  auto [tx, rx] = bounded<int>(1);
  sync::semaphore permits(1);
  EXPECT_FALSE(try_select(rx.recv(), permits.acquire(2)).has_value());
  EXPECT_EQ(permits.available(), 1U);
  EXPECT_TRUE(permits.try_acquire().has_value());
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  EXPECT_EQ(rx.try_recv(), 1);
}

TEST(select_of_threads, takes_each_ready_case_equally_often) {
  auto a = unbounded<int>();
  auto b = unbounded<int>();
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(a.sender.try_send(i), send_status::sent);
    EXPECT_EQ(b.sender.try_send(i), send_status::sent);
  }
  int first = 0;
  for (int i = 0; i < 1'000; ++i) {
    auto got = blocking_select(a.receiver.recv(), b.receiver.recv());
    first += got.index() == 0 ? 1 : 0;
  }
  EXPECT_GT(first, 400);
  EXPECT_LT(first, 600);
}

TEST(select_of_threads, timed_select_times_out_when_no_case_is_ready) {
  auto [tx, rx] = bounded<int>(1);
  sync::notify n;
  EXPECT_FALSE(blocking_select_for(1ms, rx.recv(), n.wait()).has_value());
  EXPECT_FALSE(blocking_select_until(std::chrono::steady_clock::now(), rx.recv(), n.wait()).has_value());
  n.notify_one();
  auto got = blocking_select_for(1h, rx.recv(), n.wait());
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->index(), 1U);
  EXPECT_EQ(tx.try_send(3), send_status::sent);
  const auto handled = blocking_select_for(1h, on(rx.recv(), [](std::optional<int> item) { return *item; }));
  EXPECT_EQ(handled, 3);
}

// Two channels, two receivers of both, two senders: each item arrives once, and in the order of its sender.
TEST(select_of_threads, nothing_is_lost_or_doubled) {
  constexpr int each = 2'000;
  auto a = bounded<int>(1);
  auto b = bounded<int>(2);
  std::vector<std::thread> all;
  std::vector<std::vector<int>> got(2);
  for (std::size_t k = 0; k < 2; ++k)
    all.emplace_back([from_a = a.receiver, from_b = b.receiver, &mine = got[k]]() mutable {
      bool open_a = true;
      bool open_b = true;
      while (open_a || open_b) {
        auto first = blocking_select(when(open_a, from_a.recv()), when(open_b, from_b.recv()));
        const std::optional<int> item = first.visit([](std::optional<int>& one) { return one; });
        if (item) {
          mine.push_back(*item);
        } else {
          (first.index() == 0 ? open_a : open_b) = false;
        }
      }
    });
  all.emplace_back([to = std::move(a.sender)]() mutable {
    for (int i = 0; i < each; ++i) EXPECT_EQ(to.blocking_send(i), send_status::sent);
    auto gone = std::move(to);
  });
  all.emplace_back([to = std::move(b.sender)]() mutable {
    for (int i = 0; i < each; ++i) EXPECT_EQ(to.blocking_send(each + i), send_status::sent);
    auto gone = std::move(to);
  });
  for (std::thread& one : all) one.join();
  std::vector<int> seen(2 * each);
  for (const auto& mine : got) {
    int last_a = -1;
    int last_b = -1;
    for (const int item : mine) {
      ++seen[static_cast<std::size_t>(item)];
      int& last = item < each ? last_a : last_b;
      EXPECT_GT(item, last);
      last = item;
    }
  }
  for (const int count : seen) ASSERT_EQ(count, 1);
}

// Sends beside receives: each thread gives its item away, or takes one. The sum stays the same.
TEST(select_of_threads, send_and_receive_cases_lose_no_item) {
  auto ring = bounded<int>(1);
  auto back = bounded<int>(1);
  std::thread other([to = back.sender, from = ring.receiver]() mutable {
    for (int i = 0; i < 2'000; ++i) {
      const auto item = from.blocking_recv();
      ASSERT_EQ(item, i);
      ASSERT_EQ(to.blocking_send(i), send_status::sent);
    }
  });
  int sent = 0;
  int received = 0;
  while (received < 2'000) {
    blocking_select(on(when(sent < 2'000, ring.sender.send(sent)), [&](send_status) { ++sent; }),
                    on(back.receiver.recv(), [&](std::optional<int> item) {
                      EXPECT_EQ(item, received);
                      ++received;
                    }));
  }
  other.join();
}

// A leaf that won one round may lose the next before it is polled, and then has nothing to give back.
TEST(select_of_threads, named_awaitables_can_be_selected_repeatedly) {
  auto a = bounded<int>(1);
  auto b = bounded<int>(1);
  sync::mutex m;
  auto from_a = a.receiver.recv();
  auto from_b = b.receiver.recv();
  auto lock = m.lock();
  int rounds[3] = {};
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(a.sender.try_send(i));
    static_cast<void>(b.sender.try_send(i));
    auto first = blocking_select(from_a, from_b, lock);
    ++rounds[first.index()];
    EXPECT_EQ(m.is_locked(), first.index() == 2);
  }
  EXPECT_FALSE(m.is_locked());
  for (const int count : rounds) EXPECT_GT(count, 0);
}

// --- a list

struct many {
  explicit many(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto made = bounded<int>(4);
      senders.push_back(std::move(made.sender));
      receivers.push_back(std::move(made.receiver));
    }
  }
  std::vector<sender<int>> senders;
  std::vector<receiver<int>> receivers;
};

TEST(select_list_of_threads, without_waiting_takes_what_is_ready_and_leaves_nothing_behind) {
  many of(64);
  EXPECT_FALSE(try_select(of.receivers).has_value());
  for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{63}}) {
    EXPECT_EQ(of.senders[at].try_send(5), send_status::sent);
    auto got = try_select(of.receivers);
    static_assert(std::is_same_v<decltype(got), std::optional<chosen<std::optional<int>>>>);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->index(), at);
    EXPECT_EQ(got->get(), 5);
    EXPECT_FALSE(try_select(of.receivers).has_value());
  }
  for (auto& each : of.senders) EXPECT_EQ(each.try_send(1), send_status::sent);
  for (auto& each : of.receivers) EXPECT_EQ(each.try_recv(), 1);
}

TEST(select_list_of_threads, each_ready_case_comes_as_often_as_the_others) {
  std::vector<unbounded_receiver<int>> from;
  for (int k = 0; k < 3; ++k) {
    auto made = unbounded<int>();
    for (int i = 0; i < 3'000; ++i) EXPECT_EQ(made.sender.try_send(i), send_status::sent);
    from.push_back(made.receiver);
  }
  std::array<int, 3> won{};
  for (int i = 0; i < 3'000; ++i) {
    const auto first = i % 2 == 0 ? try_select(from)->index() : blocking_select(from).index();
    ++won[first];
  }
  for (const int each : won) EXPECT_GT(each, 850);
}

TEST(select_list_of_threads, a_function_says_what_each_element_waits_for) {
  std::array<sync::mutex, 3> all;
  const auto lock = [](sync::mutex& each) { return each.lock(); };
  {
    const auto a = all[0].blocking_lock();
    const auto c = all[2].blocking_lock();
    auto first = blocking_select(all, lock);
    EXPECT_EQ(first.index(), 1U);
    EXPECT_TRUE(static_cast<bool>(first.get()));
    EXPECT_FALSE(try_select(all, lock).has_value());
    EXPECT_FALSE(blocking_select_for(1ms, all, lock).has_value());
  }
  for (auto& each : all) EXPECT_FALSE(each.is_locked());
  // Cases without a value, and a span of pointers.
  sync::notify a;
  sync::notify b;
  const std::array<sync::notify*, 2> calls{&a, &b};
  const auto wait = [](sync::notify* each) { return each->wait(); };
  b.notify_one();
  auto called = try_select(std::span(calls), wait);
  ASSERT_TRUE(called.has_value());
  EXPECT_EQ(called->index(), 1U);
  EXPECT_EQ(called->get(), no_value());
  EXPECT_FALSE(blocking_select_until(std::chrono::steady_clock::now(), calls, wait).has_value());
}

/// Returns the message of what `call` throws.
template <class Call>
std::string words_of(Call call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(select_list_of_threads, an_empty_list_and_one_of_more_than_64_are_refused) {
  many none(0);
  many too_many(65);
  for (auto& each : too_many.senders) EXPECT_EQ(each.try_send(1), send_status::sent);
  const auto expect_refused = [](many& of, const char* words) {
    EXPECT_EQ(words_of([&] { static_cast<void>(try_select(of.receivers)); }), words);
    EXPECT_EQ(words_of([&] { blocking_select(of.receivers); }), words);
    EXPECT_EQ(words_of([&] { blocking_select_for(1h, of.receivers); }), words);
    EXPECT_EQ(words_of([&] { blocking_select_until(std::chrono::steady_clock::now(), of.receivers); }),
              words);
  };
  expect_refused(none, "channel::select: no case is enabled");
  expect_refused(too_many, "channel::select: the list has 65 cases: must be at most 64");
  for (auto& each : too_many.receivers) EXPECT_EQ(each.size(), 1U);
}

// Leaves that exist already are destroyed, together with what they hold.
TEST(select_list_of_threads, what_the_function_throws_is_thrown_and_nothing_was_sent) {
  auto to = bounded<std::shared_ptr<int>>(4);
  const auto item = std::make_shared<int>(1);
  std::array<int, 3> list{1, 2, 3};
  const auto sends = [&](int n) {
    if (n == 3) throw std::runtime_error("third");
    return to.sender.send(item);
  };
  EXPECT_EQ(words_of([&] { blocking_select(list, sends); }), "third");
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(to.receiver.size(), 0U);
}

// As in a task: one receiver may have any number of waits.
TEST(select_list_of_threads, a_receiver_may_be_there_twice) {
  auto [tx, rx] = bounded<int>(4);
  const std::vector<receiver<int>*> twice{&rx, &rx};
  const auto recv = [](receiver<int>* each) { return each->recv(); };
  EXPECT_FALSE(blocking_select_for(1ms, twice, recv).has_value());
  std::thread sends([to = tx]() mutable {
    for (int i = 0; i < 500; ++i) EXPECT_EQ(to.blocking_send(i), send_status::sent);
  });
  for (int i = 0; i < 500; ++i) EXPECT_EQ(blocking_select(twice, recv).get(), i);
  sends.join();
  EXPECT_EQ(rx.size(), 0U);
}

// Four channels, two receivers of all, four senders: each item arrives once; each receiver sees each end.
TEST(select_list_of_threads, nothing_is_lost_or_doubled_and_ends_come_by_their_index) {
  constexpr int each = 1'000;
  many of(4);
  std::vector<std::vector<int>> got(2);
  std::vector<std::thread> all;
  for (auto& mine : got)
    all.emplace_back([from = of.receivers, &mine]() mutable {
      while (!from.empty()) {
        auto first = blocking_select(from);
        if (first.get().has_value()) {
          mine.push_back(*first.get());
        } else {
          from.erase(from.begin() + static_cast<std::ptrdiff_t>(first.index()));
        }
      }
    });
  for (int k = 0; k < 4; ++k)
    all.emplace_back([to = std::move(of.senders[static_cast<std::size_t>(k)]), k]() mutable {
      for (int i = 0; i < each; ++i) EXPECT_EQ(to.blocking_send(each * k + i), send_status::sent);
      const auto gone = std::move(to);
    });
  for (std::thread& one : all) one.join();
  std::vector<int> seen(4 * each);
  for (const auto& mine : got)
    for (const int item : mine) ++seen[static_cast<std::size_t>(item)];
  for (const int count : seen) ASSERT_EQ(count, 1);
}

TEST(select_of_threads, on_a_testing_runtime_a_wait_with_a_limit_is_over_at_once) {
  testing::runtime alone;
  alone.block_on([]() -> task<void> {
    auto [tx, rx] = bounded<int>(1);
    sync::notify n;
    EXPECT_FALSE(blocking_select_for(1h, rx.recv(), n.wait()).has_value());
    n.notify_one();
    EXPECT_TRUE(blocking_select_for(1h, rx.recv(), n.wait()).has_value());
    co_return;
  });
}

}  // namespace
}  // namespace rota::channel::select_thread_test
