#include "support/allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

#if defined(ROTA_COUNT_OPERATIONS)
constexpr bool from_the_start = true;
#else
constexpr bool from_the_start = false;
#endif

std::atomic<bool> counting{from_the_start};
std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> bytes{0};

void note(std::size_t size) noexcept {
  if (!counting.load(std::memory_order_relaxed)) [[likely]]
    return;
  calls.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(size, std::memory_order_relaxed);
}

void* or_throw(void* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

// All other forms of operator new call one of these.
void* operator new(std::size_t size) {
  note(size);
  return or_throw(std::malloc(size == 0 ? 1 : size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  note(size);
  const auto align = static_cast<std::size_t>(alignment);
  return or_throw(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void operator delete(void* which) noexcept { std::free(which); }
void operator delete(void* which, std::size_t) noexcept { std::free(which); }
void operator delete(void* which, std::align_val_t) noexcept { std::free(which); }
void operator delete(void* which, std::size_t, std::align_val_t) noexcept { std::free(which); }

namespace bench {

void count_allocations() noexcept { counting.store(true, std::memory_order_relaxed); }

allocations allocations_so_far() noexcept {
  return {calls.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed)};
}

}  // namespace bench
