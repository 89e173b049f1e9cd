// Memory of coroutine frames, for promise types.
#pragma once

#include <cstddef>

#include <rota/detail/config.hpp>

namespace rota::base {

/// At least `bytes`, aligned to 16. Throws `std::bad_alloc`. From this thread's list of free frames if it has one of the size.
[[nodiscard]] ROTA_API void* allocate_frame(std::size_t bytes);

/// `bytes` as it was given to allocate_frame. Any thread.
ROTA_API void free_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace rota::base
