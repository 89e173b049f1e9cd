// Process groups: what becomes of the other members when the leader has ended.
#include "base/sys/processes.hpp"
#include "unit/process/process_support.hpp"

#include <fcntl.h>

namespace rota::test::group_test {
namespace {

/// The members of a group hold the writing end of a pipe: reading its end shows that all have ended.
class group : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  void TearDown() override {
    close_writer();
    ::close(ends_[0]);
    wait_until([] { return !has_children(); });
  }
  void close_writer() {
    if (ends_[1] != -1) ::close(std::exchange(ends_[1], -1));
  }
  /// The leader ends at once. The other process sleeps, and holds the pipe.
  command leaves_one_behind() {
    command made = shell("sleep 1000 & echo $! >&2");
    made.err(stdio::from(ends_[1])).out(stdio::null()).process_group();
    return made;
  }
  /// Reads the id of the process that was left behind.
  [[nodiscard]] int left_behind() const {
    std::array<char, 32> text{};
    EXPECT_GT(::read(ends_[0], text.data(), text.size() - 1), 0);
    return std::atoi(text.data());
  }
  void expect_all_gone() {
    close_writer();
    std::array<char, 1> rest{};
    EXPECT_EQ(::read(ends_[0], rest.data(), rest.size()), 0);
  }
  runtime rt_{with_workers(2)};
  int ends_[2]{};
};

task<child> started(command what) {
  auto made = co_await what.spawn();
  co_return demand(std::move(made));
}

task<exit_status> end_of(child& of) {
  const auto end = co_await of.wait();
  co_return demand(end);
}

TEST_F(group, is_killed_with_its_handle_after_its_leader_was_waited_for) {
  {
    child leader = rt_.block_on(started(leaves_one_behind()));
    EXPECT_TRUE(rt_.block_on(end_of(leader)).is_success());
    EXPECT_FALSE(is_gone(left_behind()));
  }
  expect_all_gone();
}

TEST_F(group, is_killed_with_its_handle_if_its_leader_was_not_waited_for) {
  {
    const child leader = rt_.block_on(started(leaves_one_behind()));
    EXPECT_FALSE(is_gone(left_behind()));
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(leader.id()), &info, WEXITED | WNOWAIT), 0);
  }
  expect_all_gone();
}

TEST_F(group, is_signalled_through_its_handle_after_its_leader_has_ended) {
  child leader = rt_.block_on(started(leaves_one_behind()));
  const exit_status end = rt_.block_on(end_of(leader));
  EXPECT_FALSE(is_gone(left_behind()));
  const auto late = leader.kill();
  EXPECT_TRUE(!late.has_value() && late.error() == std::errc::no_such_process);
  EXPECT_TRUE(leader.signal_group(SIGTERM).has_value());
  expect_all_gone();
  EXPECT_EQ(rt_.block_on(end_of(leader)), end);
  const auto again = leader.try_wait();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, end);
}

TEST_F(group, continues_if_its_handle_is_dropped_with_leave) {
  for (const bool waits : {true, false}) {
    command daemon = leaves_one_behind();
    daemon.dropped(process::on_drop::leave);
    int other = 0;
    {
      child leader = rt_.block_on(started(daemon));
      other = left_behind();
      if (waits) {
        EXPECT_TRUE(rt_.block_on(end_of(leader)).is_success());
      }
    }
    wait_until([] { return !has_children(); });
    EXPECT_FALSE(is_gone(other));
    EXPECT_EQ(::kill(other, SIGKILL), 0);
  }
  expect_all_gone();
}

TEST_F(group, is_killed_after_run_and_output_unless_dropped_with_leave) {
  for (const bool runs : {true, false}) {
    for (const bool leave : {true, false}) {
      command what = leaves_one_behind();
      if (leave) what.dropped(process::on_drop::leave);
      const bool is_success = runs ? demand(rt_.block_on(what.run())).is_success()
                                   : demand(rt_.block_on(what.output())).status.is_success();
      EXPECT_TRUE(is_success);
      const int other = left_behind();
      EXPECT_FALSE(has_children());
      if (leave) {
        EXPECT_FALSE(is_gone(other));
        EXPECT_EQ(::kill(other, SIGKILL), 0);
      }
    }
  }
  expect_all_gone();
}

/// Other code has reaped the leader, so its id may belong to another process.
TEST_F(group, is_not_signalled_by_number_if_its_leader_was_reaped_elsewhere) {
  child leader = rt_.block_on(started(leaves_one_behind()));
  const int other = left_behind();
  ASSERT_EQ(::waitpid(leader.id(), nullptr, 0), leader.id());
  EXPECT_FALSE(base::sys::signal_group_by_number(leader.native_handle(), leader.id(), SIGKILL).has_value());
  EXPECT_FALSE(is_gone(other));
  EXPECT_EQ(::kill(other, SIGKILL), 0);
  expect_all_gone();
}

TEST_F(group, is_signalled_by_number_as_a_fallback) {
  child leader = rt_.block_on(started(leaves_one_behind()));
  EXPECT_FALSE(is_gone(left_behind()));
  EXPECT_TRUE(rt_.block_on(end_of(leader)).is_success());
  EXPECT_TRUE(base::sys::signal_group_by_number(leader.native_handle(), leader.id(), SIGKILL).has_value());
  expect_all_gone();
}

}  // namespace
}  // namespace rota::test::group_test
