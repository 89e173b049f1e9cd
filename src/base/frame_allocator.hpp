// Memory of coroutine frames.
#pragma once

#include <rota/detail/base_frames.hpp>

namespace rota::base {

/// This thread's frames come from operator new from now on, each of them, and go back there.
void forgo_frame_lists() noexcept;

/// Gives back what no thread's own list holds. Any thread.
void trim_frames() noexcept;

}  // namespace rota::base
