#include <rota/gate/fan_in.hpp>
#include <rota/gate/mailbox.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::fan_in_test {
namespace {

using namespace std::chrono_literals;

std::string refusal(const fan_in_options& options) {
  try {
    const fan_in<int> made(options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "none";
}

std::vector<int> drained(fan_in<int>& in, std::size_t most = SIZE_MAX) {
  std::vector<int> seen;
  in.drain([&seen](int item) { seen.push_back(item); }, most);
  return seen;
}

TEST(a_fan_in, refuses_options_out_of_range) {
  EXPECT_EQ(refusal({.producers = 0}), "rota::gate: fan_in_options::producers is 0, and must be 1 to 4032");
  EXPECT_EQ(refusal({.producers = 4033}),
            "rota::gate: fan_in_options::producers is 4033, and must be 1 to 4032");
  EXPECT_EQ(refusal({.segment = 0}), "rota::gate: fan_in_options::segment is 0, and must be 1 to 16777216");
  EXPECT_EQ(
      refusal({.segment = SIZE_MAX}),
      "rota::gate: fan_in_options::segment is " + std::to_string(SIZE_MAX) + ", and must be 1 to 16777216");
  EXPECT_EQ(refusal({.budget = 0}), "rota::gate: fan_in_options::budget is 0, and must be 1 to 65536");
  EXPECT_EQ(refusal({.producers = 4032, .segment = 1, .budget = 65'536}), "none");
}

TEST(a_fan_in, takes_a_producer_s_items_in_order) {
  fan_in<int> in;
  auto from = in.make_producer();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(from.push(i), send_status::sent);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(in.take(), std::optional(i));
  EXPECT_EQ(in.try_take().error(), fan_in_state::empty);
}

TEST(a_fan_in, serves_its_producers_in_turns) {
  fan_in<int> in({.producers = 2, .segment = 8, .budget = 2});
  auto one = in.make_producer();
  auto two = in.make_producer();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(one.push(10 + i), send_status::sent);
    ASSERT_EQ(two.push(20 + i), send_status::sent);
  }
  EXPECT_EQ(drained(in, 3), (std::vector<int>{10, 11, 20}));
  EXPECT_EQ(in.take(), std::optional(21)) << "its turn goes on";
  EXPECT_EQ(drained(in), (std::vector<int>{12, 13, 22, 23, 14, 24}));
}

TEST(a_fan_in, finds_the_producers_that_have_items_among_4032) {
  constexpr int most = 4032;
  fan_in<int> in({.producers = most, .segment = 1});
  std::vector<fan_in<int>::producer> producers;
  for (int i = 0; i < most; ++i) producers.push_back(in.make_producer());
  EXPECT_THROW(static_cast<void>(in.make_producer()), std::length_error);
  for (const int i : {4031, 77, 2000}) {
    EXPECT_EQ(producers[static_cast<std::size_t>(i)].push(i), send_status::sent);
    EXPECT_EQ(in.wait(), fan_in_state::ready);
    EXPECT_EQ(drained(in), std::vector<int>{i});
  }
  for (int i = 0; i < most; ++i) EXPECT_EQ(producers[static_cast<std::size_t>(i)].push(i), send_status::sent);
  EXPECT_EQ(drained(in).size(), static_cast<std::size_t>(most));
}

TEST(a_full_segment, refuses_and_leaves_the_item_alone) {
  fan_in<std::unique_ptr<int>> in({.segment = 3});  // rounded up to four
  auto from = in.make_producer();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(from.try_push(std::make_unique<int>(i)), send_status::sent);
  auto late = std::make_unique<int>(4);
  EXPECT_EQ(from.try_push(std::move(late)), send_status::full);
  ASSERT_NE(late, nullptr);  // NOLINT: it was not taken
  EXPECT_EQ(**in.take(), 0);
  EXPECT_EQ(from.try_push(std::move(late)), send_status::sent) << "one was taken, so there is room";
  EXPECT_EQ(late, nullptr);  // NOLINT: it was taken
}

TEST(a_full_segment, takes_the_part_of_a_batch_that_fits) {
  fan_in<std::string> in({.segment = 4});
  auto from = in.make_producer();
  std::array<std::string, 3> some{"a", "b", "c"};
  EXPECT_EQ(from.push_n(some).count, 3U);
  some = {"d", "e", "f"};
  const sent_count sent = from.push_n(some);
  EXPECT_EQ(sent.count, 1U);
  EXPECT_EQ(sent.status, send_status::full);
  EXPECT_EQ(some[1] + some[2], "ef") << "as they were";
  EXPECT_EQ(from.push_n(some).count, 0U);
  EXPECT_EQ(from.push_n({}).status, send_status::sent);
  std::string all;
  in.drain([&all](const std::string& item) { all += item; });
  EXPECT_EQ(all, "abcd");
  EXPECT_EQ(from.push_n(std::span(some).subspan(1)).status, send_status::sent);
  EXPECT_EQ(in.take(), std::optional<std::string>("e"));
  EXPECT_EQ(in.take(), std::optional<std::string>("f"));
}

TEST(a_full_segment, blocks_a_push_until_there_is_space) {
  fan_in<int> in({.segment = 2});
  std::jthread pushing([from = in.make_producer()]() mutable {
    for (int i = 0; i < 20'000; ++i) EXPECT_EQ(from.push(i), send_status::sent);
  });
  int next = 0;
  while (const auto item = in.take()) EXPECT_EQ(*item, next++);
  EXPECT_EQ(next, 20'000) << "the end comes when the last producer has gone, and not before";
}

// The push may or may not have blocked: this test cannot tell. The model tries both.
TEST(a_full_segment, returns_closed_to_a_blocked_push_when_the_fan_in_closes) {
  for (int round = 0; round < 200; ++round) {
    fan_in<int> in({.segment = 1});
    auto from = in.make_producer();
    ASSERT_EQ(from.push(1), send_status::sent);
    auto end = std::async(std::launch::async, [&from] { return from.push(2); });
    in.close();
    EXPECT_EQ(end.get(), send_status::closed);
    EXPECT_EQ(in.take(), std::optional(1));
    EXPECT_EQ(in.take(), std::nullopt);
  }
}

TEST(a_full_segment, returns_closed_to_a_blocked_push_when_the_fan_in_is_destroyed) {
  for (int round = 0; round < 200; ++round) {
    std::optional<fan_in<int>> in(std::in_place, fan_in_options{.segment = 1});
    auto from = in->make_producer();
    ASSERT_EQ(from.push(1), send_status::sent);
    auto end = std::async(std::launch::async, [&from] { return from.push(2); });
    in.reset();
    EXPECT_EQ(end.get(), send_status::closed);
  }
}

TEST(a_full_segment, refuses_a_push_of_a_task_or_handler_instead_of_blocking_it) {
  fan_in<int> in({.segment = 1});
  auto from = in.make_producer();
  ASSERT_EQ(from.push(1), send_status::sent);
  send_status in_a_task = send_status::sent;
  const auto try_it = [&]() -> task<void> {
    in_a_task = from.push(2);
    co_return;
  };
  runtime rt;
  rt.block_on(try_it());
  EXPECT_EQ(in_a_task, send_status::full);

  send_status in_a_handler = send_status::sent;
  executor threads(1);
  auto box = threads.make_mailbox<int>([&](int item) { in_a_handler = from.push(item); });
  ASSERT_EQ(box.send(3), send_status::sent);
  box.drain();
  EXPECT_EQ(in_a_handler, send_status::full);
}

TEST(a_producer, outlives_its_fan_in) {
  std::optional<fan_in<std::string>> in(std::in_place);
  auto from = in->make_producer();
  ASSERT_EQ(from.push("kept"), send_status::sent);
  in.reset();
  std::string late = "late";
  EXPECT_EQ(from.push(std::move(late)), send_status::closed);
  EXPECT_EQ(late, "late");  // NOLINT: it was not taken
}

TEST(a_producer, reports_closed_when_its_fan_in_is_closed) {
  fan_in<int> in({.producers = 1});
  in.close();
  auto one = in.make_producer();
  auto two = in.make_producer();
  EXPECT_EQ(one.push(1), send_status::closed);
  EXPECT_EQ(two.try_push(1), send_status::closed);
  EXPECT_TRUE(in.is_closed());
}

TEST(a_producer, that_was_moved_from_is_empty) {
  fan_in<int> in;
  fan_in<int>::producer none;
  EXPECT_FALSE(none);
  EXPECT_THROW(static_cast<void>(none.push(1)), std::logic_error);
  auto one = in.make_producer();
  auto two = std::move(one);
  EXPECT_FALSE(one);                                                   // NOLINT: checks its moved-from state
  EXPECT_THROW(static_cast<void>(one.try_push(1)), std::logic_error);  // NOLINT: the same
  EXPECT_EQ(two.push(1), send_status::sent);
  one = std::move(two);
  EXPECT_EQ(one.push(2), send_status::sent);
  EXPECT_EQ(drained(in), (std::vector<int>{1, 2}));
}

TEST(a_slot, is_given_back_when_its_producer_is_gone_and_its_items_are_taken) {
  fan_in<int> in({.producers = 1, .segment = 4});
  for (int round = 0; round < 10; ++round) {
    {
      auto from = in.make_producer();
      for (int i = 0; i < round % 4; ++i) ASSERT_EQ(from.push(i), send_status::sent);
    }
    EXPECT_THROW(static_cast<void>(in.make_producer()), std::length_error) << "nobody has looked";
    EXPECT_EQ(drained(in).size(), static_cast<std::size_t>(round % 4));
    EXPECT_EQ(in.take(), std::nullopt) << "there is no producer";
  }
}

TEST(fan_in_end, is_not_reported_before_the_first_producer) {
  fan_in<int> in;
  EXPECT_EQ(in.try_take().error(), fan_in_state::empty);
  EXPECT_EQ(in.wait_until(std::chrono::steady_clock::now() + 1ms), fan_in_state::empty);
  auto from = in.make_producer();
  EXPECT_EQ(from.push(1), send_status::sent);
  EXPECT_EQ(in.wait(), fan_in_state::ready);
  EXPECT_EQ(in.wait(), fan_in_state::ready) << "it is still there";
  EXPECT_EQ(in.try_take(), (std::expected<int, fan_in_state>(1)));
  from = {};
  EXPECT_EQ(in.wait(), fan_in_state::ended);
  EXPECT_EQ(in.try_take().error(), fan_in_state::ended);
}

TEST(fan_in_end, is_revoked_when_another_producer_is_made) {
  fan_in<int> in;
  static_cast<void>(in.make_producer());
  EXPECT_EQ(in.wait(), fan_in_state::ended);
  auto from = in.make_producer();
  EXPECT_EQ(in.try_take().error(), fan_in_state::empty);
  EXPECT_EQ(from.push(1), send_status::sent);
  EXPECT_EQ(in.take(), std::optional(1));
}

TEST(fan_in_end, is_reported_after_a_close_when_all_items_were_taken) {
  fan_in<int> in;
  auto from = in.make_producer();
  ASSERT_EQ(from.push(1), send_status::sent);
  in.close();
  in.close();
  EXPECT_EQ(from.push(2), send_status::closed);
  EXPECT_EQ(in.wait(), fan_in_state::ready);
  EXPECT_EQ(in.take(), std::optional(1));
  EXPECT_EQ(in.take(), std::nullopt);
  EXPECT_EQ(drained(in), std::vector<int>{});
}

TEST(fan_in_end, ends_a_wait_in_another_thread_after_a_close) {
  fan_in<int> in;
  auto end = std::async(std::launch::async, [&in] { return in.wait(); });
  in.close();
  EXPECT_EQ(end.get(), fan_in_state::ended);
}

TEST(a_drain_callback, loses_only_the_item_for_which_it_throws) {
  fan_in<int> in({.segment = 8, .budget = 3});
  auto one = in.make_producer();
  auto two = in.make_producer();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_EQ(one.push(i), send_status::sent);
    ASSERT_EQ(two.push(10 * i), send_status::sent);
  }
  std::vector<int> seen;
  int thrown = 0;
  for (bool done = false; !done;) {
    try {
      in.drain([&](int item) {
        if (item % 2 == 0) throw item;
        seen.push_back(item);
      });
      done = true;
    } catch (int) {
      ++thrown;
    }
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(thrown, 7);
  EXPECT_EQ(one.push(6), send_status::sent);
  EXPECT_EQ(in.take(), std::optional(6));
}

struct counted {
  explicit counted(std::atomic<int>& in) noexcept : alive(&in) { ++*alive; }
  counted(counted&& other) noexcept : alive(other.alive) { ++*alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --*alive; }
  std::atomic<int>* alive;
};

TEST(a_waiting_item, is_destroyed_once_with_the_fan_in) {
  std::atomic<int> alive{0};
  {
    fan_in<counted> in({.segment = 8});
    auto from = in.make_producer();
    auto gone = in.make_producer();
    for (int i = 0; i < 6; ++i) ASSERT_EQ(from.push(counted(alive)), send_status::sent);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(gone.push(counted(alive)), send_status::sent);
    gone = {};
    static_cast<void>(in.take());
    EXPECT_EQ(alive.load(), 8);
  }
  EXPECT_EQ(alive.load(), 0);
}

TEST(an_item, may_want_a_large_alignment) {
  struct alignas(256) wide {
    int number;
  };
  fan_in<wide> in({.segment = 4});
  auto from = in.make_producer();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(from.push(wide{i}), send_status::sent);
  int next = 0;
  in.drain([&next](wide&& item) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&item) % 256, 0U);
    EXPECT_EQ(item.number, next++);
  });
  EXPECT_EQ(next, 4);
}

// Eight threads with small segments, which block, and a consumer that sleeps: no item is lost or reordered.
class eight_producers : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(consumers, eight_producers, ::testing::Bool(), [](const auto& takes) {
  return std::string(takes.param ? "take" : "drain");
});

TEST_P(eight_producers, lose_nothing) {
  constexpr std::uint64_t each = 20'000;
  fan_in<std::uint64_t> in({.producers = 8, .segment = 16});
  std::vector<std::jthread> threads;
  for (std::uint64_t p = 0; p < 8; ++p) {
    threads.emplace_back([from = in.make_producer(), p]() mutable {
      std::array<std::uint64_t, 5> batch{};
      for (std::uint64_t i = 0; i < each;) {
        if (i % 7 == 0 && i + batch.size() <= each) {
          for (std::uint64_t b = 0; b < batch.size(); ++b) batch[b] = p << 32U | (i + b);
          i += from.push_n(batch).count;
        } else {
          EXPECT_EQ(from.push(p << 32U | i), send_status::sent);
          ++i;
        }
      }
    });
  }
  std::array<std::uint64_t, 8> next{};
  const auto see = [&next](std::uint64_t item) { EXPECT_EQ(item & 0xffffffffU, next.at(item >> 32U)++); };
  if (GetParam()) {
    while (const auto item = in.take()) see(*item);
  } else {
    while (in.wait() != fan_in_state::ended) in.drain(see);
  }
  for (const std::uint64_t got : next) EXPECT_EQ(got, each);
}

// More producers than slots. Each pushes a little and leaves; its last schedule() races with the successor's.
TEST(a_slot, is_reused_by_many_short_lived_producers) {
  constexpr int threads = 4;
  constexpr int rounds = 2'000;
  fan_in<int> in({.producers = 3, .segment = 4});
  auto keeper = in.make_producer();  // prevents the end until all have pushed
  std::atomic<int> sent{0};
  std::vector<std::jthread> pushing;
  std::atomic<int> busy{threads};
  for (int t = 0; t < threads; ++t) {
    pushing.emplace_back([&] {
      for (int round = 0; round < rounds;) {
        try {
          auto from = in.make_producer();
          for (int i = 0; i < round % 6; ++i) {
            EXPECT_EQ(from.push(i), send_status::sent);
            sent.fetch_add(1, std::memory_order_relaxed);
          }
          ++round;
        } catch (const std::length_error&) {
          std::this_thread::yield();
        }
      }
      if (busy.fetch_sub(1) == 1) keeper = {};
    });
  }
  int taken = 0;
  while (in.take().has_value()) ++taken;
  pushing.clear();
  EXPECT_EQ(taken, sent.load());
  EXPECT_NO_THROW({
    auto one = in.make_producer();
    auto two = in.make_producer();
    auto three = in.make_producer();
  });
}

// Producers beside a close: a sent item is taken, and a refused one stays with its producer.
TEST(a_close, loses_no_sent_item_when_it_races_with_producers) {
  for (int round = 0; round < 200; ++round) {
    fan_in<std::unique_ptr<int>> in({.producers = 4, .segment = 4});
    std::atomic<int> sent{0};
    std::vector<std::jthread> pushing;
    for (int t = 0; t < 3; ++t) {
      pushing.emplace_back([&sent, from = in.make_producer(), t]() mutable {
        auto item = std::make_unique<int>(t);
        while (from.push(std::move(item)) == send_status::sent) {
          sent.fetch_add(1, std::memory_order_relaxed);
          item = std::make_unique<int>(t);
        }
        EXPECT_NE(item, nullptr);  // NOLINT: it was refused
      });
    }
    std::jthread closing;
    int taken = 0;
    while (in.take().has_value()) {
      if (++taken == 20) closing = std::jthread([&in] { in.close(); });
    }
    pushing.clear();
    EXPECT_EQ(taken, sent.load());
  }
}

}  // namespace
}  // namespace rota::gate::fan_in_test
