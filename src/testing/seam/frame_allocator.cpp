// Frames of the model. There is no cache: every frame is a new one, so that a use after free is detected.
#include "base/frame_allocator.hpp"

#include "testing/machine.hpp"

#include <algorithm>
#include <new>

namespace rota::base {

using testing::detail::active;

namespace {

constexpr std::size_t smallest = 1;  // the heap takes a block without a size for an object, not memory

void release(void* frame) noexcept { ::operator delete(frame); }

}  // namespace

void* allocate_frame_slowly(std::size_t bytes) {
  bytes = std::max(bytes, smallest);
  if (active == nullptr) return ::operator new(bytes);
  if (active->allocation_fails()) throw std::bad_alloc();
  void* frame = ::operator new(bytes);
  active->allocated({frame, bytes, "a frame", active->current(), release});
  return frame;
}

void free_frame_slowly(void* frame, std::size_t bytes) noexcept {
  if (active == nullptr) return release(frame);
  active->freed(frame, std::max(bytes, smallest));
}

void forgo_frame_lists() noexcept {}
void trim_frames() noexcept {}

}  // namespace rota::base
