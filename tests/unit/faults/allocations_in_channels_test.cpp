// Channels, while memory fails them: bad_alloc to who makes one or sends, the channel is as it was, and nothing leaks.
#include "unit/faults/allocation_support.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace rota::channel::allocations_in_channels_test {
namespace {

using test::guest;
using test::memory;

/// Allocates when it is copied, and is told apart.
struct parcel {
  explicit parcel(int n) : number(std::make_unique<int>(n)) {}
  parcel(const parcel& other) : number(std::make_unique<int>(*other.number)) {}
  parcel(parcel&&) noexcept = default;
  parcel& operator=(const parcel&) = delete;
  ~parcel() = default;
  std::unique_ptr<int> number;
  guest counted;
};

/// Calls `f`; if memory fails it, what `as_it_was` asks for must hold, and then the error goes on.
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

const call calls[] = {
    {"bounded",
     [] {
       auto [tx, rx] = bounded<parcel>(2);
       EXPECT_EQ(tx.try_send(parcel(1)), send_status::sent);
       EXPECT_EQ(*rx.try_recv()->number, 1);
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
    // The number of the one that failed is known only to the first that stopped it.
    return v.how == test::ending::no_memory ? 1 : failed;
  }
};

TEST_P(allocations_in_channels, fail_one_after_the_other) {
  test::forgo_frame_cache();
  GetParam().body();  // whatever is allocated once for the process
  test::until_clean(attempt);
}

INSTANTIATE_TEST_SUITE_P(each_channel,
                         allocations_in_channels,
                         ::testing::ValuesIn(calls),
                         [](const auto& which) { return std::string(which.param.name); });

// Rooms go with their items, however many there were; 64 bytes for 32 of them stay.
TEST(memory_of_channels, that_of_an_unbounded_one_goes_with_its_items) {
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
    // Those serve again.
    for (int i = 0; i < count; ++i) EXPECT_EQ(tx.try_send(7), send_status::sent);
    EXPECT_LE(memory::live() - before, most + 1);
  }
  EXPECT_EQ(memory::live(), before);
}

}  // namespace
}  // namespace rota::channel::allocations_in_channels_test
