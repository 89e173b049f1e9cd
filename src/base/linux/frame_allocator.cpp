#include "base/frame_allocator.hpp"

#include "base/cache_line.hpp"
#include "base/mutex.hpp"
#include "base/tls_slot.hpp"

#include <algorithm>
#include <array>
#include <utility>

// PROTOCOL: free frames
//   lists   of a thread, one for each class. Only that thread touches them. Each holds at most kept_bytes.
//   depot   of all threads: for each class a stack of batches, under its lock. A thread with a full list
//           gives half of it to the depot as one batch. A thread with an empty list takes a batch before it
//           asks the heap. The depot keeps at most depot_batches of a class; a batch beyond that goes to the
//           heap.
// So frames that one thread allocates and another frees circulate in batches: one lock for some hundred of
// them, whatever the traffic between threads. Memory is bounded: classes x (threads x kept_bytes +
// depot_batches x kept_bytes / 2). A thread that ends gives its lists to the heap. A runtime that ends gives
// the depot to the heap.

namespace rota::base {

constinit frame_lists no_frame_lists;
constinit thread_local frame_lists* frames_of_thread = &no_frame_lists;

namespace {

constexpr std::size_t classes = frame_class(largest_kept_frame);
constexpr std::size_t kept_bytes = 64 * 1024;
constexpr std::size_t depot_batches = 4;

/// How many frames the list of each class may hold. A table, since a division would cost more than the rest
/// of the operation.
struct list_limits {
  std::array<std::uint32_t, classes + 1> of{};
  constexpr list_limits() noexcept {
    for (std::size_t c = 1; c <= classes; ++c)
      of[c] = static_cast<std::uint32_t>(kept_bytes / (c * frame_granule));
  }
};
constexpr list_limits limits;

struct batch {
  free_frame_block* first = nullptr;
  std::uint32_t count = 0;
};

void give_to_heap(free_frame_block* first) noexcept {
  while (first != nullptr) ::operator delete(std::exchange(first, first->next));
}

class depot {
 public:
  /// Returns false if the depot is full, or if its lock cannot be taken soon.
  [[nodiscard]] bool put(batch b) noexcept {
    if (!lock_soon()) return false;
    const bool has_room = count_ != depot_batches;
    if (has_room) batches_[count_++] = b;
    mutex_.unlock();
    return has_room;
  }
  /// Returns an empty batch if there is none, or if the lock cannot be taken soon.
  [[nodiscard]] batch take() noexcept {
    if (!lock_soon()) return {};
    const batch taken = count_ == 0 ? batch{} : batches_[--count_];
    mutex_.unlock();
    return taken;
  }

 private:
  /// Tries for longer than another thread's critical section lasts. In a child of fork() a thread that stayed
  /// in the parent may hold the lock for ever; then the heap serves.
  [[nodiscard]] bool lock_soon() noexcept {
    constexpr int most_looks = 100;
    for (int i = 0; i < most_looks; ++i) {
      if (mutex_.try_lock()) return true;
      cpu_relax();
    }
    return false;
  }

  mutex mutex_;
  std::size_t count_ = 0;
  std::array<batch, depot_batches> batches_{};
};

struct alignas(cache_line) class_depot : depot {};

// Never destroyed: threads end after static objects do.
constinit std::array<class_depot, classes + 1> depots{};

/// Frees the lists of a thread when it ends. A frame that another thread_local frees after that goes straight
/// to the heap.
struct list_owner {
  frame_lists lists;
  list_owner() noexcept {
    for (std::size_t c = 1; c <= classes; ++c) lists.of[c].room = limits.of[c];
    frames_of_thread = &lists;
  }
  list_owner(const list_owner&) = delete;
  list_owner& operator=(const list_owner&) = delete;
  ~list_owner() {
    forgo_frame_lists();
    for (frame_list& list : lists.of) give_to_heap(std::exchange(list.first, nullptr));
  }
};

frame_lists* open_lists() noexcept {
  if (frames_of_thread != &no_frame_lists) return frames_of_thread;
  if (this_thread_locals().frames_closed) return nullptr;
  thread_local list_owner owner;
  return &owner.lists;
}

/// Moves half of a full list to the depot, as a batch, or to the heap.
void give_half(frame_list& list, std::size_t c) noexcept {
  batch b{list.first, (limits.of[c] + 1) / 2};
  free_frame_block* last = b.first;
  for (std::uint32_t i = 1; i < b.count; ++i) last = last->next;
  list.first = std::exchange(last->next, nullptr);
  list.room = b.count;
  if (!depots[c].put(b)) give_to_heap(b.first);
}

}  // namespace

void* allocate_frame_slowly(std::size_t bytes) {
  if (!ROTA_DETAIL_INLINE_FRAMES || bytes > largest_kept_frame) return ::operator new(bytes);
  const std::size_t c = std::max(frame_class(bytes), std::size_t{1});
  if (frame_lists* const lists = open_lists()) {
    frame_list& list = lists->of[c];
    if (list.first == nullptr) {
      const batch b = depots[c].take();
      list.first = b.first;
      list.room -= b.count;
    }
    if (free_frame_block* const block = list.first) {
      list.first = block->next;
      ++list.room;
      return block;
    }
  }
  return ::operator new(c * frame_granule);
}

void free_frame_slowly(void* frame, std::size_t bytes) noexcept {
  frame_lists* const lists =
      !ROTA_DETAIL_INLINE_FRAMES || bytes > largest_kept_frame ? nullptr : open_lists();
  if (lists == nullptr) {
    ::operator delete(frame);
    return;
  }
  const std::size_t c = std::max(frame_class(bytes), std::size_t{1});
  frame_list& list = lists->of[c];
  if (list.room == 0) give_half(list, c);
  --list.room;
  list.first = ::new (frame) free_frame_block{list.first};
}

void forgo_frame_lists() noexcept {
  frames_of_thread = &no_frame_lists;
  this_thread_locals().frames_closed = true;
}

void trim_frames() noexcept {
  for (depot& d : depots) {
    for (batch b = d.take(); b.count != 0; b = d.take()) give_to_heap(b.first);
  }
}

}  // namespace rota::base
