// Which sanitizer this build has: under one, frames are not recycled, and a run takes many times as long.
#pragma once

namespace rota::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool with_address_sanitizer = true;
inline constexpr bool sanitized = true;
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool with_address_sanitizer = false;
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool with_address_sanitizer = __has_feature(address_sanitizer);
inline constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool with_address_sanitizer = false;
inline constexpr bool sanitized = false;
#endif

/// UndefinedBehaviorSanitizer probes memory through a pipe. Without a free descriptor it cannot.
#if defined(__has_feature)
inline constexpr bool needs_descriptors_itself = __has_feature(undefined_behavior_sanitizer);
#else
inline constexpr bool needs_descriptors_itself = false;
#endif

/// ThreadSanitizer ends a fork that starts threads.
inline constexpr bool may_start_threads = !sanitized || with_address_sanitizer;

/// g++ 12's AddressSanitizer leaves its allocator's locks to a fork as they are, clang's takes them before.
#if defined(__clang__)
inline constexpr bool may_fork_beside_allocations = may_start_threads;
#else
inline constexpr bool may_fork_beside_allocations = !sanitized;
#endif

}  // namespace rota::test
