// The options of a work.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/detail/shared_function.hpp>
#include <rota/pool/work_end.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// What happens when the time of a work, or of a pool, is over. The event always comes first.
enum class on_timeout : unsigned char {
  notify,      // only the event
  stop,        // as stop()
  force_stop,  // as force_stop()
};

[[nodiscard]] constexpr const char* to_string(on_timeout action) noexcept {
  switch (action) {
    case on_timeout::notify: return "notify";
    case on_timeout::stop: return "stop";
    case on_timeout::force_stop: return "force stop";
  }
  return "unknown";
}

/// When the time of a work begins.
enum class timeout_from : unsigned char {
  start,   // at its first attempt; all attempts and segments share the limit
  submit,  // at submit(): includes the time in queues
};

[[nodiscard]] constexpr const char* to_string(timeout_from begin) noexcept {
  switch (begin) {
    case timeout_from::start: return "start";
    case timeout_from::submit: return "submit";
  }
  return "unknown";
}

struct timeout_options {
  std::chrono::nanoseconds limit{0};  // 0: none; not negative
  on_timeout then = on_timeout::stop;
  timeout_from from = timeout_from::start;

  timeout_options() noexcept = default;
  template <core::span_of_time Span>
  timeout_options(Span after,
                  on_timeout follows = on_timeout::stop,
                  timeout_from since = timeout_from::start) noexcept
      : limit(rota::detail::saturating_span(after)), then(follows), from(since) {}
};

/// Where the next attempt of a work begins.
enum class retry_where : unsigned char {
  immediately,  // on the same thread, after the back-off; meanwhile only a stop can take the work back
  requeued,     // in a queue, behind works of the same priority; there cancel() reaches it
};

[[nodiscard]] constexpr const char* to_string(retry_where place) noexcept {
  switch (place) {
    case retry_where::immediately: return "immediately";
    case retry_where::requeued: return "requeued";
  }
  return "unknown";
}

/// Retries of works that throw. The function of the work must be callable more than once.
struct retry_options {
  static constexpr unsigned unlimited = 0xFFFF'FFFFU;

  unsigned limit = 0;  // attempts after the first
  std::chrono::nanoseconds backoff{
      0};  // before the second attempt; doubles for each further one; not negative
  // upper limit of the back-off; not negative
  std::chrono::nanoseconds max_backoff = std::chrono::minutes(1);
  bool jitter = false;  // use a random part of the back-off instead of the whole
  retry_where where = retry_where::immediately;
  rota::detail::shared_function<bool(const std::exception_ptr&)>
      only_if{};  // returns false if this failure is the last; empty: always true
};

/// Which queue a new work goes to, if each thread has a queue.
enum class placement : unsigned char {
  idle_then_least_loaded,  // an idle thread, else a new thread, else the shorter of two queues
  // the same, but instead of the shorter queue the own queue of a submitting thread of the pool
  idle_then_local,
  local,  // the submitting thread's own queue at once; an idle thread may steal the work
};

[[nodiscard]] constexpr const char* to_string(placement place) noexcept {
  switch (place) {
    case placement::idle_then_least_loaded: return "idle then least loaded";
    case placement::idle_then_local: return "idle then local";
    case placement::local: return "local";
  }
  return "unknown";
}

/// Whether a work in `after` that was stopped counts as a failure.
enum class stopped_counts : unsigned char { as_failure, as_success };

[[nodiscard]] constexpr const char* to_string(stopped_counts rule) noexcept {
  switch (rule) {
    case stopped_counts::as_failure: return "as failure";
    case stopped_counts::as_success: return "as success";
  }
  return "unknown";
}

/// Every field has an initialiser. submit() checks the fields before anything changes: std::invalid_argument
/// names the field.
struct work_options {
  int priority = 0;              // larger ones first
  std::string name{};            // unique among the works of the pool that have not ended; empty: none
  std::string group{};           // empty: none
  work_id id{};                  // an id from reserve(); empty: a new one
  std::vector<work_id> after{};  // the work starts when all these have ended well
  stopped_counts if_stopped = stopped_counts::as_failure;
  timeout_options timeout{};  // none: the pool's default
  retry_options retry{};
  work_callback callback{};  // none: the pool's default
  placement where = placement::idle_then_least_loaded;
  bool long_running = false;  // never waits behind other works; runs on a thread above `max_threads`
  bool store_result = false;  // fetch(id) finds it after its handle is gone, until it is fetched or cleared
  // of the thread while it runs the work; 0: the pool's value; -20 .. 19, as far as the system allows it
  int nice = 0;
};

}  // namespace rota::pool
