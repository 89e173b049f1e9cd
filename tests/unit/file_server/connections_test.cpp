// The list of open connections: a session may end before or after its spawner returns.
#include "file_server/connections.hpp"

#include <gtest/gtest.h>

#include <rota/runtime.hpp>
#include <rota/task.hpp>

namespace file_server::testing::connections_test {
namespace {

TEST(connections, session_that_ends_first_is_removed_when_its_spawner_returns) {
  connections all(2);
  const auto here = all.enter();
  ASSERT_TRUE(here.has_value());
  all.leave(*here);
  EXPECT_EQ(all.open(), 1U);
  all.started(*here, {});
  EXPECT_EQ(all.open(), 0U);
}

TEST(connections, session_is_removed_at_its_end_if_its_spawner_has_returned) {
  connections all(2);
  const auto here = all.enter();
  ASSERT_TRUE(here.has_value());
  all.started(*here, {});
  EXPECT_EQ(all.open(), 1U);
  all.leave(*here);
  EXPECT_EQ(all.open(), 0U);
}

TEST(connections, enter_fails_at_the_limit_until_a_session_is_removed) {
  connections all(1);
  const auto here = all.enter();
  ASSERT_TRUE(here.has_value());
  EXPECT_FALSE(all.enter().has_value());
  all.leave(*here);
  EXPECT_FALSE(all.enter().has_value());
  all.started(*here, {});
  EXPECT_TRUE(all.enter().has_value());
}

rota::task<bool> waits_for_none(connections& all) {
  co_await all.none();
  co_return all.open() == 0;
}

TEST(connections, waiter_for_the_last_connection_is_woken_in_either_order) {
  for (const bool left_first : {true, false}) {
    connections all(1);
    const auto here = all.enter();
    ASSERT_TRUE(here.has_value());
    rota::runtime rt(rota::runtime_options{.workers = 1});
    rota::join_handle<bool> none = rt.spawn(waits_for_none(all));
    while (rt.dump().find("the last connection") == std::string::npos) {
    }
    if (left_first) {
      all.leave(*here);
      all.started(*here, {});
    } else {
      all.started(*here, {});
      all.leave(*here);
    }
    EXPECT_TRUE(none.join());
  }
}

}  // namespace
}  // namespace file_server::testing::connections_test
