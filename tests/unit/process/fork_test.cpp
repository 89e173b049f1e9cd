// Children, pipes and the reaper of the parent, used in a forked child.
#include "process/reaper.hpp"
#include "support/sanitized.hpp"
#include "unit/process/process_support.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

namespace rota::test::fork_test {
namespace {

/// Runs `body` in a forked child that is killed if it hangs. Returns its exit code: one bit for each failure.
template <class F>
int code_of_fork(F body) {
  const pid_t fork = ::fork();
  if (fork == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(fork, &status, 0), fork);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class T>
bool is_forked(const std::expected<T, std::error_code>& got) {
  return !got.has_value() && got.error() == errc::forked;
}

task<child> cat_with_pipes() {
  auto started = co_await command("cat").in(stdio::pipe()).out(stdio::pipe()).process_group().spawn();
  co_return demand(std::move(started));
}

/// Starts a child and kills it. Returns its descriptor.
int killed_child(int& id) {
  id = ::fork();
  if (id == 0) {
    for (;;) ::pause();
  }
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  ::kill(id, SIGKILL);
  return fd;
}

TEST(fork, child_of_the_parent_is_neither_signalled_nor_waited_for) {
  runtime rt(with_workers(1));
  child mine = rt.block_on(cat_with_pipes());
  const int code = code_of_fork([&mine] {
    int wrong = 0;
    if (!is_forked(mine.kill())) wrong |= 1;
    if (!is_forked(mine.signal(SIGTERM))) wrong |= 2;
    if (!is_forked(mine.signal_group(SIGTERM))) wrong |= 4;
    if (!is_forked(mine.try_wait())) wrong |= 8;
    mine.in().close();  // the parent's copy
    if (mine.in()) wrong |= 16;
    return wrong;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(demand(mine.try_wait()), std::nullopt) << "it was signalled";
  rt.block_on(
      [](child& of) -> task<> {
        const auto put = co_await of.in().write_all(bytes_of("still here\n"));
        EXPECT_TRUE(put.has_value());
        const std::string line = co_await line_from(of.out());
        EXPECT_EQ(line, "still here");
        const auto end = co_await of.wait();
        EXPECT_TRUE(demand(end).is_success());
      },
      std::ref(mine));
}

TEST(fork, wait_for_a_child_or_pipe_of_the_parent_returns_forked) {
  if (!may_fork_beside_allocations)
    GTEST_SKIP() << "the runtime of a fork may find the sanitizer's own lock taken here";
  runtime rt(with_workers(1));
  child mine = rt.block_on(cat_with_pipes());
  const int code = code_of_fork([&mine] {
    runtime own(with_workers(1));
    return own.block_on(
        [](child& of) -> task<int> {
          int found = 0;
          std::array<std::byte, 1> byte{};
          const auto got = co_await of.out().read(byte);
          if (!is_forked(got)) found |= 1;
          const auto end = co_await of.wait();
          if (!is_forked(end)) found |= 2;
          // Children that the fork starts itself work as usual.
          const command own_one("true");
          const auto ended = co_await own_one.run();
          if (!ended.has_value() || !ended->is_success()) found |= 4;
          co_return found;
        },
        std::ref(mine));
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(demand(mine.try_wait()), std::nullopt);
}

/// Before each test the reaper has an epoll descriptor and a thread that waits in it.
class reaper_in_a_fork : public ::testing::Test {
 protected:
  void SetUp() override {
    child one = rt_.block_on(cat_with_pipes());
    in_ = std::move(one.in());
    auto left = rt_.block_on([]() -> task<child> {
      auto started = co_await command("cat").in(stdio::pipe()).dropped(process::on_drop::leave).spawn();
      co_return demand(std::move(started));
    });
    in_ = std::move(left.in());  // open until the end of the test, so the reaper waits
  }
  void TearDown() override {
    in_.close();
    wait_until([] { return !has_children(); });
  }
  runtime rt_{with_workers(1)};
  process::pipe_writer in_;
};

TEST_F(reaper_in_a_fork, waits_itself_if_it_gets_no_epoll_descriptor) {
  EXPECT_EQ(code_of_fork([] {
              int id = 0;
              const int fd = killed_child(id);
              const rlimit none{0, 0};
              if (fd == -1 || ::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
              process::detail::reap_later(fd, true);
              return is_gone(id) ? 0 : 2;
            }),
            0);
}

TEST_F(reaper_in_a_fork, gets_an_epoll_descriptor_as_soon_as_one_is_free) {
  if (!may_fork_beside_allocations)
    GTEST_SKIP() << "the reaper of a fork may find the sanitizer's own lock taken here";
  EXPECT_EQ(code_of_fork([] {
              rlimit before{};
              ::getrlimit(RLIMIT_NOFILE, &before);
              int first = 0;
              int second = 0;
              const int fds[] = {killed_child(first), killed_child(second)};
              const rlimit none{0, before.rlim_max};
              if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
              process::detail::reap_later(fds[0], true);
              if (::setrlimit(RLIMIT_NOFILE, &before) != 0) return 1;
              process::detail::reap_later(fds[1], true);
              wait_until([&] { return is_gone(first) && is_gone(second); });
              return 0;
            }),
            0);
}

/// Another thread may hold the reaper's lock when the process forks.
TEST_F(reaper_in_a_fork, does_not_find_its_lock_taken) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "a fork may find the sanitizer's own lock taken here";
  std::atomic<bool> over = false;
  std::thread busy([&over] {
    int id = 0;
    const int gone = killed_child(id);
    ::waitpid(id, nullptr, 0);
    // The child has already been reaped, so the reaper drops the descriptor at once.
    while (!over) {
      const int one = ::dup(gone);
      process::detail::reap_later(one, false);
      wait_until([one] { return ::fcntl(one, F_GETFD) == -1; });
    }
    ::close(gone);
  });
  int wrong = 0;
  for (int i = 0; i < 200 && wrong == 0; ++i) {
    wrong = code_of_fork([] {
      int id = 0;
      const int fd = killed_child(id);
      if (fd == -1) return 1;
      process::detail::reap_later(fd, true);
      wait_until([id] { return is_gone(id); });
      return 0;
    });
  }
  over = true;
  busy.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rota::test::fork_test
