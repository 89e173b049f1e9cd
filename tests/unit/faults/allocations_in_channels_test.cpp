// Channels without memory: a maker or sender gets bad_alloc, the channel is unchanged, and nothing leaks.
#include "support/manual_scheduler.hpp"
#include "unit/faults/allocation_support.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::allocations_in_channels_test {
namespace {

using test::guest;
using test::memory;

/// Allocates when it is copied. Its number tells it apart.
struct parcel {
  explicit parcel(int n) : number(std::make_unique<int>(n)) {}
  parcel(const parcel& other) : number(std::make_unique<int>(*other.number)) {}
  parcel(parcel&&) noexcept = default;
  parcel& operator=(const parcel&) = delete;
  ~parcel() = default;
  std::unique_ptr<int> number;
  guest counted;
};

/// Calls `f`. If that throws bad_alloc, `as_it_was` must hold; then the exception is rethrown.
template <class F, class Check>
void all_or_nothing(F f, Check as_it_was) {
  try {
    f();
  } catch (const std::bad_alloc&) {
    memory::stop_failing();
    EXPECT_TRUE(as_it_was());
    throw;
  }
}

struct call {
  const char* name;
  void (*body)();
};
std::ostream& operator<<(std::ostream& out, const call& c) { return out << c.name; }

auto parcels_by_weight() {
  return bounded_by_weight<parcel>(
      100, 200, [keeps = std::string()](const parcel& /*item*/) noexcept { return 2U + keeps.size(); });
}

const call calls[] = {
    {"bounded",
     [] {
       auto [tx, rx] = bounded<parcel>(2);
       EXPECT_EQ(tx.try_send(parcel(1)), send_status::sent);
       EXPECT_EQ(*rx.try_recv()->number, 1);
     }},
    {"bounded_that_grows",
     [] {
       auto [tx, rx] = bounded<parcel>(100);
       int received = 0;
       for (int i = 0; i < 100; ++i) {
         parcel mine(i);
         send_status how = tx.try_send(std::move(mine));
         if (how == send_status::full) {  // no memory to grow
           EXPECT_TRUE(mine.number != nullptr && rx.size() >= 32);
           EXPECT_EQ(*rx.try_recv()->number, received++);
           how = tx.try_send(std::move(mine));
         }
         EXPECT_EQ(how, send_status::sent);
       }
       while (received < 100) EXPECT_EQ(*rx.try_recv()->number, received++);
     }},
    {"bounded_by_weight_that_grows",
     [] {
       auto [tx, rx] = parcels_by_weight();
       int received = 0;
       for (int i = 0; i < 100; ++i) {
         parcel mine(i);
         send_status how = tx.try_send(std::move(mine));
         if (how == send_status::full) {  // no memory to grow
           EXPECT_TRUE(mine.number != nullptr && rx.size() >= 32);
           EXPECT_EQ(*rx.try_recv()->number, received++);
           how = tx.try_send(std::move(mine));
         }
         EXPECT_EQ(how, send_status::sent);
       }
       while (received < 100) EXPECT_EQ(*rx.try_recv()->number, received++);
       EXPECT_EQ(rx.weight(), 0U);
     }},
    {"unbounded",
     [] {
       auto [tx, rx] = unbounded<parcel>();
       parcel mine(1);
       all_or_nothing([&] { EXPECT_EQ(tx.try_send(std::move(mine)), send_status::sent); },
                      [&] { return rx.size() == 0 && mine.number != nullptr; });
       EXPECT_EQ(*rx.try_recv()->number, 1);
     }},
    {"unbounded_where_blocks_end",
     [] {
       auto [tx, rx] = unbounded<parcel>();
       for (unsigned i = 0; i < 70; ++i) {
         parcel mine(static_cast<int>(i));
         all_or_nothing([&] { EXPECT_EQ(tx.try_send(std::move(mine)), send_status::sent); },
                        [&] { return rx.size() == i - i / 2 && mine.number != nullptr; });
         if (i % 2 == 0) continue;
         EXPECT_EQ(*rx.try_recv()->number, static_cast<int>(i / 2));
       }
     }},
    {"oneshot",
     [] {
       auto [tx, rx] = oneshot<parcel>();
       EXPECT_EQ(std::move(tx).send(parcel(1)), send_status::sent);
       EXPECT_EQ(*rx.try_recv()->number, 1);
     }},
    {"watch",
     [] {
       auto [tx, rx] = watch(parcel(1));
       const auto number = [&rx] { return rx.borrow([](const parcel& p) { return *p.number; }); };
       all_or_nothing([&] { EXPECT_EQ(tx.send(parcel(2)), send_status::sent); },
                      [&] { return number() == 1 && !rx.has_changed(); });
       all_or_nothing([&] { EXPECT_EQ(tx.send_modify([](parcel& p) { ++*p.number; }), send_status::sent); },
                      [&] { return number() == 2; });
       all_or_nothing([&] { EXPECT_EQ(*rx.get_and_update().number, 3); }, [&] { return number() == 3; });
       EXPECT_EQ(*rx.blocking_when([](const parcel&) { return true; })->number, 3);
     }},
    {"broadcast",
     [] {
       auto [tx, rx] = broadcast<parcel>(2);
       auto other = tx.subscribe();
       all_or_nothing([&] { EXPECT_EQ(tx.send(parcel(1)), send_status::sent); },
                      [&] { return rx.size() == 0; });
       all_or_nothing([&] { EXPECT_EQ(*rx.try_recv()->number, 1); },
                      [&] { return rx.size() == 1 && *rx.try_recv()->number == 1; });
       all_or_nothing([&] { EXPECT_EQ(*other.blocking_recv()->number, 1); },
                      [&] { return other.size() == 1; });
     }},
};

class allocations_in_channels : public ::testing::TestWithParam<call> {
 protected:
  static std::size_t attempt(std::size_t nth) {
    const long before = memory::live();
    memory::fail_after(nth, 1);
    const test::verdict v = test::judge([] { GetParam().body(); });
    const std::size_t failed = memory::stop_failing();
    EXPECT_NE(v.how, test::ending::other) << v.what;
    EXPECT_EQ(guest::count(), 0);
    EXPECT_EQ(memory::live(), before);
    // `failed` is valid only in the first caller of stop_failing(), which may have been all_or_nothing().
    return v.how == test::ending::no_memory ? 1 : failed;
  }
};

TEST_P(allocations_in_channels, fail_one_after_the_other) {
  test::forgo_frame_cache();
  GetParam().body();  // makes the allocations that happen once per process
  test::until_clean(attempt);
}

INSTANTIATE_TEST_SUITE_P(each_channel,
                         allocations_in_channels,
                         ::testing::ValuesIn(calls),
                         [](const auto& which) { return std::string(which.param.name); });

// ---- the memory of a bounded channel

constexpr int first_places = 32;
/// The size of a block: smaller ones would come from the cached frames.
constexpr int least_bytes = 2'049;

// The send that takes the last free place adds a block.
TEST(memory_of_channels, bounded_channel_grows_as_it_fills) {
  test::forgo_frame_cache();
  for (const int capacity : {1, 32, 33, 100, 4096}) {
    SCOPED_TRACE(capacity);
    const long before = memory::live();
    const long bytes_before = memory::live_bytes();
    {
      auto [tx, rx] = bounded<std::uint64_t>(static_cast<std::uint64_t>(capacity));
      EXPECT_EQ(memory::live() - before, 1);
      EXPECT_LE(memory::live_bytes() - bytes_before, 2'000);
      // One item at a time needs one place, for any number of rounds.
      for (int i = 0; i < 3 * capacity; ++i) {
        EXPECT_EQ(tx.try_send(7), send_status::sent);
        EXPECT_EQ(rx.try_recv(), 7U);
      }
      EXPECT_EQ(memory::live() - before, 1);
      int blocks = 1;
      int places = std::min(capacity, first_places);
      for (int i = 1; i <= capacity; ++i) {
        EXPECT_EQ(tx.try_send(7), send_status::sent);
        if (i == places && places < capacity) {
          places = std::min(capacity, places + (first_places << blocks));
          ++blocks;
        }
        ASSERT_EQ(memory::live() - before, blocks) << i;
        ASSERT_LE(memory::live_bytes() - bytes_before, 2'000 + (blocks - 1) * least_bytes + 16 * places) << i;
      }
      EXPECT_EQ(tx.try_send(7), send_status::full);
      for (int i = 0; i < capacity; ++i) EXPECT_EQ(rx.try_recv(), 7U);
      EXPECT_EQ(memory::live() - before, blocks) << "the blocks stay, and serve again";
      for (int i = 0; i < capacity; ++i) EXPECT_EQ(tx.try_send(7), send_status::sent);
      EXPECT_EQ(memory::live() - before, blocks);
    }
    EXPECT_EQ(memory::live(), before);
  }
}

// Without memory a channel of 32 places is full at 32 items. With memory again it accepts all 100.
TEST(memory_of_channels, bounded_channel_that_cannot_grow_is_full_at_its_size) {
  test::forgo_frame_cache();
  for (const overflow policy : {overflow::wait, overflow::reject, overflow::drop_newest}) {
    auto [tx, rx] = bounded<int>(100, {.on_full = policy});
    memory::fail_after(0, 1'000);
    int sent = 0;
    while (tx.try_send(sent) == send_status::sent) ++sent;
    const send_status again = tx.try_send(-1);
    memory::stop_failing();
    EXPECT_EQ(again, policy == overflow::drop_newest ? send_status::dropped : send_status::full);
    EXPECT_EQ(sent, first_places);
    EXPECT_EQ(rx.size(), 32U);
    EXPECT_EQ(tx.capacity(), 100U);
    EXPECT_EQ(tx.try_send(-1), again) << "no place is free, so none is the last one";
    EXPECT_EQ(rx.try_recv(), 0);
    while (tx.try_send(sent) == send_status::sent) ++sent;
    EXPECT_EQ(sent, 101);
    EXPECT_EQ(rx.size(), 100U);
    for (int i = 1; i < sent; ++i) EXPECT_EQ(rx.try_recv(), i);
  }
}

TEST(memory_of_channels, weighed_channel_that_cannot_grow_is_full_at_its_size) {
  test::forgo_frame_cache();
  auto [tx, rx] = bounded_by_weight<int>(100, 1'000, [](const int& /*item*/) noexcept { return 1U; });
  memory::fail_after(0, 1'000);
  int sent = 0;
  while (tx.try_send(sent) == send_status::sent) ++sent;
  EXPECT_EQ(sent, first_places);
  EXPECT_EQ(tx.blocking_send_for(std::chrono::nanoseconds(0), -1), send_status::timed_out);
  memory::stop_failing();
  EXPECT_EQ(tx.weight(), 32U);
  while (tx.try_send(sent) == send_status::sent) ++sent;
  EXPECT_EQ(sent, 100);
  for (int i = 0; i < sent; ++i) EXPECT_EQ(rx.try_recv(), i);
}

TEST(memory_of_channels, bounded_channel_that_cannot_grow_drops_the_oldest_early) {
  test::forgo_frame_cache();
  auto [tx, rx] = bounded<int>(100, {.on_full = overflow::drop_oldest});
  memory::fail_after(0, 1'000);
  int sent = 0;
  for (; sent < 45; ++sent) EXPECT_EQ(tx.try_send(sent), send_status::sent);
  memory::stop_failing();
  EXPECT_EQ(rx.size(), 32U);
  EXPECT_EQ(tx.stats().dropped_oldest, 13U);
  EXPECT_EQ(rx.try_recv(), 13);
  // 31 items are queued; these sends make it 100.
  for (; sent < 45 + 69; ++sent) EXPECT_EQ(tx.try_send(sent), send_status::sent);
  EXPECT_EQ(rx.size(), 100U);
  EXPECT_EQ(tx.stats().dropped_oldest, 13U);
  for (int i = 14; i < sent; ++i) EXPECT_EQ(rx.try_recv(), i);
}

// A sender waits, since the ring could not grow. A receive frees a place and calls it; the ring grows again.
TEST(memory_of_channels, a_send_without_memory_for_growth_waits) {
  auto made = bounded<int>(100);
  auto& tx = made.sender;
  auto& rx = made.receiver;
  memory::fail_after(0, 1'000);
  for (int i = 0; i < first_places; ++i) EXPECT_EQ(tx.try_send(i), send_status::sent);
  memory::stop_failing();
  std::thread waits([&tx] {
    for (int i = first_places; i < 101; ++i) EXPECT_EQ(tx.blocking_send(i), send_status::sent);
  });
  test::wait_until([&tx] { return tx.waiting_senders() == 1; });
  EXPECT_EQ(rx.try_recv(), 0);
  waits.join();
  EXPECT_EQ(rx.size(), 100U);
  for (int i = 1; i < 101; ++i) EXPECT_EQ(rx.try_recv(), i);
}

task<> sends(weighed_sender<int>& to, int item) {
  const send_status how = co_await to.send(std::move(item));
  EXPECT_EQ(how, send_status::sent);
}

// A sender finds no memory, and joins the line while another sender is at its allocation of more places.
TEST(memory_of_channels, slots_added_by_one_sender_reach_a_waiting_sender) {
  test::manual_scheduler tasks;
  auto made = bounded_by_weight<int>(64, 64, [](int /*item*/) noexcept { return 1U; });
  auto& tx = made.sender;
  auto& rx = made.receiver;
  for (int i = 0; i < 32; ++i) ASSERT_EQ(tx.try_send(i), send_status::sent);
  const auto waits = tasks.spawn(sends(tx, 32));
  const auto meanwhile = [](void* with) {
    memory::fail_after(0, 2);
    static_cast<test::manual_scheduler*>(with)->run_until_idle();
    EXPECT_EQ(memory::stop_failing(), 2U) << "one before it joins the line, and one when it joins";
  };
  memory::before_next_here(meanwhile, &tasks);
  EXPECT_EQ(tx.try_send(33), send_status::sent);
  tasks.run_until_idle();
  EXPECT_EQ(rx.size(), 34U);
  if (!waits.is_done()) static_cast<void>(rx.try_recv());  // so that the task ends
}

// The blocks of an unbounded channel are freed with their items; 64 bytes for each 32 items remain.
TEST(memory_of_channels, unbounded_channel_frees_its_blocks_with_its_items) {
  static constexpr int count = 32'000;
  test::forgo_frame_cache();
  const long before = memory::live();
  {
    auto [tx, rx] = unbounded<std::uint64_t>();
    for (int i = 0; i < count; ++i) EXPECT_EQ(tx.try_send(7), send_status::sent);
    const long most = memory::live() - before;
    for (int i = 0; i < count; ++i) EXPECT_EQ(rx.try_recv(), 7U);
    const long left = memory::live() - before;
    EXPECT_GE(most, 2 * count / 32);
    EXPECT_LE(left, most - count / 32 + 3) << "a few rooms are kept, and what is known of blocks";
    // The remaining memory is used again.
    for (int i = 0; i < count; ++i) EXPECT_EQ(tx.try_send(7), send_status::sent);
    EXPECT_LE(memory::live() - before, most + 1);
  }
  EXPECT_EQ(memory::live(), before);
}

}  // namespace
}  // namespace rota::channel::allocations_in_channels_test
