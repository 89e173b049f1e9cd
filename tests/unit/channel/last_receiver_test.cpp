// Items that are sent while the last receiver is destroyed.
#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/unbounded.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace rota::channel::last_receiver_test {
namespace {

/// Calls a function while it is moved into the channel.
struct slow {
  explicit slow(std::shared_ptr<int> of, std::function<void()>* meanwhile = nullptr)
      : counts(std::move(of)), on_move(meanwhile) {}
  slow(slow&& from) noexcept : counts(std::move(from.counts)) {
    if (auto* const call = std::exchange(from.on_move, nullptr)) (*call)();
  }
  slow(const slow&) = delete;
  slow& operator=(const slow&) = delete;
  ~slow() = default;

  std::shared_ptr<int> counts;
  std::function<void()>* on_move = nullptr;
};

struct with_limit {
  static auto make() { return bounded<slow>(2); }
};
struct with_weight {
  static auto make() {
    return bounded_by_weight<slow>(2, 2, [](const slow& /*item*/) noexcept { return 1U; });
  }
};
struct without_limit {
  static auto make() { return unbounded<slow>(); }
};

template <class Channel>
class last_receiver : public ::testing::Test {};
using channels = ::testing::Types<with_limit, with_weight, without_limit>;
TYPED_TEST_SUITE(last_receiver, channels);

// Receivers do not see an item until its sender publishes it, and may be destroyed before that.
TYPED_TEST(last_receiver, item_that_is_being_sent_is_destroyed_with_the_last_receiver) {
  const auto item = std::make_shared<int>(1);
  auto made = TypeParam::make();
  std::optional rx(std::move(made.receiver));
  std::function<void()> goes = [&] {
    EXPECT_EQ(made.sender.try_send(slow(item)), send_status::sent) << "behind it";
    rx.reset();
    EXPECT_EQ(item.use_count(), 3) << "what is behind it cannot be reached yet";
  };
  EXPECT_EQ(made.sender.try_send(slow(item, &goes)), send_status::sent);
  EXPECT_EQ(item.use_count(), 1) << "the sender is still there";
  EXPECT_TRUE(made.sender.is_closed());
}

}  // namespace
}  // namespace rota::channel::last_receiver_test
