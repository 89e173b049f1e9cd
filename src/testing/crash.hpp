// A crash of the code under test is a failure of its execution, with trace and replay string, not of the
// whole program.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <vector>

namespace rota::testing::detail {

/// While it lives: SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT on a fibre fail its execution. Elsewhere they
/// do what they did before. With a sanitizer it does nothing: their own reports are better.
class crash_guard {
 public:
  crash_guard();
  crash_guard(const crash_guard&) = delete;
  crash_guard& operator=(const crash_guard&) = delete;
  ~crash_guard();

 private:
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

  std::vector<std::byte> stack_;  // the fibre's own may be what overflowed
  stack_t old_stack_{};
  std::array<struct sigaction, signals.size()> old_actions_{};
};

}  // namespace rota::testing::detail
