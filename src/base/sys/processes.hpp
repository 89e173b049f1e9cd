// The system calls of processes and signals.
#pragma once

#include "base/sys/result.hpp"

#include <csignal>

namespace rota::base::sys {

/// What the process does when signal `number` comes from now on. `before`, if it is not null: what it did until now. EINVAL for the
/// numbers that glibc keeps to itself (32, 33).
result<void> set_signal_action(int number, const struct sigaction& next, struct sigaction* before) noexcept;

}  // namespace rota::base::sys
