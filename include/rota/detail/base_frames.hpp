// Memory of coroutine frames, for promise types.
//
// Each thread keeps lists of free frames, one for each size class. So a new coroutine usually gets a frame of
// its class that was freed just before and is still in the cache. The two operations on the lists are a dozen
// instructions each and are inlined into the program's code. The rest is in
// src/base/linux/frame_allocator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <rota/detail/config.hpp>

// With AddressSanitizer, with a sanitizer of g++ and in the model build every frame is newly allocated.
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

/// Size classes are multiples of this number of bytes.
inline constexpr std::size_t frame_granule = 32;
/// Larger frames come from `operator new` and go back to it.
inline constexpr std::size_t largest_kept_frame = 2048;

struct free_frame_block {
  free_frame_block* next;
};

struct frame_list {
  free_frame_block* first = nullptr;
  std::uint32_t room = 0;  // how many more frames the list may take
};

[[nodiscard]] constexpr std::size_t frame_class(std::size_t bytes) noexcept {
  return (bytes + frame_granule - 1) / frame_granule;
}

struct frame_lists {
  frame_list of[frame_class(largest_kept_frame) + 1];
};

/// The empty lists, without capacity, of a thread that has no lists yet or that is ending.
ROTA_API extern constinit frame_lists no_frame_lists;

/// The lists of this thread. Each call below reads the pointer once. The code of a coroutine may contain
/// these calls: clang 16 and later and g++ compute the pointer's address anew after every suspension.
ROTA_API [[gnu::tls_model("initial-exec")]] extern constinit thread_local frame_lists* frames_of_thread;

/// The complete operations. The two inline functions below call them when the lists of this thread cannot
/// serve.
[[nodiscard]] ROTA_API void* allocate_frame_slowly(std::size_t bytes);
ROTA_API void free_frame_slowly(void* frame, std::size_t bytes) noexcept;

/// Returns at least `bytes`, aligned to 16, from this thread's list of free frames if that has a frame of the
/// class. Throws `std::bad_alloc`.
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

/// Puts the frame into a list of this thread. Returns false if the list is full.
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

/// Frees a frame. `bytes` is the number that was given to allocate_frame(). Any thread may call it.
inline void free_frame(void* frame, std::size_t bytes) noexcept {
  if (bytes <= largest_kept_frame && keep_frame(frame, frame_class(bytes))) [[likely]]
    return;
  free_frame_slowly(frame, bytes);
}

/// Returns the list that a frame of `bytes` goes into, as one byte; 0 if free_frame() must find it out.
[[nodiscard]] constexpr std::uint8_t list_of_frame(std::size_t bytes) noexcept {
  static_assert(frame_class(largest_kept_frame) <= 0xFF);
  return ROTA_DETAIL_INLINE_FRAMES != 0 && bytes <= largest_kept_frame
             ? static_cast<std::uint8_t>(frame_class(bytes))
             : std::uint8_t{0};
}

}  // namespace rota::base
