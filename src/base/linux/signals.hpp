#pragma once

#include <csignal>

namespace rota::base {

/// The signals that the kernel sends to a thread for what that thread has just done. A thread of rota never
/// blocks them: if a fault arrives while its signal is blocked, the kernel ends the process, and the
/// program's handler does not run.
inline constexpr int synchronous_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};

}  // namespace rota::base
