// Memory of coroutine frames, for promise types.
//
// Each thread keeps lists of free frames, one for each size class: what a coroutine takes is what one of its kind has just given
// back, and is still in the cache. The lists' two operations are a dozen instructions and part of the program's own code; the
// rest is in src/base/linux/frame_allocator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <rota/detail/config.hpp>

// Where freed memory is watched, every frame is a new one.
#if ROTA_MODEL || defined(__SANITIZE_ADDRESS__) || ROTA_DETAIL_HIDE_TLS
#define ROTA_DETAIL_INLINE_FRAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTA_DETAIL_INLINE_FRAMES 0
#endif
#endif
#ifndef ROTA_DETAIL_INLINE_FRAMES
#define ROTA_DETAIL_INLINE_FRAMES 1
#endif

namespace rota::base {

/// Size classes are multiples of it.
inline constexpr std::size_t frame_granule = 32;
/// Larger frames come from `operator new`, and go back there.
inline constexpr std::size_t largest_kept_frame = 2048;

struct free_frame_block {
  free_frame_block* next;
};

struct frame_list {
  free_frame_block* first = nullptr;
  std::uint32_t room = 0;  // for so many more
};

[[nodiscard]] constexpr std::size_t frame_class(std::size_t bytes) noexcept {
  return (bytes + frame_granule - 1) / frame_granule;
}

struct frame_lists {
  frame_list of[frame_class(largest_kept_frame) + 1];
};

/// Of a thread that has none yet, or is ending: empty, and with no room.
ROTA_API extern constinit frame_lists no_frame_lists;

/// This thread's. Read once in each call below, which a coroutine's code may contain: clang 16 and later and g++ take its address
/// anew after every suspension.
ROTA_API [[gnu::tls_model("initial-exec")]] extern constinit thread_local frame_lists* frames_of_thread;

/// The whole of it; these are what the two functions below do where the lists are of no help.
[[nodiscard]] ROTA_API void* allocate_frame_slowly(std::size_t bytes);
ROTA_API void free_frame_slowly(void* frame, std::size_t bytes) noexcept;

/// At least `bytes`, aligned to 16. Throws `std::bad_alloc`. From this thread's list of free frames if it has one of the size.
[[nodiscard]] inline void* allocate_frame(std::size_t bytes) {
#if ROTA_DETAIL_INLINE_FRAMES
  if (bytes <= largest_kept_frame) {
    frame_list& list = frames_of_thread->of[frame_class(bytes)];
    if (free_frame_block* const block = list.first) [[likely]] {
      list.first = block->next;
      ++list.room;
      return block;
    }
  }
#endif
  return allocate_frame_slowly(bytes);
}

/// Into a list that this thread keeps. False: that has no room.
[[nodiscard]] inline bool keep_frame([[maybe_unused]] void* frame,
                                     [[maybe_unused]] std::size_t of_class) noexcept {
#if ROTA_DETAIL_INLINE_FRAMES
  frame_list& list = frames_of_thread->of[of_class];
  if (list.room == 0) [[unlikely]]
    return false;
  --list.room;
  list.first = ::new (frame) free_frame_block{list.first};
  return true;
#else
  return false;
#endif
}

/// `bytes` as it was given to allocate_frame. Any thread.
inline void free_frame(void* frame, std::size_t bytes) noexcept {
  if (bytes <= largest_kept_frame && keep_frame(frame, frame_class(bytes))) [[likely]]
    return;
  free_frame_slowly(frame, bytes);
}

/// What says, in a byte, into which list a frame goes; 0: free_frame() has to find out.
[[nodiscard]] constexpr std::uint8_t list_of_frame(std::size_t bytes) noexcept {
  static_assert(frame_class(largest_kept_frame) <= 0xFF);
  return ROTA_DETAIL_INLINE_FRAMES != 0 && bytes <= largest_kept_frame
             ? static_cast<std::uint8_t>(frame_class(bytes))
             : std::uint8_t{0};
}

}  // namespace rota::base
