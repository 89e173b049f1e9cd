// For tests of forked children: a child checks claims, prints those that fail, and exits with its code.
#pragma once

#include "api/scenario_support.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <rota/error.hpp>

#include <cstdio>
#include <utility>

namespace rota::test {

/// Returns true if `call` throws errc::forked.
template <class F>
[[nodiscard]] bool is_refused(F call) {
  try {
    call();
  } catch (const error& e) {
    return e.code() == errc::forked;
  } catch (...) {
  }
  return false;
}

/// Waits for a child. Returns its exit code, -1 if it died from a signal.
inline int code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The claims of a child: it prints each one that does not hold, and then exits with code 1.
class claims {
 public:
  void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "in the child: %s\n", what);
    code_ = 1;
  }
  template <class F>
  void expect_refused(F call, const char* what) {
    expect(is_refused(std::move(call)), what);
  }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_ = 0;
};

/// Runs `body(claims&)` in a child, and leaves that before its other destructors. Returns its code.
template <class F>
int in_a_child(F body) {
  const pid_t child = ::fork();
  EXPECT_NE(child, -1);
  if (child == 0) {
    ::alarm(20);
    claims all;
    body(all);
    ::_exit(all.code());
  }
  return code_of(child);
}

}  // namespace rota::test
