// The output of a command, with limits of size and time, and what a cancelled command leaves behind.
#include "unit/process/process_support.hpp"

#include <rota/process.hpp>

#include <fcntl.h>

namespace rota::test::output_test {
namespace {

using process::output_options;

template <class F>
void on_a_runtime(F body) {
  runtime rt(with_workers(2));
  rt.block_on(body);
}

TEST(output, both_streams_are_read_at_once) {
  on_a_runtime([]() -> task<> {
    // More than a pipe holds, also on the stream that is read second.
    const command loud = shell("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 7");
    auto got = co_await loud.output();
    const captured all = demand(std::move(got));
    EXPECT_EQ(all.status.code(), 7);
    EXPECT_EQ(all.out, std::string(300000, '\0'));
    EXPECT_EQ(all.err, std::string(300000, '\0'));
  });
}

TEST(output, input_is_written_while_the_output_is_read) {
  on_a_runtime([]() -> task<> {
    const std::string text(1'000'000, 'x');
    output_options how;
    how.input = bytes_of(text);
    auto got = co_await command("cat").output(how);
    EXPECT_EQ(demand(std::move(got)).out, text);
    // A command that does not read its input is no error.
    auto deaf = co_await command("true").output(how);
    EXPECT_TRUE(demand(std::move(deaf)).status.is_success());
    auto nothing = co_await command("cat").output();
    EXPECT_EQ(demand(std::move(nothing)).out, "");
  });
}

TEST(output, stderr_may_be_merged_into_stdout) {
  on_a_runtime([]() -> task<> {
    command both = shell("echo one; echo two >&2; echo three");
    both.merge_err_into_out();
    auto got = co_await both.output();
    const captured all = demand(std::move(got));
    EXPECT_EQ(all.out, "one\ntwo\nthree\n");
    EXPECT_EQ(all.err, "");
  });
}

TEST(output, output_at_the_limit_is_allowed_and_one_byte_more_is_refused) {
  on_a_runtime([]() -> task<> {
    const command thousand = shell("head -c 1000 /dev/zero");
    output_options how;
    how.most = 1000;
    auto fits = co_await thousand.output(how);
    EXPECT_EQ(demand(std::move(fits)).out.size(), 1000U);
    how.most = 999;
    const auto more = co_await thousand.output(how);
    EXPECT_FALSE(more.has_value());
    if (!more.has_value()) {
      EXPECT_EQ(more.error(), errc::too_long);
    }
    how.most = 0;
    auto silent = co_await command("true").output(how);
    EXPECT_TRUE(demand(std::move(silent)).status.is_success());
  });
  EXPECT_FALSE(has_children());
}

/// Prints its id and never ends. It starts another process that never ends and keeps the pipe open.
command endless(int to) {
  command made = shell("echo $$ >&2; sleep 1000 & exec sleep 1000");
  made.err(stdio::from(to)).process_group();
  return made;
}

int id_from(int fd) {
  std::array<char, 32> text{};
  EXPECT_GT(::read(fd, text.data(), text.size() - 1), 0);
  return std::atoi(text.data());
}

class an_endless_command : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  void TearDown() override {
    ::close(ends_[1]);
    // No other process holds the pipe any more: the whole group has ended.
    std::array<char, 64> rest{};
    while (::read(ends_[0], rest.data(), rest.size()) > 0) {
    }
    ::close(ends_[0]);
    EXPECT_FALSE(has_children());
  }
  int ends_[2]{};
};

TEST_F(an_endless_command, is_killed_when_its_time_is_over) {
  runtime rt(with_workers(2));
  auto body = [this]() -> task<> {
    output_options how;
    how.limit = 20ms;
    const auto late = co_await endless(ends_[1]).output(how);
    EXPECT_FALSE(late.has_value());
    if (!late.has_value()) {
      EXPECT_EQ(late.error(), errc::timed_out);
    }
  };
  rt.block_on(body());
}

TEST_F(an_endless_command, is_killed_with_its_group_after_the_leader_has_ended) {
  runtime rt(with_workers(2));
  auto body = [this]() -> task<> {
    command leaves = shell("sleep 1000 & head -c 1001 /dev/zero");
    leaves.err(stdio::from(ends_[1])).process_group();
    output_options how;
    how.limit = 200ms;
    const auto late = co_await leaves.output(how);
    EXPECT_TRUE(!late.has_value() && late.error() == errc::timed_out);
  };
  rt.block_on(body());
}

TEST_F(an_endless_command, is_killed_and_waited_for_when_it_is_cancelled) {
  runtime rt(with_workers(2));
  for (const bool all : {true, false}) {
    const command what = endless(ends_[1]);
    auto running = rt.spawn(
        [](command it, bool whole) -> task<> {
          if (whole) {
            const auto got = co_await it.output();
            EXPECT_TRUE(got.has_value());
          } else {
            const auto got = co_await it.out(stdio::null()).run();
            EXPECT_TRUE(got.has_value());
          }
        },
        what,
        all);
    const int id = id_from(ends_[0]);
    EXPECT_FALSE(is_gone(id));
    running.cancel();
    EXPECT_THROW(running.join(), cancelled_error);
    EXPECT_TRUE(is_gone(id));
  }
}

/// The cancel arrives at each step in turn: nothing is left behind.
TEST(output, may_be_cancelled_at_any_time) {
  const std::size_t files = open_files();
  {
    runtime rt(with_workers(2));
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t before = rt.stats().total_polled;
      auto running = rt.spawn([]() -> task<> {
        const command quick = shell("echo here; cat; echo there");
        auto got = co_await quick.output();
        EXPECT_EQ(demand(std::move(got)).out, "here\nthere\n");
      });
      // Waits for `step` polls, or for the end.
      const auto polled = [&rt] { return rt.stats().total_polled; };
      wait_until([&] { return running.is_done() || polled() >= before + static_cast<std::uint64_t>(step); });
      running.cancel();
      static_cast<void>(running.wait_for(std::chrono::hours(1)));
    }
  }
  wait_until([] { return !has_children(); });
  wait_until([] { return threads_of_process() == 1; });
  EXPECT_LE(open_files(), files + 1);
}

}  // namespace
}  // namespace rota::test::output_test
