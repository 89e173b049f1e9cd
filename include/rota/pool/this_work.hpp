// What a work may say to its pool while it runs.
#pragma once

#include <string_view>
#include <type_traits>

#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// Thrown by the library's blocking points inside of a work that is being force stopped. Catch it to clean up, and throw it on: the
/// work ends as `force_stopped` only then.
class ROTA_API force_stopped : public error {
 public:
  force_stopped() : error(errc::cancelled, "the work is force stopped") {}
  force_stopped(const force_stopped&) = default;
  force_stopped& operator=(const force_stopped&) = default;
  ~force_stopped() override;
};

/// Thrown by stop_if_requested(): throw it on.
class ROTA_API work_stopped : public error {
 public:
  work_stopped() : error(errc::cancelled, "the work was asked to stop") {}
  work_stopped(const work_stopped&) = default;
  work_stopped& operator=(const work_stopped&) = default;
  ~work_stopped() override;
};

/// What is said here concerns the work that runs on this thread.
///
/// Threads       The one that runs the work; elsewhere all but id() and name() throw errc::no_runtime.
/// Failure       As each says. In a coroutine pause_if_requested() blocks the thread: let it come to a co_await instead, each of which is
///               a checkpoint of its own.
/// Cost          One load, where nothing is asked of the work.
/// Example       examples/pool.cpp
namespace this_work {

/// None outside of works.
[[nodiscard]] ROTA_API work_id id() noexcept;
[[nodiscard]] ROTA_API std::string_view name() noexcept;
/// 0: its first attempt.
[[nodiscard]] ROTA_API unsigned attempt();
[[nodiscard]] ROTA_API bool stop_requested();
/// Throws work_stopped if the work was asked to stop.
ROTA_API void stop_if_requested();
/// The same, unless `may_stop()` says no: then the request is forgotten.
template <class F>
  requires std::is_invocable_r_v<bool, F&>
void stop_if_requested(F&& may_stop);
/// Blocks while the work, its group or its pool is paused. A stop ends it: throws work_stopped then; a force stop: force_stopped.
ROTA_API void pause_if_requested();
/// Both.
ROTA_API void checkpoint();
/// Blocks for so long. Ended by a stop: throws work_stopped; by a force stop: throws force_stopped.
ROTA_API void sleep_until(std::chrono::steady_clock::time_point time);
template <core::span_of_time Span>
void sleep_for(Span span);
/// No attempt follows the one that runs.
ROTA_API void stop_retry();

namespace detail {
ROTA_API void forget_stop();
[[noreturn]] ROTA_API void throw_stopped();
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point after(std::chrono::nanoseconds span) noexcept;
}  // namespace detail

template <class F>
  requires std::is_invocable_r_v<bool, F&>
void stop_if_requested(F&& may_stop) {
  if (!stop_requested()) return;
  if (may_stop()) detail::throw_stopped();
  detail::forget_stop();
}
template <core::span_of_time Span>
void sleep_for(Span span) {
  sleep_until(detail::after(rota::detail::saturating_span(span)));
}

}  // namespace this_work

/// While it lives the thread that made it may block, and another one of the pool takes its place. Outside of works it does nothing.
/// `max_threads` is exceeded by it, by one thread for each. It belongs to its thread: not across a co_await.
class ROTA_API [[nodiscard]] blocking_region {
 public:
  blocking_region() noexcept;
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
  ~blocking_region();

 private:
  void* crew_;
};

}  // namespace rota::pool
