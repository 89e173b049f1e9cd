// How a process detects state that it has inherited from its parent by fork.
#include "base/thread.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace rota::base::process_id_test {
namespace {

/// Returns what `body` returns in a forked child.
template <class F>
int in_fork(F body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(process_id, stays_the_same_and_differs_in_a_fork) {
  const std::uint64_t mine = this_process_id();
  const auto is_another = [mine] {
    const std::uint64_t of_fork = this_process_id();
    if (of_fork == mine || of_fork != this_process_id()) return 1;
    if (is_this_process(mine) || is_noted_process(mine) || !is_this_process(of_fork)) return 3;
    return in_fork([=] {
      const std::uint64_t of_its_fork = this_process_id();
      return of_its_fork == mine || of_its_fork == of_fork ? 2 : 0;
    });
  };
  EXPECT_EQ(in_fork(is_another), 0);
  EXPECT_EQ(this_process_id(), mine);
  EXPECT_TRUE(is_this_process(mine));
}

// Each of the two processes has the number 1 in its own namespace.
TEST(process_id, differs_in_a_fork_that_has_the_pid_of_its_parent) {
  constexpr int may_not = 77;
  const auto forks_again = [] {
    const std::uint64_t mine = this_process_id();
    const pid_t number = ::getpid();
    if (::unshare(CLONE_NEWPID) != 0) return may_not;
    return in_fork([=] { return ::getpid() != number || this_process_id() == mine ? 1 : 0; });
  };
  const int code = in_fork([&] { return ::unshare(CLONE_NEWPID) != 0 ? may_not : in_fork(forks_again); });
  if (code == may_not) GTEST_SKIP() << "needs the right to make a namespace";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace rota::base::process_id_test
