#include "unit/faults/failing_new.hpp"

#include "base/frame_allocator.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace rota::test {

namespace {

std::atomic<bool> armed{false};
std::atomic<long> left{0};
std::atomic<long> until{0};
std::atomic<long> live_blocks{0};
std::atomic<long> bytes_of_blocks{0};

struct intrusion {
  void (*call)(void*) = nullptr;
  void* with = nullptr;
};
thread_local intrusion before_next;

long bytes_of(void* block) noexcept { return static_cast<long>(::malloc_usable_size(block)); }

bool fails_now() noexcept {
  if (!armed.load(std::memory_order_relaxed)) return false;
  const long at = left.fetch_sub(1, std::memory_order_relaxed);
  return at <= 0 && at > until.load(std::memory_order_relaxed);
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (const intrusion now = std::exchange(before_next, {}); now.call != nullptr) [[unlikely]]
    now.call(now.with);
  if (fails_now()) return nullptr;
  const std::size_t size = bytes == 0 ? 1 : bytes;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const block =
      alignment <= alignof(std::max_align_t) ? std::malloc(size) : std::aligned_alloc(alignment, rounded);
  if (block == nullptr) return nullptr;
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  bytes_of_blocks.fetch_add(bytes_of(block), std::memory_order_relaxed);
  return block;
}

void* demand(std::size_t bytes, std::size_t alignment) {
  void* const block = allocate(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  bytes_of_blocks.fetch_sub(bytes_of(block), std::memory_order_relaxed);
  std::free(block);
}

}  // namespace

void memory::fail_after(std::size_t nth, std::size_t in_a_row) noexcept {
  left.store(static_cast<long>(nth), std::memory_order_relaxed);
  until.store(-static_cast<long>(in_a_row), std::memory_order_relaxed);
  armed.store(true, std::memory_order_seq_cst);
}

std::size_t memory::stop_failing() noexcept {
  armed.store(false, std::memory_order_seq_cst);
  const long after = left.load(std::memory_order_relaxed);
  const long row = -until.load(std::memory_order_relaxed);
  if (after >= 0) return 0;
  return static_cast<std::size_t>(-after < row ? -after : row);
}

void memory::before_next_here(void (*call)(void* with), void* with) noexcept { before_next = {call, with}; }

long memory::live() noexcept { return live_blocks.load(std::memory_order_relaxed); }

long memory::live_bytes() noexcept { return bytes_of_blocks.load(std::memory_order_relaxed); }

void forgo_frame_cache() noexcept { base::forgo_frame_lists(); }

}  // namespace rota::test

namespace {
std::size_t number(std::align_val_t alignment) noexcept { return static_cast<std::size_t>(alignment); }
}  // namespace

void* operator new(std::size_t bytes) { return rota::test::demand(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t a) { return rota::test::demand(bytes, number(a)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return rota::test::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return rota::test::allocate(bytes, number(a));
}
void operator delete(void* block) noexcept { rota::test::release(block); }
void operator delete(void* block, std::size_t) noexcept { rota::test::release(block); }
void operator delete(void* block, std::align_val_t) noexcept { rota::test::release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { rota::test::release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { rota::test::release(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  rota::test::release(block);
}
