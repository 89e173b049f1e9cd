// The few macros of rota: ROTA_API, ROTA_MODEL, ROTA_ASSERT, ROTA_FATAL.
#pragma once

// g++ 12 says 202100 of its -std=c++23.
#if __cplusplus <= 202002L
#error "rota needs C++23: compile with -std=c++23"
#endif

#include <cstdint>

#include <rota/detail/guard.hpp>

/// Exported from the shared library; everything else is hidden.
#define ROTA_API [[gnu::visibility("default")]]

/// 1 in the model build: rota's sources run on fibres under a deterministic scheduler.
#ifndef ROTA_MODEL
#define ROTA_MODEL 0
#endif
/// 1, beside ROTA_MODEL: the same seam on a machine that counts time, with queues as large as they really are.
#ifndef ROTA_SIMULATED
#define ROTA_SIMULATED 0
#endif

/// With -DROTA_CHECK_LIFETIMES clang warns (-Wdangling) where a coroutine keeps a reference to a temporary that is gone when it
/// starts. It then wants [[clang::coro_wrapper]] at every function that returns a task and is no coroutine, which those of the C++
/// library have not: std::function<task<>()> and std::invoke are errors. So it is for a look at the code, not for each build.
/// ROTA_DETAIL_WRAPPER marks such a function; ROTA_DETAIL_PASSES_ON one whose arguments the task does not keep.
/// ROTA_DETAIL_STARTED marks the parameter of a function that starts a task: the handle lives no longer than what the task refers to.
#if defined(ROTA_CHECK_LIFETIMES) && defined(__clang__)
#define ROTA_DETAIL_CHECKED [[clang::coro_return_type, clang::coro_lifetimebound]]
#define ROTA_DETAIL_WRAPPER [[clang::coro_wrapper]]
#define ROTA_DETAIL_PASSES_ON [[clang::coro_wrapper, clang::coro_disable_lifetimebound]]
#define ROTA_DETAIL_STARTED [[clang::lifetimebound]]
#else
#define ROTA_DETAIL_STARTED
#define ROTA_DETAIL_CHECKED
#define ROTA_DETAIL_WRAPPER
#define ROTA_DETAIL_PASSES_ON
#endif

/// A parameter that the result refers to: clang warns where a temporary is gone before the result is.
#if defined(__clang__)
#define ROTA_DETAIL_KEPT [[clang::lifetimebound]]
#else
#define ROTA_DETAIL_KEPT
#endif

/// Of a class whose objects do nothing by themselves. The compiler warns, and names the remedy, where a call drops such an object; and it
/// warns of a variable that keeps one and is never used.
#define ROTA_DETAIL_AWAIT_IT [[gnu::warn_unused, nodiscard("does nothing without co_await")]]

namespace rota::detail {

/// For a static_assert in a function that must not be called: false when it is.
template <class...>
inline constexpr bool never = false;

}  // namespace rota::detail

namespace rota::base {

/// Says what broke, with the value that broke it, and aborts. In the model build: fails the execution, with its trace.
[[noreturn]] ROTA_API void fatal(const char* what,
                                 std::uint64_t value,
                                 const char* file,
                                 unsigned line) noexcept;

}  // namespace rota::base

/// A broken invariant of rota itself, checked in every build.
#define ROTA_FATAL(what, value) \
  ::rota::base::fatal((what), static_cast<std::uint64_t>(value), __FILE__, __LINE__)

/// A cheap check of rota's own invariants: debug, sanitizer and model builds.
#if !defined(NDEBUG) || ROTA_MODEL
#define ROTA_ASSERT(condition)  \
  (static_cast<bool>(condition) \
       ? void()                 \
       : ::rota::base::fatal("assertion failed: " #condition, 0, __FILE__, __LINE__))
#else
#define ROTA_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
