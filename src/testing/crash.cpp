#include "testing/crash.hpp"

#include "testing/machine.hpp"
#include "testing/sanitizers.hpp"

#include <array>
#include <string>

namespace rota::testing::detail {

namespace {

constexpr std::size_t handler_stack_size = 64 * 1024;

const char* name_of_signal(int number) noexcept {
  switch (number) {
    case SIGSEGV: return "SIGSEGV (a wild pointer, or more than the stack)";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
  }
}

// The handler leaves by switching stacks. SA_NODEFER keeps the signal deliverable. The abandoned handler
// stack is used from its top the next time.
void crashed(int number) {
  if (active != nullptr) active->fail(std::string("crash: ") + name_of_signal(number));
  std::signal(number, SIG_DFL);
  (void)std::raise(number);
}

}  // namespace

crash_guard::crash_guard() : stack_(with_sanitizer ? 0 : handler_stack_size) {
  if (with_sanitizer) return;
  stack_t handler_stack{};
  handler_stack.ss_sp = stack_.data();
  handler_stack.ss_size = stack_.size();
  (void)::sigaltstack(&handler_stack, &old_stack_);
  struct sigaction action{};
  action.sa_handler = crashed;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < signals.size(); ++i) (void)::sigaction(signals[i], &action, &old_actions_[i]);
}

crash_guard::~crash_guard() {
  if (with_sanitizer) return;
  for (std::size_t i = 0; i < signals.size(); ++i) (void)::sigaction(signals[i], &old_actions_[i], nullptr);
  (void)::sigaltstack(&old_stack_, nullptr);
}

}  // namespace rota::testing::detail
