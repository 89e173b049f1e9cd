#pragma once

#include <csignal>

namespace rota::base {

/// The signals that the kernel sends to a thread for what that thread has just done. A thread of rota never blocks them: the kernel ends a process
/// whose fault arrives while its signal is blocked, and the program's handler does not run.
inline constexpr int synchronous_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};

}  // namespace rota::base
