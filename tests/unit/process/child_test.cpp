// Waiting for children, signalling them, and dropping their handles.
#include "unit/process/process_support.hpp"

#include <rota/channel/select.hpp>

#include <fcntl.h>
#include <functional>
#include <vector>

namespace rota::test::child_test {
namespace {

template <class F>
void on_a_runtime(F body) {
  runtime rt(with_workers(2));
  rt.block_on(body);
}

/// A child that lives until its input is closed or a signal ends it.
task<child> sleeper(command how = command("cat")) {
  how.in(stdio::pipe());
  auto started = co_await how.spawn();
  co_return demand(std::move(started));
}

TEST(child, wait_may_be_repeated_and_returns_the_same_status) {
  on_a_runtime([]() -> task<> {
    child one = co_await sleeper();
    EXPECT_EQ(demand(one.try_wait()), std::nullopt);
    EXPECT_FALSE(is_gone(one.id()));
    const auto first = co_await one.wait();  // closes the child's input
    EXPECT_TRUE(demand(first).is_success());
    const auto second = co_await one.wait();
    EXPECT_EQ(demand(second), *first);
    EXPECT_EQ(demand(one.try_wait()), *first);
    EXPECT_TRUE(is_gone(one.id()));
    const auto late = one.kill();
    EXPECT_FALSE(late.has_value());
    if (!late.has_value()) {
      EXPECT_EQ(late.error(), std::errc::no_such_process);
    }
  });
}

TEST(child, reads_its_input_and_writes_its_output_through_pipes) {
  on_a_runtime([]() -> task<> {
    auto started = co_await command("cat").in(stdio::pipe()).out(stdio::pipe()).spawn();
    child echo = demand(std::move(started));
    for (const std::string_view line : {"one\n", "two\n"}) {
      const auto put = co_await echo.in().write_all(bytes_of(line));
      EXPECT_EQ(demand(put), line.size());
      const std::string got = co_await line_from(echo.out());
      EXPECT_EQ(got, line.substr(0, 3));
    }
    process::pipe_writer in = std::move(echo.in());
    in.close();
    const std::string rest = co_await line_from(echo.out());
    EXPECT_EQ(rest, "");
    const auto end = co_await echo.wait();
    EXPECT_TRUE(demand(end).is_success());
    const auto closed = co_await in.write(bytes_of("x"));
    EXPECT_FALSE(closed.has_value());
    if (!closed.has_value()) {
      EXPECT_EQ(closed.error(), std::errc::bad_file_descriptor);
    }
  });
}

// A named awaitable of a read or write can be awaited again; it does not return its earlier result.
TEST(child, named_awaitable_of_a_pipe_can_be_awaited_again) {
  on_a_runtime([]() -> task<> {
    auto started = co_await command("cat").in(stdio::pipe()).out(stdio::pipe()).spawn();
    child echo = demand(std::move(started));
    std::array<std::byte, 1> in{};
    auto read = echo.out().read(in);
    for (int i = 0; i < 200; ++i) {
      const std::array<std::byte, 1> out{static_cast<std::byte>(i)};
      auto write = echo.in().write_all(out);
      for (const std::size_t written : {1U, 0U}) {
        const auto put = co_await write;
        EXPECT_EQ(demand(put), written);
      }
      const auto got = co_await read;
      EXPECT_EQ(demand(got), 1U);
      EXPECT_EQ(in[0], out[0]) << i;
    }
  });
}

// Runs on the thread of block_on, which does not block SIGPIPE.
TEST(child, write_to_its_closed_input_is_an_error_without_sigpipe) {
  runtime rt(with_workers(1));
  auto body = []() -> task<> {
    auto started = co_await shell("exec 0<&-; echo closed; exec sleep 1000")
                       .in(stdio::pipe())
                       .out(stdio::pipe())
                       .spawn();
    child deaf = demand(std::move(started));
    const std::string ready = co_await line_from(deaf.out());
    EXPECT_EQ(ready, "closed");
    const auto put = co_await deaf.in().write_all(bytes_of("anybody?"));
    EXPECT_FALSE(put.has_value());
    if (!put.has_value()) {
      EXPECT_EQ(put.error(), std::errc::broken_pipe);
    }
  };
  rt.block_on(body());
  wait_until([] { return !has_children(); });
}

/// Writes to a pipe without a reader.
task<> write_in_vain() {
  auto ends = process::pipe();
  auto [reader, writer] = demand(std::move(ends));
  reader.close();
  const auto put = co_await writer.write(bytes_of("x"));
  EXPECT_TRUE(!put.has_value() && put.error() == std::errc::broken_pipe);
}

// A SIGPIPE would end this program: neither a pending one nor a new one may remain after the write.
TEST(pipes, write_to_a_broken_pipe_leaves_no_pending_sigpipe) {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &pipe, &before), 0);
  runtime rt(with_workers(1));
  rt.block_on(write_in_vain());
  sigset_t pending;
  EXPECT_TRUE(::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 0);
  // A SIGPIPE that was pending before stays pending.
  ::raise(SIGPIPE);
  rt.block_on(write_in_vain());
  const timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&pipe, nullptr, &at_once), SIGPIPE);
  ::pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
  rt.block_on(write_in_vain());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(pipes, adopted_pipe_is_not_inherited_by_a_child) {
  on_a_runtime([]() -> task<> {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    auto reader = process::pipe_reader::adopt(ends[0]);
    auto writer = process::pipe_writer::adopt(ends[1]);
    EXPECT_TRUE(reader.has_value() && writer.has_value());
    EXPECT_EQ(::fcntl(ends[0], F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(::fcntl(ends[1], F_GETFD), FD_CLOEXEC);
    const child keeps_all_that_it_gets = co_await sleeper();
    writer->close();
    const std::string rest = co_await line_from(*reader);
    EXPECT_EQ(rest, "");
  });
}

TEST(child, signals_reach_it) {
  on_a_runtime([]() -> task<> {
    child one = co_await sleeper();
    EXPECT_TRUE(one.signal(SIGTERM).has_value());
    const auto end = co_await one.wait();
    EXPECT_EQ(demand(end).signal(), SIGTERM);
    child other = co_await sleeper();
    const auto not_one = other.signal_group(SIGKILL);
    EXPECT_FALSE(not_one.has_value());
    EXPECT_TRUE(other.kill().has_value());
    const auto killed = co_await other.wait();
    EXPECT_EQ(demand(killed).signal(), SIGKILL);
  });
}

TEST(child, a_group_is_signalled_as_a_whole) {
  for (const bool session : {false, true}) {
    runtime rt(with_workers(2));
    auto body = [session]() -> task<> {
      command pair = shell("sleep 1000 & echo ready; wait");
      pair.out(stdio::pipe());
      if (session) {
        pair.new_session();
      } else {
        pair.process_group();
      }
      auto started = co_await pair.spawn();
      child leader = demand(std::move(started));
      const std::string ready = co_await line_from(leader.out());
      EXPECT_EQ(ready, "ready");
      EXPECT_EQ(::getpgid(leader.id()), leader.id());
      EXPECT_EQ(::getsid(leader.id()) == leader.id(), session);
      EXPECT_TRUE(leader.signal_group(SIGKILL).has_value());
      // The other process holds the pipe, too: its end comes when both have ended.
      const std::string rest = co_await line_from(leader.out());
      EXPECT_EQ(rest, "");
      const auto end = co_await leader.wait();
      EXPECT_EQ(demand(end).signal(), SIGKILL);
    };
    rt.block_on(body());
  }
}

TEST(child, a_cancelled_wait_changes_nothing) {
  on_a_runtime([]() -> task<> {
    child one = co_await sleeper(shell("exec sleep 1000"));
    const auto late = co_await timeout(1ms, one.wait());
    EXPECT_FALSE(late.has_value());
    EXPECT_TRUE(one.kill().has_value());
    const auto end = co_await one.wait();
    EXPECT_EQ(demand(end).signal(), SIGKILL);
  });
}

TEST(child, the_first_of_several_to_end_is_selected) {
  on_a_runtime([]() -> task<> {
    child slow = co_await sleeper(shell("exec sleep 1000"));
    child quick = co_await sleeper(shell("exec sleep 1000"));
    EXPECT_TRUE(quick.kill().has_value());
    auto first = co_await channel::select(slow.wait(), quick.wait());
    EXPECT_EQ(first.index(), 1U);
    EXPECT_EQ(demand(first.get<1>()).signal(), SIGKILL);
    EXPECT_EQ(demand(slow.try_wait()), std::nullopt);
  });
}

TEST(child, dropped_child_is_killed_and_leaves_no_zombie) {
  const std::size_t files = open_files();
  int id = 0;
  {
    runtime rt(with_workers(1));
    auto body = [&id]() -> task<> {
      const child one = co_await sleeper(shell("exec sleep 1000"));
      id = one.id();
    };
    rt.block_on(body());
  }
  wait_until([id] { return is_gone(id); });
  wait_until([] { return threads_of_process() == 1; });
  // One epoll descriptor stays open for later children.
  EXPECT_LE(open_files(), files + 1);
}

TEST(child, child_dropped_with_leave_continues_and_leaves_no_zombie) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  int id = 0;
  {
    runtime rt(with_workers(1));
    auto body = [&]() -> task<> {
      command reads("cat");
      reads.in(stdio::from(ends[0])).dropped(process::on_drop::leave);
      auto started = co_await reads.spawn();
      id = demand(std::move(started)).id();
    };
    rt.block_on(body());
  }
  EXPECT_FALSE(is_gone(id));
  ::close(ends[1]);  // the child reads the end of its input
  wait_until([id] { return is_gone(id); });
  ::close(ends[0]);
}

TEST(child, it_outlives_its_runtime) {
  std::vector<child> kept;
  {
    runtime rt(with_workers(1));
    auto body = [&]() -> task<> {
      child one = co_await sleeper();
      kept.push_back(std::move(one));
    };
    rt.block_on(body());
  }
  EXPECT_EQ(demand(kept[0].try_wait()), std::nullopt);
  EXPECT_TRUE(kept[0].kill().has_value());
  wait_until([&] { return demand(kept[0].try_wait()).has_value(); });
  EXPECT_EQ(demand(kept[0].try_wait())->signal(), SIGKILL);
}

TEST(child, wait_fails_with_no_child_process_if_sigchld_is_ignored) {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  on_a_runtime([]() -> task<> {
    child one = co_await sleeper();
    const auto end = co_await one.wait();
    EXPECT_FALSE(end.has_value());
    if (!end.has_value()) {
      EXPECT_EQ(end.error(), std::errc::no_child_process);
    }
    // Children that may have ended before the first check.
    for (int i = 0; i < 20; ++i) {
      const auto gone = co_await command("true").run();
      EXPECT_FALSE(gone.has_value());
    }
  });
  ::sigaction(SIGCHLD, &before, nullptr);
}

/// Many short-lived children at the same time: each end is seen, with the right code.
TEST(child, a_thousand_at_once_leave_nothing_behind) {
  const std::size_t files = open_files();
  {
    runtime rt(with_workers(2));
    auto body = []() -> task<> {
      std::atomic<int> ended = 0;
      co_await with_scope([&](scope& s) -> task<> {
        for (int i = 0; i < 1000; ++i) {
          s.fork(
              [](int code, std::atomic<int>& count) -> task<> {
                const command one = shell("exit " + std::to_string(code));
                const auto end = co_await one.run();
                EXPECT_EQ(demand(end).code(), code);
                ++count;
              },
              i % 256,
              std::ref(ended));
        }
        co_return;
      });
      EXPECT_EQ(ended, 1000);
    };
    rt.block_on(body());
  }
  EXPECT_FALSE(has_children());
  EXPECT_LE(open_files(), files + 1);
}

}  // namespace
}  // namespace rota::test::child_test
