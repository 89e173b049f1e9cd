// What callbacks and events receive about a work or an attempt that has ended.
#pragma once

#include <exception>
#include <string_view>

#include <rota/cancel_reason.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>
#include <rota/detail/shared_function.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

namespace detail {
class work_core;
struct end_access;
/// Its address identifies a type.
template <class T>
inline constexpr char type_tag = 0;
[[nodiscard]] ROTA_API const void* stored_result(const work_core& work, const void* tag);
ROTA_API void never_retry(work_core& work) noexcept;
}  // namespace detail

/// The argument of callbacks and events. It is valid until they return.
///
/// Threads       The thread that calls the callback.
/// Ownership     Refers to the work. Copy what you need.
/// Failure       value() throws std::invalid_argument for a type that is not the work's.
/// Example       examples/pool_events.cpp
class work_end {
 public:
  work_id id;
  std::string_view name;   // empty: none
  std::string_view group;  // empty: none
  work_status status = work_status::created;
  std::exception_ptr exception;  // set if the status is `failed`
  cancel_reason reason =
      cancel_reason::none;  // why, if it neither succeeded nor failed: user, timeout, shutdown
  unsigned attempt = 0;     // 0: the first
  bool will_retry = false;  // true if the status is `failed` and another attempt follows
  // zero: not measured, or it did not happen
  std::chrono::steady_clock::time_point queued{}, started{}, ended{};
  std::chrono::nanoseconds run_time{0};  // of all attempts, without the waits between segments

  /// Returns the value of a work that has succeeded, else null.
  template <class T>
  [[nodiscard]] const T* value() const {
    return static_cast<const T*>(detail::stored_result(*work_, &detail::type_tag<T>));
  }
  /// Makes this attempt the last one.
  void stop_retry() const noexcept { detail::never_retry(*work_); }

 private:
  friend detail::end_access;
  detail::work_core* work_ = nullptr;
};

using work_callback = rota::detail::shared_function<void(const work_end&)>;

}  // namespace rota::pool
