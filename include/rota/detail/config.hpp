// The few macros of rota: ROTA_API, ROTA_MODEL, ROTA_ASSERT, ROTA_FATAL.
#pragma once

// g++ 12 defines __cplusplus as 202100 with -std=c++23.
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
/// 1, beside ROTA_MODEL: the same seam on a machine that counts time, with queues of their real size.
#ifndef ROTA_SIMULATED
#define ROTA_SIMULATED 0
#endif

/// With -DROTA_CHECK_LIFETIMES clang warns (-Wdangling) where a coroutine keeps a reference to a temporary
/// that is gone when it starts. It then wants [[clang::coro_wrapper]] at every function that returns a task
/// and is no coroutine. The functions of the C++ library lack it: std::function<task<>()> and std::invoke are
/// errors. So the option is for an occasional check of the code, not for each build. ROTA_DETAIL_WRAPPER
/// marks such a function. ROTA_DETAIL_PASSES_ON marks one with arguments that the task does not keep.
/// ROTA_DETAIL_STARTED marks the parameter of a function that starts a task: the handle lives no longer than
/// what the task refers to.
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

/// Marks a parameter that the result refers to: clang warns if a temporary argument is destroyed before the
/// result.
#if defined(__clang__)
#define ROTA_DETAIL_KEPT [[clang::lifetimebound]]
#else
#define ROTA_DETAIL_KEPT
#endif

/// Marks a class of objects that do nothing until they are awaited. The compiler warns, and names the remedy,
/// if a call drops such an object. It also warns of a variable that keeps one and is never used.
#define ROTA_DETAIL_AWAIT_IT [[gnu::warn_unused, nodiscard("does nothing without co_await")]]

namespace rota::detail {

/// For a static_assert in a function that must not be called: false if the function is instantiated.
template <class...>
inline constexpr bool never = false;

}  // namespace rota::detail

namespace rota::base {

/// Reports what is broken, with the value that shows it, and aborts. In the model build: fails the execution,
/// with its trace.
[[noreturn]] ROTA_API void fatal(const char* what,
                                 std::uint64_t value,
                                 const char* file,
                                 unsigned line) noexcept;

}  // namespace rota::base

/// Reports a broken invariant of rota itself. Active in every build.
#define ROTA_FATAL(what, value) \
  ::rota::base::fatal((what), static_cast<std::uint64_t>(value), __FILE__, __LINE__)

/// Checks an invariant of rota at little cost, in debug, sanitizer and model builds.
#if !defined(NDEBUG) || ROTA_MODEL
#define ROTA_ASSERT(condition)  \
  (static_cast<bool>(condition) \
       ? void()                 \
       : ::rota::base::fatal("assertion failed: " #condition, 0, __FILE__, __LINE__))
#else
#define ROTA_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
