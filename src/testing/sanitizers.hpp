// The interface to the sanitizers: fibres, forbidden memory, and leaks that the checker itself reports.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTA_TESTING_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define ROTA_TESTING_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ROTA_TESTING_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define ROTA_TESTING_TSAN 1
#endif

#if defined(ROTA_TESTING_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(ROTA_TESTING_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace rota::testing::detail {

#if defined(ROTA_TESTING_ASAN)
inline constexpr bool with_sanitizer = true;
inline void poison(const void* address, std::size_t size) noexcept {
  __asan_poison_memory_region(address, size);
}
inline void unpoison(const void* address, std::size_t size) noexcept {
  __asan_unpoison_memory_region(address, size);
}
inline void ignore_leaks() noexcept { __lsan_disable(); }
inline void report_leaks() noexcept { __lsan_enable(); }
#else
#if defined(ROTA_TESTING_TSAN)
inline constexpr bool with_sanitizer = true;
#else
inline constexpr bool with_sanitizer = false;
#endif
inline void poison(const void* /*address*/, std::size_t /*size*/) noexcept {}
inline void unpoison(const void* /*address*/, std::size_t /*size*/) noexcept {}
inline void ignore_leaks() noexcept {}
inline void report_leaks() noexcept {}
#endif

}  // namespace rota::testing::detail
