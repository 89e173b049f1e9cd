// The environment in which a child starts, and how its end is reported.
#include "unit/process/process_support.hpp"

#include <fcntl.h>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <vector>

namespace rota::test::command_test {
namespace {

template <class F>
void on_a_runtime(F body) {
  runtime rt(with_workers(2));
  rt.block_on(body);
}

TEST(command, exit_code_and_signal_are_reported) {
  on_a_runtime([]() -> task<> {
    const command three = shell("exit 3");
    const auto ended = co_await three.run();
    EXPECT_EQ(demand(ended), exit_status(exit_status::kind::exited, 3));
    EXPECT_EQ(ended->code(), 3);
    EXPECT_EQ(ended->signal(), std::nullopt);
    EXPECT_EQ(ended->to_string(), "exit code 3");

    const command looks_like_an_option = shell("-x");
    const auto not_found = co_await looks_like_an_option.run();
    EXPECT_EQ(demand(not_found).code(), 127) << "a text is no option of the shell";

    const command killed = shell("kill -TERM $$");
    const auto by_signal = co_await killed.run();
    EXPECT_EQ(demand(by_signal).signal(), SIGTERM);
    EXPECT_EQ(by_signal->code(), std::nullopt);
    EXPECT_FALSE(by_signal->is_success());
    EXPECT_EQ(by_signal->to_string(), "signal 15 (Terminated)");
  });
}

TEST(command, spawn_returns_the_error_of_exec) {
  on_a_runtime([]() -> task<> {
    const auto missing = co_await command("/nowhere/at/all").spawn();
    EXPECT_FALSE(missing.has_value());
    if (!missing.has_value()) {
      EXPECT_EQ(missing.error(), std::errc::no_such_file_or_directory);
    }
    const auto no_program = co_await command("/etc/passwd").spawn();
    EXPECT_FALSE(no_program.has_value());
    if (!no_program.has_value()) {
      EXPECT_EQ(no_program.error(), std::errc::permission_denied);
    }
    command lost("true");
    lost.current_dir("/nowhere/at/all");
    const auto no_directory = co_await lost.spawn();
    EXPECT_FALSE(no_directory.has_value());
    if (!no_directory.has_value()) {
      EXPECT_EQ(no_directory.error(), std::errc::no_such_file_or_directory);
    }
  });
  EXPECT_FALSE(has_children());
}

TEST(command, text_that_cannot_be_passed_on_is_refused) {
  on_a_runtime([]() -> task<> {
    std::vector<command> bad(5, command("true"));
    bad[0] = command(std::string("tr\0ue", 5));
    bad[1].arg(std::string("a\0b", 3));
    bad[2].env("A=B", "c");
    bad[3].env("", "c");
    bad[4].env("A", std::string("\0", 1));
    for (const command& each : bad) {
      const auto refused = co_await each.spawn();
      EXPECT_FALSE(refused.has_value());
      if (!refused.has_value()) {
        EXPECT_EQ(refused.error(), std::errc::invalid_argument);
      }
    }
  });
}

TEST(command, arguments_are_passed_as_they_are) {
  on_a_runtime([]() -> task<> {
    command print("printf");
    const std::vector<std::string> more{"$HOME *", ""};
    print.arg("%s|").args(more).arg("a\nb");
    const std::string said = co_await said_by(print);
    EXPECT_EQ(said, "$HOME *||a\nb|");
  });
}

TEST(command, environment_is_inherited_with_the_requested_changes) {
  ::setenv("ROTA_TEST_KEPT", "kept", 1);
  ::setenv("ROTA_TEST_REMOVED", "there", 1);
  on_a_runtime([]() -> task<> {
    command print = shell("echo $ROTA_TEST_KEPT,$ROTA_TEST_REMOVED,$ROTA_TEST_NEW");
    print.env("ROTA_TEST_NEW", "old").env_remove("ROTA_TEST_REMOVED").env("ROTA_TEST_NEW", "new=1");
    const std::string said = co_await said_by(print);
    EXPECT_EQ(said, "kept,,new=1\n");
    command alone("env");
    alone.env("ONE", "1").env_clear();
    const std::string all = co_await said_by(alone);
    EXPECT_EQ(all, "ONE=1\n");
  });
}

TEST(command, it_starts_in_its_directory) {
  on_a_runtime([]() -> task<> {
    command where("pwd");
    where.current_dir("/usr");
    const std::string said = co_await said_by(where);
    EXPECT_EQ(said, "/usr\n");
  });
}

TEST(command, streams_may_be_null_or_a_descriptor_or_merged) {
  on_a_runtime([]() -> task<> {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    command both = shell("cat; echo out; echo err >&2");
    both.in(stdio::null()).out(stdio::from(ends[1])).merge_err_into_out();
    const auto ended = co_await both.run();
    EXPECT_TRUE(demand(ended).is_success());
    std::array<char, 64> said{};
    EXPECT_EQ(::read(ends[0], said.data(), said.size()), 8);
    EXPECT_STREQ(said.data(), "out\nerr\n");
    ::close(ends[0]);
    ::close(ends[1]);
    command closed("true");
    closed.out(stdio::from(ends[1]));
    const auto refused = co_await closed.spawn();
    EXPECT_FALSE(refused.has_value());
    if (!refused.has_value()) {
      EXPECT_EQ(refused.error(), std::errc::bad_file_descriptor);
    }
  });
}

/// Descriptor 1 becomes 2 and 2 becomes 1: neither overwrites the other.
TEST(command, stdout_and_stderr_can_be_swapped) {
  on_a_runtime([]() -> task<> {
    command outer = shell("echo out; echo err >&2");
    outer.out(stdio::from(STDERR_FILENO)).err(stdio::from(STDOUT_FILENO));
    command swapped = outer;
    const std::size_t before = open_files();
    const auto ended = co_await swapped.run();
    EXPECT_TRUE(demand(ended).is_success());
    EXPECT_EQ(open_files(), before);
  });
}

TEST(command, a_child_has_three_descriptors_and_blocks_no_signal) {
  on_a_runtime([]() -> task<> {
    // The child has what an exec leaves open here, 0, 1 and 2 included. `ls` itself has the folder open.
    int inherited = 0;
    for (int fd = 0; fd < 1024; ++fd) {
      const int flags = ::fcntl(fd, F_GETFD);
      if (flags != -1 && (flags & FD_CLOEXEC) == 0) ++inherited;
    }
    const std::string files = co_await said_by(shell("ls /proc/self/fd | wc -l"));
    EXPECT_EQ(std::stoi(files), inherited + 1);
    const std::string blocked = co_await said_by(shell("grep SigBlk /proc/self/status"));
    EXPECT_NE(blocked.find("0000000000000000"), std::string::npos) << blocked;
  });
}

TEST(command, sigpipe_is_not_ignored_by_a_child) {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGPIPE, &ignore, &before), 0);
  on_a_runtime([]() -> task<> {
    const command endless("yes");
    auto started = co_await command(endless).out(stdio::pipe()).spawn();
    child talker = demand(std::move(started));
    const std::string line = co_await line_from(talker.out());
    EXPECT_EQ(line, "y");
    talker.out().close();
    const auto ended = co_await talker.wait();
    EXPECT_EQ(demand(ended).signal(), SIGPIPE);
  });
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(command, copies_are_independent) {
  on_a_runtime([]() -> task<> {
    const command first = shell("echo $WHO");
    command second = first;
    second.env("WHO", "second");
    const std::string one = co_await said_by(first);
    const std::string two = co_await said_by(second);
    const std::string again = co_await said_by(second);
    EXPECT_EQ(one, "\n");
    EXPECT_EQ(two, "second\n");
    EXPECT_EQ(again, two);
  });
}

TEST(command, invalid_process_group_is_refused_with_name_and_range) {
  command print = shell("ps -o pgid= -p $$");
  for (const int group : {-1, -2, std::numeric_limits<int>::min()}) {
    try {
      print.process_group(group);
      ADD_FAILURE() << group << " was taken";
    } catch (const std::invalid_argument& e) {
      const std::string said = e.what();
      EXPECT_NE(said.find("process_group"), std::string::npos) << said;
      EXPECT_NE(said.find(std::to_string(group)), std::string::npos) << said;
      EXPECT_NE(said.find("0.." + std::to_string(std::numeric_limits<int>::max())), std::string::npos)
          << said;
    }
  }
  runtime rt(with_workers(1));
  EXPECT_EQ(std::stoi(rt.block_on(said_by(print))), ::getpgrp()) << "it was changed";
}

TEST(command, output_task_may_outlive_its_command) {
  on_a_runtime([]() -> task<> {
    auto later = [] {
      const command here = shell("echo later");
      return here.output();
    }();
    auto got = co_await std::move(later);
    EXPECT_EQ(demand(std::move(got)).out, "later\n");
  });
}

TEST(command, outside_of_a_task_there_are_no_pipes) {
  const auto made = process::pipe();
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error(), errc::no_runtime);
}

}  // namespace
}  // namespace rota::test::command_test
