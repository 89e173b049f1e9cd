// Connects rota's cancellation with std::stop_token. Not part of <rota/rota.hpp>: <stop_token> is a large
// header.
#pragma once

#include <stop_token>
#include <utility>

#include <rota/detail/config.hpp>
#include <rota/detail/pool_token.hpp>

namespace rota {

namespace core {
struct header;
}

namespace this_task {

/// Returns a token on which a stop is requested as soon as a cancellation of this task is requested. For code
/// that knows nothing of tasks.
///
/// Threads       Inside a task; elsewhere the token is empty. Callbacks that are registered on the token run
///               on the thread that requests the cancellation: in the middle of `join_handle::cancel`, or on
///               a worker when an inherited deadline passes. If the request comes from inside another task's
///               callback, they run when that has returned. They must not wait for any task, nor throw.
/// Ownership     The stop state belongs to the task; the token may outlive it.
/// Ordering      The stop is requested after the task's cancellation is recorded; a shield does not hold it
///               off. A deadline of `timeout` or `with_deadline` unwinds a part of the task, and requests
///               nothing.
/// Failure       Throws `std::bad_alloc`.
/// Cost          Two allocations at the first call in a task; later calls and tasks without a token: none.
///               Each cancellation reads one more word.
/// Example       examples/stop_token.cpp
[[nodiscard]] ROTA_API std::stop_token stop_token();

}  // namespace this_task

/// The result of link(). See there.
class ROTA_API [[nodiscard]] stop_link {
 public:
  explicit stop_link(std::stop_token token);
  stop_link(const stop_link&) = delete;
  stop_link& operator=(const stop_link&) = delete;
  ~stop_link() = default;

 private:
  struct canceller {
    core::header* task;
    void operator()() const noexcept;
  };
  std::stop_callback<canceller> callback_;
};

/// While the result lives, a stop request on `token` cancels this task, as join_handle::cancel does.
///
/// Threads       Inside a task. The request may come from any thread, before or after.
/// Ownership     The result belongs to the task's frame. It cannot be moved.
/// Ordering      A request that was made before cancels at once: it is delivered at the next suspension.
///               After the result is destroyed, no request has any effect. Its destructor waits for a request
///               that is being carried out.
/// Failure       Throws `error` with `errc::no_runtime` outside of a task.
/// Cost          No allocation. One registration with the stop state.
/// Example       examples/stop_token.cpp
[[nodiscard]] inline stop_link link(std::stop_token token) { return stop_link(std::move(token)); }

}  // namespace rota

namespace rota::pool::detail {

struct source_hook : stop_hook {
  std::stop_source source;

  source_hook()
      : stop_hook{[](stop_hook& self) noexcept { static_cast<source_hook&>(self).source.request_stop(); },
                  [](stop_hook* self) noexcept { delete static_cast<source_hook*>(self); }} {}
};

/// The last parameter of a function that a pool runs. A stop is requested on it as soon as a cancellation of
/// the work is requested, on the requesting thread. All attempts share it. Two allocations for each work of
/// which the function takes a token.
template <>
struct token_of<std::stop_token> {
  static std::stop_token make(work_core& work) {
    stop_hook* hook = hook_of(work);
    if (hook == nullptr) {
      hook = new source_hook;
      set_hook(work, *hook);
    }
    return static_cast<source_hook*>(hook)->source.get_token();
  }
};

}  // namespace rota::pool::detail
