// Memory of coroutine frames.
#pragma once

#include <rota/detail/base_frames.hpp>

namespace rota::base {

/// Closes the lists of this thread: from now on each of its frames comes from operator new and goes back to
/// it.
void forgo_frame_lists() noexcept;

/// Frees the frames of the depot, which belong to no thread's list. Any thread may call it.
void trim_frames() noexcept;

}  // namespace rota::base
