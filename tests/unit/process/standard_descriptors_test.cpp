// A process that has closed 0, 1 and 2, as daemons do: pipes and other descriptors get these numbers.
#include "unit/process/process_support.hpp"

#include <fcntl.h>

namespace rota::test::standard_descriptors_test {
namespace {

/// Runs `body` in a forked child without the three. Returns its exit code, which names the failure.
template <class F>
int code_without_them(F body) {
  wait_until([] { return threads_of_process() == 1; });
  const pid_t fork = ::fork();
  if (fork == 0) {
    ::alarm(20);
    for (int fd = 0; fd <= STDERR_FILENO; ++fd) ::close(fd);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(fork, &status, 0), fork);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Occupies the `count` lowest free numbers.
void take(int count) {
  for (int i = 0; i < count; ++i) static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

task<int> talk(bool merged) {
  command both = shell("cat; echo out; echo err >&2; exec 0<&-; read x || echo end");
  if (merged) both.merge_err_into_out();
  process::output_options how;
  how.input = bytes_of("in\n");
  auto got = co_await both.output(how);
  if (!got.has_value()) co_return 1;
  const char* const all = merged ? "in\nout\nerr\nend\n" : "in\nout\nend\n";
  // The shell's complaint about the closed input comes after the expected output.
  const bool is_right = merged ? got->out.starts_with("in\nout\nerr\n") && got->out.ends_with("end\n")
                               : got->out == all && got->err.starts_with("err\n");
  co_return is_right ? 0 : 2;
}

TEST(standard_descriptors, pipes_to_children_work_while_they_are_closed) {
  for (int taken = 0; taken <= 3; ++taken) {
    for (const bool merged : {false, true}) {
      const int wrong = code_without_them([taken, merged] {
        runtime rt(with_workers(1));
        take(taken);
        return rt.block_on(talk(merged));
      });
      EXPECT_EQ(wrong, 0) << taken << merged;
    }
  }
}

// Descriptor 1 belongs to this process. A child that got it as 2 could hold the writing end of its own input.
TEST(standard_descriptors, private_descriptors_on_their_numbers_reach_no_child) {
  for (int taken = 0; taken <= 3; ++taken) {
    const int wrong = code_without_them([taken] {
      runtime rt(with_workers(1));
      take(taken);
      return rt.block_on([]() -> task<int> {
        command cat("cat");
        cat.in(stdio::pipe()).merge_err_into_out();
        const auto refused = co_await cat.spawn();
        if (refused.has_value()) co_return 1;
        if (refused.error() != std::errc::bad_file_descriptor) co_return 2;
        // Without a merge the child simply has no 1 and 2.
        const command quiet = shell("[ ! -e /proc/self/fd/1 ] && [ ! -e /proc/self/fd/2 ]");
        const auto ended = co_await quiet.run();
        co_return ended.has_value() && ended->is_success() ? 0 : 4;
      });
    });
    EXPECT_EQ(wrong, 0) << taken;
  }
}

TEST(standard_descriptors, pipe_of_this_process_does_not_use_their_numbers) {
  const int wrong = code_without_them([] {
    runtime rt(with_workers(1));
    return rt.block_on([]() -> task<int> {
      auto ends = process::pipe();
      if (!ends.has_value()) co_return 1;
      if (ends->first.native_handle() <= STDERR_FILENO) co_return 2;
      if (ends->second.native_handle() <= STDERR_FILENO) co_return 4;
      const auto put = co_await ends->second.write_all(bytes_of("x\n"));
      const std::string line = co_await line_from(ends->first);
      co_return put.has_value() && line == "x" ? 0 : 8;
    });
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rota::test::standard_descriptors_test
