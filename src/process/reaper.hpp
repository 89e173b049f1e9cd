// Reaps children for which no task waits any more.
#pragma once

namespace rota::process::detail {

/// Takes ownership of `pidfd` and reaps the child when it has ended, so that no zombie stays. `soon`: it has
/// been killed. Any thread.
void reap_later(int pidfd, bool soon) noexcept;

}  // namespace rota::process::detail
