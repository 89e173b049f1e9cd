// Senders that do not keep their channel open, and whether two halves belong to one channel.
#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace rota::channel::weak_sender_test {
namespace {

using item = std::shared_ptr<int>;

struct of_bounded {
  static auto make() { return bounded<item>(4); }
};
struct of_weighed {
  static auto make() {
    return bounded_by_weight<item>(4, 4, [](const item& /*one*/) noexcept { return 1U; });
  }
};
struct of_unbounded {
  static auto make() { return unbounded<item>(); }
};

template <class T>
class weak_sender_of : public ::testing::Test {};
using kinds = ::testing::Types<of_bounded, of_weighed, of_unbounded>;
TYPED_TEST_SUITE(weak_sender_of, kinds);

TYPED_TEST(weak_sender_of, holds_nothing_open) {
  auto made = TypeParam::make();
  std::optional tx(std::move(made.sender));
  auto weak = tx->downgrade();
  const auto other = weak;
  EXPECT_FALSE(weak.is_closed());
  tx.reset();
  EXPECT_TRUE(made.receiver.is_closed());
  EXPECT_TRUE(weak.is_closed());
  EXPECT_FALSE(weak.upgrade().has_value());
  EXPECT_FALSE(other.upgrade().has_value());
  EXPECT_EQ(made.receiver.try_recv().error(), recv_status::closed);
}

TYPED_TEST(weak_sender_of, becomes_a_sender_while_there_is_one) {
  auto made = TypeParam::make();
  std::optional tx(std::move(made.sender));
  auto weak = tx->downgrade();
  auto again = weak.upgrade();
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->same_channel(*tx));
  tx.reset();
  EXPECT_FALSE(made.receiver.is_closed());
  EXPECT_EQ(again->try_send(std::make_shared<int>(3)), send_status::sent);
  again.reset();
  EXPECT_TRUE(made.receiver.is_closed());
  EXPECT_EQ(**made.receiver.try_recv(), 3);
}

// The channel is closed but still has a sender, so upgrade() succeeds.
TYPED_TEST(weak_sender_of, upgrades_on_a_closed_channel_that_has_a_sender) {
  auto made = TypeParam::make();
  const auto weak = made.sender.downgrade();
  made.receiver.close();
  auto tx = weak.upgrade();
  ASSERT_TRUE(tx.has_value());
  EXPECT_EQ(tx->try_send(std::make_shared<int>(1)), send_status::closed);
}

// The weak sender may be the last half to go; the items do not live until then.
TYPED_TEST(weak_sender_of, keeps_the_memory_and_no_item) {
  const auto mine = std::make_shared<int>(1);
  auto made = TypeParam::make();
  auto weak = made.sender.downgrade();
  EXPECT_EQ(made.sender.try_send(mine), send_status::sent);
  {
    const auto gone = std::move(made.sender);
    const auto too = std::move(made.receiver);
  }
  EXPECT_EQ(mine.use_count(), 1);
  auto copy = weak;
  weak = std::move(copy);
  EXPECT_TRUE(weak.is_closed());
}

TYPED_TEST(weak_sender_of, upgrade_that_races_the_last_sender_sends_or_fails) {
  for (int round = 0; round < 500; ++round) {
    auto made = TypeParam::make();
    std::thread upgrades([weak = made.sender.downgrade()]() mutable {
      if (auto tx = weak.upgrade()) {
        EXPECT_EQ(tx->try_send(std::make_shared<int>(1)), send_status::sent);
      }
      const auto gone = std::move(weak);
    });
    {
      const auto gone = std::move(made.sender);
    }
    while (made.receiver.blocking_recv().has_value()) {
    }
    upgrades.join();
  }
}

TEST(same_channel, is_true_only_for_endpoints_of_one_channel) {
  const auto a = bounded<int>(1);
  const auto b = bounded<int>(1);
  EXPECT_TRUE(a.sender.same_channel(a.receiver));
  EXPECT_TRUE(a.receiver.same_channel(sender<int>(a.sender)));
  EXPECT_FALSE(a.sender.same_channel(b.sender));
  const auto c = unbounded<int>();
  EXPECT_TRUE(c.receiver.same_channel(c.sender));
  const auto d = watch(1);
  const auto e = watch(1);
  EXPECT_TRUE(d.receiver.same_channel(d.sender.subscribe()));
  EXPECT_FALSE(d.receiver.same_channel(e.receiver));
  EXPECT_FALSE(d.sender.same_channel(e.sender));
  const auto f = broadcast<int>(1);
  EXPECT_TRUE(f.receiver.same_channel(f.receiver.subscribe()));
  EXPECT_TRUE(f.sender.same_channel(f.sender));
}

}  // namespace
}  // namespace rota::channel::weak_sender_test
