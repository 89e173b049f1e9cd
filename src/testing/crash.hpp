// Turns a crash of the code under test into a failure of its execution, with trace and replay string.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <vector>

namespace rota::testing::detail {

/// While it lives, SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT on a fibre fail its execution. Elsewhere they
/// keep their previous effect. With a sanitizer it does nothing: the reports of the sanitizer are better.
class crash_guard {
 public:
  crash_guard();
  crash_guard(const crash_guard&) = delete;
  crash_guard& operator=(const crash_guard&) = delete;
  ~crash_guard();

 private:
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

  std::vector<std::byte> stack_;  // the fibre's own stack may have overflowed
  stack_t old_stack_{};
  std::array<struct sigaction, signals.size()> old_actions_{};
};

}  // namespace rota::testing::detail
