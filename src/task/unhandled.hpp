// Passes exceptions that no caller can see any more to the policy of a runtime, a pool or a mailbox.
#pragma once

#include "task/header.hpp"

#include <rota/unhandled.hpp>

#include <exception>

namespace rota::core {

[[nodiscard]] bool is_cancellation(const std::exception_ptr& thrown) noexcept;
/// Describes a task. `what` is left empty.
[[nodiscard]] unhandled_exception about_task(const header& task) noexcept;
/// Passes an exception to `policy`: calls its function, or prints one line; then ends the program if the
/// policy says so. Sets `about.what`.
void give_unhandled(const unhandled_policy& policy,
                    unhandled_exception about,
                    const std::exception_ptr& thrown) noexcept;

}  // namespace rota::core
