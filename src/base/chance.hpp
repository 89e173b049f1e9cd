// Decisions that are correct either way.
#pragma once

namespace rota::base {

/// Returns true if the caller shall take the unusual way. An exploration tries both (options::variations);
/// other builds return false.
#if ROTA_MODEL
[[nodiscard]] bool chance() noexcept;
#else
[[nodiscard]] constexpr bool chance() noexcept { return false; }
#endif

}  // namespace rota::base
