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

}  // namespace rota::test
