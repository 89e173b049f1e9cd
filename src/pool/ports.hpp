// The ports through which lower modules reach the threads of a pool and the works that run on them.
#pragma once

namespace rota::pool::detail {

/// Installs the ports. Must be called before the first pool starts a thread. May be called repeatedly.
void install_ports() noexcept;

}  // namespace rota::pool::detail
