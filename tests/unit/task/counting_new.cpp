#include "unit/task/counting_new.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace rota::test {

namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

thread_local std::size_t made_here = 0;
thread_local std::size_t freed_here = 0;
thread_local std::size_t left_until_failure = never;

bool fails_now() noexcept {
  if (left_until_failure == never) return false;
  if (left_until_failure-- != 0) return false;
  left_until_failure = never;
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails_now()) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory =
      alignment <= alignof(std::max_align_t) ? std::malloc(bytes) : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  ++made_here;
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) ++freed_here;
  std::free(memory);
}

}  // namespace

void allocations::reset() noexcept { made_here = freed_here = 0; }
std::size_t allocations::made() noexcept { return made_here; }
std::size_t allocations::freed() noexcept { return freed_here; }
void allocations::fail_after(std::size_t nth) noexcept { left_until_failure = nth; }
void allocations::stop_failing() noexcept { left_until_failure = never; }

}  // namespace rota::test

void* operator new(std::size_t bytes) { return rota::test::allocate(bytes == 0 ? 1 : bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return rota::test::allocate(bytes == 0 ? 1 : bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { rota::test::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { rota::test::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { rota::test::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { rota::test::release(memory); }
