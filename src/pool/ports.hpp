// What the rooms below may ask of a pool's threads, and of those that run a pool's works.
#pragma once

namespace rota::pool::detail {

/// Before the first of them. Again and again does no harm.
void install_ports() noexcept;

}  // namespace rota::pool::detail
