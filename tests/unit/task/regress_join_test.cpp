#include "task_support.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace regress_join_test {
namespace {

using namespace rota;
using namespace rota::test;

TEST(join_regressions, cancellation_without_a_reason_gets_the_reason_user) {
  manual_scheduler s;
  event never;
  auto work = [&]() -> task<int> {
    co_await never();
    co_return 1;
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  EXPECT_TRUE(h.cancel(cancel_reason::none));
  s.run_until_idle();
  ASSERT_TRUE(h.is_done());
  const std::optional<outcome<int>> end = h.wait_for(std::chrono::seconds(0));
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
  EXPECT_EQ(end->reason(), cancel_reason::user);
  EXPECT_EQ(s.cancelled, 1);
}

TEST(join_regressions, cancellation_with_a_reason_keeps_it) {
  manual_scheduler s;
  event never;
  auto work = [&]() -> task<int> {
    co_await never();
    co_return 1;
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  EXPECT_TRUE(h.cancel(cancel_reason::timeout));
  s.run_until_idle();
  const std::optional<outcome<int>> end = h.wait_for(std::chrono::seconds(0));
  ASSERT_TRUE(end.has_value() && end->is_cancelled());
  EXPECT_EQ(end->reason(), cancel_reason::timeout);
}

}  // namespace
}  // namespace regress_join_test
