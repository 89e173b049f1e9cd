#include "base/frame_allocator.hpp"

#include "base/tls_slot.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define ROTA_DETAIL_CACHE_FRAMES 0  // a recycled frame would hide its use after free
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTA_DETAIL_CACHE_FRAMES 0
#endif
#endif
#ifndef ROTA_DETAIL_CACHE_FRAMES
#define ROTA_DETAIL_CACHE_FRAMES 1
#endif

namespace rota::base {

namespace {

constexpr std::size_t granule = 32;
constexpr std::size_t largest = 2048;
constexpr std::size_t classes = largest / granule;

/// What one class of one thread may keep. A thread that only frees gives the rest back: memory is bounded by
/// threads x classes x kept_bytes, whatever the traffic between threads.
constexpr std::size_t kept_bytes = 64 * 1024;

/// The longest list of each class: a table, since a division costs more than all the rest.
struct list_limits {
  std::array<std::uint32_t, classes + 1> of{};
  constexpr list_limits() noexcept {
    for (std::size_t c = 1; c <= classes; ++c) of[c] = static_cast<std::uint32_t>(kept_bytes / (c * granule));
  }
};
constexpr list_limits limits;

struct free_block {
  free_block* next;
};

struct free_list {
  free_block* head = nullptr;
  std::uint32_t length = 0;
};

constexpr std::size_t class_of(std::size_t bytes) noexcept { return (bytes + granule - 1) / granule; }

}  // namespace

struct frame_cache {
  std::array<free_list, classes + 1> lists{};

  frame_cache() = default;
  frame_cache(const frame_cache&) = delete;
  frame_cache& operator=(const frame_cache&) = delete;
  ~frame_cache() {
    for (free_list& list : lists) {
      while (free_block* const block = list.head) {
        list.head = block->next;
        ::operator delete(block);
      }
    }
  }
};

namespace {

/// Frees what a thread kept when it ends. A frame freed after that, by another thread_local, goes straight to the heap.
struct cache_owner {
  frame_cache cache;
  cache_owner() noexcept { this_thread_locals().frames = &cache; }
  cache_owner(const cache_owner&) = delete;
  cache_owner& operator=(const cache_owner&) = delete;
  ~cache_owner() {
    this_thread_locals().frames = nullptr;
    this_thread_locals().frames_closed = true;
  }
};

frame_cache* open_cache(thread_locals& locals) noexcept {
  if (locals.frames_closed) return nullptr;
  thread_local cache_owner owner;
  return &owner.cache;
}

}  // namespace

void* allocate_frame(std::size_t bytes) {
  if (!ROTA_DETAIL_CACHE_FRAMES || bytes > largest) return ::operator new(bytes);
  const std::size_t c = class_of(bytes);
  if (frame_cache* const cache = this_thread_locals().frames) [[likely]] {
    free_list& list = cache->lists[c];
    if (free_block* const block = list.head) [[likely]] {
      list.head = block->next;
      --list.length;
      return block;
    }
  }
  return ::operator new(c * granule);
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  if (!ROTA_DETAIL_CACHE_FRAMES || bytes > largest) {
    ::operator delete(frame);
    return;
  }
  thread_locals& locals = this_thread_locals();
  frame_cache* const cache = locals.frames != nullptr ? locals.frames : open_cache(locals);
  const std::size_t c = class_of(bytes);
  if (cache == nullptr || cache->lists[c].length >= limits.of[c]) {
    ::operator delete(frame);
    return;
  }
  free_list& list = cache->lists[c];
  list.head = ::new (frame) free_block{list.head};
  ++list.length;
}

}  // namespace rota::base
