// Decisions that are right either way.
#pragma once

namespace rota::base {

/// Shall this be done in the way that is not usual? An exploration tries both (options::variations); otherwise: no.
#if ROTA_MODEL
[[nodiscard]] bool chance() noexcept;
#else
[[nodiscard]] constexpr bool chance() noexcept { return false; }
#endif

}  // namespace rota::base
