// Children that nobody waits for any more.
#pragma once

namespace rota::process::detail {

/// Owns `pidfd`: asks for the child's end when it has come, so that no zombie stays. `soon`: it has been killed. Any thread.
void reap_later(int pidfd, bool soon) noexcept;

}  // namespace rota::process::detail
