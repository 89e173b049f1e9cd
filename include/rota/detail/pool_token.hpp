// How a function of a work gets a stop token of a type of its choice: what <rota/stop_token.hpp> must know of
// pools.
#pragma once

#include <rota/detail/config.hpp>

namespace rota::pool::detail {

class work_core;

/// A hook that is called for a stop request at once, on the thread that makes the request.
struct stop_hook {
  void (*request)(stop_hook& self) noexcept;
  void (*destroy)(stop_hook* self) noexcept;
};
/// Returns the hook of the work that runs on this thread, or null if it has none.
[[nodiscard]] ROTA_API stop_hook* hook_of(work_core& work) noexcept;
/// Sets the hook. The work owns it. If a stop was requested before, the hook is called here.
ROTA_API void set_hook(work_core& work, stop_hook& hook) noexcept;

/// Makes the token that a function takes as its last parameter. Defined for std::stop_token in
/// <rota/stop_token.hpp>.
template <class Token>
struct token_of;

}  // namespace rota::pool::detail
