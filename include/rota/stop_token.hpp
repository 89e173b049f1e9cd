// Between rota's cancellation and std::stop_token. Not part of <rota/rota.hpp>: <stop_token> is a large
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

/// A token on which a stop is requested as soon as somebody asks this task to stop: for code that knows
/// nothing of tasks.
///
/// Threads       Inside a task; elsewhere the token is empty. Callbacks that are registered on the token run
///               on the thread that asks: in the middle of `join_handle::cancel`, or on a worker when an
///               inherited deadline passes; inside of another task's callback: when that has returned. They
///               must not wait for any task, nor throw.
/// Ownership     The stop state belongs to the task; the token may outlive it.
/// Ordering      The request is made once the task knows of its cancellation; a shield does not hold it off.
///               A deadline of `timeout` or `with_deadline` unwinds a part of the task, and requests nothing.
/// Failure       Throws `std::bad_alloc`.
/// Cost          Two allocations at the first call in a task; later calls and tasks without a token: none.
///               Each cancellation looks at one more word.
/// Example       examples/stop_token.cpp
[[nodiscard]] ROTA_API std::stop_token stop_token();

}  // namespace this_task

/// See link().
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
/// Ordering      A request that was made before cancels at once: delivered at the next suspension. When the
///               result has gone, no request has any effect; its destructor waits for one that is being
///               carried out.
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

/// The last parameter of a function that a pool runs. A stop is requested on it as soon as somebody asks the work to stop: on the
/// thread that asks. Attempts share it. Two allocations, for works whose function takes one.
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
