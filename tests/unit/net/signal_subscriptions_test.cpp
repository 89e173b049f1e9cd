// Subscriptions to signals: refused numbers, and the resources that they keep.
#include "unit/runtime/runtime_support.hpp"

#include <rota/unix_signal.hpp>

#include <csignal>
#include <utility>
#include <vector>

namespace rota::test::signal_subscriptions_test {
namespace {

constexpr int kept_by_libc = 32;

task<void> asks_for_a_kept_number() {
  const auto alone = unix_signal::open({kept_by_libc});
  EXPECT_FALSE(alone.has_value());
  if (!alone.has_value()) {
    EXPECT_EQ(alone.error(), std::errc::invalid_argument);
  }
  const auto with_another = unix_signal::open({SIGUSR2, kept_by_libc});
  EXPECT_FALSE(with_another.has_value());
  co_return;
}

TEST(signal_subscriptions, a_number_that_the_system_refuses_is_an_error) {
  runtime rt(with_workers(1));
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR2, nullptr, &before), 0);
  rt.block_on(asks_for_a_kept_number());
  struct sigaction after{};
  ASSERT_EQ(::sigaction(SIGUSR2, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

constexpr int per_number = 16;

/// Opens the maximum number of subscriptions at once for each of ten numbers.
task<void> opens_many() {
  std::vector<unix_signal> all;
  for (int n = SIGRTMIN; n < SIGRTMIN + 10; ++n) {
    for (int i = 0; i < per_number; ++i) {
      auto one = unix_signal::open({n});
      EXPECT_TRUE(one.has_value());
      if (one.has_value()) all.push_back(std::move(*one));
    }
    const auto too_many = unix_signal::open({n});
    EXPECT_FALSE(too_many.has_value());
  }
  co_return;
}

TEST(signal_subscriptions, descriptors_are_used_again_however_many_lived_at_once) {
  runtime rt(with_workers(1));
  rt.block_on(opens_many());
  const std::size_t first = open_files();
  rt.block_on(opens_many());
  EXPECT_EQ(open_files(), first);
}

}  // namespace
}  // namespace rota::test::signal_subscriptions_test
