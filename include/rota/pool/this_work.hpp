// What a work may ask its pool while it runs.
#pragma once

#include <string_view>
#include <type_traits>

#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// Thrown by the library's blocking points inside of a work that is being force stopped. Catch it to clean
/// up, and rethrow it: only then the work ends as `force_stopped`.
class ROTA_API force_stopped : public error {
 public:
  force_stopped() : error(errc::cancelled, "the work is force stopped") {}
  force_stopped(const force_stopped&) = default;
  force_stopped& operator=(const force_stopped&) = default;
  ~force_stopped() override;
};

/// Thrown by stop_if_requested(). Rethrow it.
class ROTA_API work_stopped : public error {
 public:
  work_stopped() : error(errc::cancelled, "the work was asked to stop") {}
  work_stopped(const work_stopped&) = default;
  work_stopped& operator=(const work_stopped&) = default;
  ~work_stopped() override;
};

/// Functions for the work that runs on the calling thread.
///
/// Threads       The thread that runs the work. On any other thread all functions but id() and name() throw
///               errc::no_runtime.
/// Failure       As documented at each function. In a coroutine pause_if_requested() blocks the thread. Use a
///               co_await instead: each co_await is a checkpoint.
/// Cost          One load, if nothing is requested of the work.
/// Example       examples/pool.cpp
namespace this_work {

/// Returns an empty id outside of works.
[[nodiscard]] ROTA_API work_id id() noexcept;
[[nodiscard]] ROTA_API std::string_view name() noexcept;
/// Returns the number of the attempt. The first is 0.
[[nodiscard]] ROTA_API unsigned attempt();
[[nodiscard]] ROTA_API bool stop_requested();
/// Throws work_stopped if the work was asked to stop.
ROTA_API void stop_if_requested();
/// The same, but if `may_stop()` returns false the request is cleared instead.
template <class F>
  requires std::is_invocable_r_v<bool, F&>
void stop_if_requested(F&& may_stop);
/// Blocks while the work, its group or its pool is paused. A stop ends the wait: it throws work_stopped. A
/// force stop throws force_stopped.
ROTA_API void pause_if_requested();
/// Calls pause_if_requested() and stop_if_requested().
ROTA_API void checkpoint();
/// Blocks until `time`. A stop ends the wait: it throws work_stopped. A force stop throws force_stopped.
ROTA_API void sleep_until(std::chrono::steady_clock::time_point time);
template <core::span_of_time Span>
void sleep_for(Span span);
/// Makes the running attempt the last one.
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

/// As long as it exists, the thread that made it may block, and another thread of the pool takes its place.
/// Outside of works it does nothing. Each region may exceed `max_threads` by one thread. It belongs to its
/// thread: do not keep it across a co_await.
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
