// Systems without a ring: a seccomp filter makes io_uring_setup fail in a child.
#include "driver/io_driver.hpp"

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>

namespace rota::driver::probe_test {
namespace {

/// Makes io_uring_setup fail with `error` in this process from now on.
bool forbid_rings(int error) {
  const auto number = static_cast<unsigned>(SYS_io_uring_setup);
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum verdict : int { as_expected, no_filter, another_error, no_fall_back };

verdict try_without(int error) {
  if (!forbid_rings(error)) return no_filter;
  io_driver asked;
  if (asked.open(io_backend::uring) != std::error_code(error, std::generic_category())) return another_error;
  io_driver any;
  if (any.open(io_backend::automatic) || any.in_use() != io_backend::epoll || any.completions() != nullptr)
    return no_fall_back;
  return as_expected;
}

TEST(probe, refused_ring_is_an_error_if_requested_and_epoll_if_automatic) {
  if (!ring::make({}).has_value()) GTEST_SKIP() << "no io_uring here";
  for (const int error : {ENOSYS, EPERM, ENOMEM, EMFILE}) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(try_without(error));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    if (WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "no filter of system calls here";
    EXPECT_EQ(WEXITSTATUS(status), as_expected) << "error " << error;
  }
}

}  // namespace
}  // namespace rota::driver::probe_test
