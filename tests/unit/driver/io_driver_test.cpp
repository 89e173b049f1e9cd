// The driver against the kernel: events of descriptors, what it watches, and what holds after a fork.
#include "driver/io_driver.hpp"
#include "base/sys/events.hpp"
#include "base/sys/files.hpp"

#include <gtest/gtest.h>

#include <rota/error.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cstdint>

namespace rota::driver::io_driver_test {
namespace {

/// Two ends of a TCP connection.
struct connection {
  connection() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
    near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(near, reinterpret_cast<sockaddr*>(&at), size), 0);
    far = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_NE(far, -1);
    ::close(listener);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() {
    ::close(near);
    ::close(far);
  }
  int near = -1;
  int far = -1;
};

class io_driver_test : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_FALSE(driver.open(io_backend::epoll)); }

  /// Dispatches all events that have arrived.
  void look() {
    std::array<event, 8> found;
    const unsigned count =
        driver.wait(base::time_point::min(), found.data(), static_cast<unsigned>(found.size()));
    driver.dispatch(found.data(), count);
  }
  /// Dispatches events until one for reading has come: loopback may deliver after the call has returned.
  void look_for_input(std::uint32_t slot) {
    while (!driver.at(slot).is_ready(direction::read)) look();
  }
  /// Consumes the readiness, so that a later wait is not refused.
  void consume(std::uint32_t slot) {
    static_cast<void>(driver.at(slot).take_ready(direction::read));
    static_cast<void>(driver.at(slot).take_ready(direction::write));
  }
  /// Returns true if a wait in this direction is accepted without a try before it.
  bool may_wait(std::uint32_t slot, direction d) {
    waker nobody = noop_waker();
    const bool refused = driver.at(slot).arm_untried(d, nobody);
    driver.at(slot).disarm(d);
    return !refused;
  }

  io_driver driver;
};

TEST_F(io_driver_test, readiness_for_bytes_ends_when_it_is_consumed) {
  const connection c;
  const auto slot = driver.add(c.near);
  ASSERT_TRUE(slot.has_value());
  look();
  consume(*slot);
  EXPECT_TRUE(may_wait(*slot, direction::read) && may_wait(*slot, direction::write));
  ASSERT_EQ(::send(c.far, "x", 1, 0), 1);
  look_for_input(*slot);
  EXPECT_TRUE(driver.at(*slot).is_ready(direction::read));
  EXPECT_FALSE(may_wait(*slot, direction::read));
  consume(*slot);
  EXPECT_TRUE(may_wait(*slot, direction::read));
  driver.remove_open(*slot, c.near);
}

TEST_F(io_driver_test, end_of_the_peer_stays_ready_for_reading_only) {
  const connection c;
  const auto slot = driver.add(c.near);
  ASSERT_TRUE(slot.has_value());
  ASSERT_EQ(::shutdown(c.far, SHUT_WR), 0);
  look_for_input(*slot);
  consume(*slot);
  EXPECT_FALSE(may_wait(*slot, direction::read));
  EXPECT_FALSE(may_wait(*slot, direction::read)) << "however often it is asked";
  EXPECT_TRUE(may_wait(*slot, direction::write));
  driver.remove_open(*slot, c.near);
}

TEST_F(io_driver_test, reset_stays_ready_in_both_directions) {
  const connection c;
  const auto slot = driver.add(c.near);
  ASSERT_TRUE(slot.has_value());
  const linger now{1, 0};
  ASSERT_EQ(::setsockopt(c.far, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  ASSERT_EQ(::dup2(c.near, c.far), c.far) << "closes it";
  look_for_input(*slot);
  consume(*slot);
  EXPECT_FALSE(may_wait(*slot, direction::read));
  EXPECT_FALSE(may_wait(*slot, direction::write));
  driver.remove_open(*slot, c.near);
}

TEST_F(io_driver_test, urgent_data_stays_ready_for_reading) {
  const connection c;
  const auto slot = driver.add(c.near);
  ASSERT_TRUE(slot.has_value());
  look();
  consume(*slot);
  ASSERT_EQ(::send(c.far, "!", 1, MSG_OOB), 1);
  look_for_input(*slot);
  EXPECT_TRUE(driver.at(*slot).is_ready(direction::read));
  consume(*slot);
  EXPECT_FALSE(may_wait(*slot, direction::read)) << "a read stops at the mark";
  driver.remove_open(*slot, c.near);
}

TEST_F(io_driver_test, interest_in_input_reports_input_only) {
  const auto fd = base::sys::event_fd();
  ASSERT_TRUE(fd.has_value());
  const auto slot = driver.add(*fd, interest::input);
  ASSERT_TRUE(slot.has_value());
  look();
  EXPECT_FALSE(driver.at(*slot).is_ready(direction::write)) << "it could be written to";
  base::sys::signal_event_fd(*fd);
  look();
  EXPECT_TRUE(driver.at(*slot).take_ready(direction::read));
  base::sys::clear_event_fd(*fd);
  look();
  EXPECT_FALSE(driver.at(*slot).is_ready(direction::read) || driver.at(*slot).is_ready(direction::write))
      << "that it was read is no event";
  driver.remove(*slot);
  base::sys::close(*fd);
}

TEST_F(io_driver_test, unwatchable_file_is_refused_and_takes_no_slot) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_NE(file, -1);
  EXPECT_EQ(driver.add(file).error(), std::errc::operation_not_permitted);
  EXPECT_EQ(driver.stats().watched, 0U);
  ::close(file);
}

/// Runs `look` in a forked child. Returns its exit code, which is 0 if `look` returned true.
template <class Look>
int exit_code_of_child(Look look) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(io_driver_test, forked_child_keeps_the_registration_of_its_parent) {
  const connection c;
  const auto slot = driver.add(c.near);
  ASSERT_TRUE(slot.has_value());
  look();
  consume(*slot);
  const int status = exit_code_of_child([&] {
    const auto added = driver.add(c.far);
    driver.remove_open(*slot, c.near);
    return !driver.is_own_process() && !added.has_value() && added.error() == errc::forked;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(driver.is_own_process());
  ASSERT_EQ(::send(c.far, "x", 1, 0), 1);
  look_for_input(*slot);
  EXPECT_TRUE(driver.at(*slot).is_ready(direction::read))
      << "the child has removed the parent's registration";
  driver.remove_open(*slot, c.near);
}

}  // namespace
}  // namespace rota::driver::io_driver_test
