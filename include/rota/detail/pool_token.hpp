// How a function of a pool's work gets a token of its own liking. What <rota/stop_token.hpp> must know of pools.
#pragma once

#include <rota/detail/config.hpp>

namespace rota::pool::detail {

class work_core;

/// Somebody who hears of a stop at once, on the thread that asks for it.
struct stop_hook {
  void (*request)(stop_hook& self) noexcept;
  void (*destroy)(stop_hook* self) noexcept;
};
/// The hook of the work that runs here; null: it has none.
[[nodiscard]] ROTA_API stop_hook* hook_of(work_core& work) noexcept;
/// The work owns it. A stop that was asked for before is requested here.
ROTA_API void set_hook(work_core& work, stop_hook& hook) noexcept;

/// Made into what a function takes as its last parameter to hear of a stop. Defined for std::stop_token in
/// <rota/stop_token.hpp>.
template <class Token>
struct token_of;

}  // namespace rota::pool::detail
