// Arming, cancelling and firing allocate nothing. Counts every allocation of the program.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "shard_support.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROTA_TEST_SANITIZED 1
#elif defined(__has_feature)
#define ROTA_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define ROTA_TEST_SANITIZED 0
#endif

namespace {
std::atomic<std::size_t> allocations{0};
}

// A sanitizer replaces operator new and has its own way to count.
#if ROTA_TEST_SANITIZED
// <sanitizer/allocator_interface.h>, which Debian's g++ does not bring.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace {
void count_one(const volatile void*, std::size_t) { allocations.fetch_add(1, std::memory_order_relaxed); }
void count_none(const volatile void*) {}
const int hooks = __sanitizer_install_malloc_and_free_hooks(count_one, count_none);
}  // namespace

#else
// Not inline: g++ would see malloc() and operator delete as a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto align = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace {

using namespace time_test;

TEST(timer_memory, the_allocation_counter_of_this_test_works) {
  const std::size_t before = allocations;
  const auto two = std::make_unique<std::vector<int>>(3);
  EXPECT_EQ(two->size(), 3U);
  EXPECT_EQ(allocations, before + 2);
}

TEST(timer_memory, a_million_times_arm_and_cancel_allocate_nothing) {
  shard timers(start);
  std::vector<timer_node> node(100);
  listener heard;
  const std::size_t before = allocations;
  for (unsigned i = 0; i < 1'000'000; ++i) {
    timer_node& each = node[i % 100];
    const auto ahead = nanoseconds(std::int64_t{1} << (i % 62));
    arm(timers, each, start + ahead, heard.waker());
    if (i % 3 != 0) static_cast<void>(shard::cancel(each));
  }
  for (auto& each : node) static_cast<void>(shard::cancel(each));
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(heard.woken, 0U);
  EXPECT_EQ(heard.dropped, 1'000'000U);
}

TEST(timer_memory, firing_allocates_nothing) {
  shard timers(start);
  std::vector<timer_node> node(10'000);
  listener heard;
  const std::size_t before = allocations;
  for (unsigned i = 0; i < 10'000; ++i) arm(timers, node[i], start + i * 777us, heard.waker());
  EXPECT_EQ(timers.poll(start + 1h, plenty), 10'000U);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(heard.woken, 10'000U);
}

}  // namespace
