// The descriptor limit is raised to fit the number of connections.
#include "file_server/descriptor_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace file_server::testing::descriptor_limit_test {
namespace {

class descriptor_limit : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    if (before_.rlim_max < 400) GTEST_SKIP() << "the hard limit is too low";
    const rlimit low{.rlim_cur = 200, .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }

  static rlim_t current() {
    rlimit now{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    return now.rlim_cur;
  }

  rlimit before_{};
};

TEST_F(descriptor_limit, is_raised_to_a_socket_and_a_file_for_each_connection) {
  EXPECT_EQ(raise_descriptor_limit(100), 264U);
  EXPECT_EQ(current(), 264U);
}

TEST_F(descriptor_limit, is_left_alone_if_it_is_high_enough) {
  EXPECT_EQ(raise_descriptor_limit(68), 200U);
  EXPECT_EQ(current(), 200U);
}

}  // namespace
}  // namespace file_server::testing::descriptor_limit_test
