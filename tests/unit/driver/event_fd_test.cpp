// Properties of eventfd that the driver relies on.
#include "base/sys/events.hpp"
#include "base/sys/files.hpp"

#include <gtest/gtest.h>

namespace rota::base::event_fd_test {
namespace {

TEST(event_fd, gives_one_event_for_each_signal_and_none_for_a_read) {
  const auto poll = sys::epoll_create();
  const auto fd = sys::event_fd();
  ASSERT_TRUE(poll.has_value() && fd.has_value());
  ASSERT_TRUE(sys::epoll_add_input(*poll, *fd, 1).has_value());
  epoll_event events[4];
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sys::epoll_wait(*poll, events, 4, time_point::min()).value_or(9), 0U);
    sys::signal_event_fd(*fd);
    EXPECT_EQ(sys::epoll_wait(*poll, events, 4, time_point::min()).value_or(9), 1U);
    sys::clear_event_fd(*fd);
    EXPECT_EQ(sys::epoll_wait(*poll, events, 4, time_point::min()).value_or(9), 0U)
        << "reading it is no event of its own";
  }
  sys::close(*fd);
  sys::close(*poll);
}

}  // namespace
}  // namespace rota::base::event_fd_test
