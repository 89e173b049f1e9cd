// A report that is written before rota ends the program.
#pragma once

namespace rota::base {

/// From now on a fatal error calls `say` after its own message and before the abort, on the thread that ends
/// the program. A fatal error inside of `say` does not call it again. If two threads end the program at once,
/// only one calls it. A later call replaces `say`. In the model build nothing is called.
void say_before_abort(void (*say)() noexcept) noexcept;

}  // namespace rota::base
