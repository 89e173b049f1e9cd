// What the room does: system calls of tasks, by the ring or by a thread that may block.
#pragma once

#include "base/sys/uring.hpp"

#include <rota/cancel_reason.hpp>
#include <rota/io/result.hpp>
#include <rota/join_handle.hpp>
#include <rota/outcome.hpp>
#include <rota/spawn.hpp>
#include <rota/task.hpp>
#include <rota/this_task.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rota::core {
struct header;
}

namespace rota::fs::detail {

namespace sys = base::sys;
using io::result;

/// Where the closures of the task that runs here are run; null: nowhere, and it may block where it is: a work of a pool.
[[nodiscard]] core::scheduler* threads_here() noexcept;
/// A closure that ended without having run.
[[nodiscard]] std::error_code reason_of(cancel_reason why) noexcept;

/// The task that awaits a call, as whoever makes the call sees it, on whatever thread. Lives in a frame of that task.
class awaiting_task {
 public:
  awaiting_task() noexcept;
  /// Nobody will look at what the call says: the task's cancellation, or a deadline, is delivered, or would be if the task came to wait now. Not
  /// while a shield holds it off: what is done in a clean-up is done as a whole.
  [[nodiscard]] bool has_given_up() const noexcept;
  /// has_given_up() has returned true: what the call says is no result, and the task must come to a checkpoint. Read when the call has ended.
  [[nodiscard]] bool was_left() const noexcept { return left_; }

 private:
  core::header& task_;
  mutable bool left_ = false;  // written by the thread that makes the call; its end orders the task's reads
};

/// What takes several steps asks for it, to look up between them.
template <class F>
auto make_for(F& call, const awaiting_task& by) {
  if constexpr (std::is_invocable_v<F&, const awaiting_task&>) {
    return call(by);
  } else {
    return call();
  }
}
template <class F>
using made_by = decltype(make_for(std::declval<F&>(), std::declval<const awaiting_task&>()));

/// Where the task runs. What was left in the middle is not told to anybody: the cancellation is delivered first.
template <class F>
task<made_by<F>> make_here(F& call, const awaiting_task& by) {
  auto made = make_for(call, by);
  if (by.was_left()) co_await checkpoint();
  co_return std::move(made);
}

/// A runtime that shuts down takes no closure any more: what is then still to be done, under a shield or before the cancellation has come,
/// is done where the task runs; unless it may wait for somebody else: errc::shut_down.
enum class when_late : unsigned char { here, refused };

/// `call()`, or `call(awaiting_task)`, a result<T>, by a thread that may block. It is made once; a cancellation that comes before it has begun keeps it from being made,
/// and one that comes later waits for its end: so it may refer to all that lives in the frame that awaits this.
template <class F>
task<made_by<F>> on_thread(F& call, when_late late = when_late::here) {
  const awaiting_task by;
  core::scheduler* const threads = threads_here();
  if (threads == nullptr) co_return co_await make_here(call, by);
  const auto refers = [&] { return make_for(call, by); };
  // Without a deadline of its own: the awaiting task has one, or a shield that holds it off.
  auto work = core::spawn_on(*threads, core::make_blocking(refers));
  auto end = co_await work.result();
  // The closure may see the cancellation and end before the task comes to its wait. A wait for what has ended delivers nothing.
  if (by.was_left()) co_await checkpoint();
  if (!end.is_cancelled()) co_return std::move(end).value();
  if (end.reason() == cancel_reason::shutdown && late == when_late::here)
    co_return co_await make_here(call, by);
  co_return std::unexpected(reason_of(end.reason()));
}

/// What a call returns: bytes, a descriptor, nothing.
using number = result<std::size_t>;

inline number number_of(result<void> r) noexcept {
  if (!r.has_value()) return std::unexpected(r.error());
  return std::size_t{0};
}
inline number number_of(result<int> r) noexcept {
  if (!r.has_value()) return std::unexpected(r.error());
  return static_cast<std::size_t>(*r);
}
inline number number_of(number r) noexcept { return r; }

/// One system call, both ways. Refers to `prepare`, which fills in the ring's request, and to `make`, which makes it and blocks; if `make` takes
/// the awaiting task, it looks between two steps whether that has given up.
class system_call {
 public:
  /// `by`: which call of the ring it is. `what`: for reports.
  template <class Prepare, class Make>
  system_call(const char* what, sys::ring_call by, const Prepare& prepare, const Make& make) noexcept
      : what_(what),
        by_(by),
        prepare_self_(&prepare),
        make_self_(&make),
        prepare_(
            [](const void* self, sys::ring_request& r) noexcept { (*static_cast<const Prepare*>(self))(r); }),
        make_([](const void* self, const awaiting_task& task) noexcept {
          return number_of(make_for(*static_cast<const Make*>(self), task));
        }) {}

  [[nodiscard]] const char* what() const noexcept { return what_; }
  [[nodiscard]] sys::ring_call by() const noexcept { return by_; }
  void prepare(sys::ring_request& r) const noexcept { prepare_(prepare_self_, r); }
  [[nodiscard]] number make(const awaiting_task& task) const noexcept { return make_(make_self_, task); }

 private:
  const char* what_;
  sys::ring_call by_;
  const void* prepare_self_;
  const void* make_self_;
  void (*prepare_)(const void*, sys::ring_request&) noexcept;
  number (*make_)(const void*, const awaiting_task&) noexcept;
};

/// The call is made; EINTR never comes out. Cancelled, this ends when neither the kernel nor a thread touches what it refers to any more. A
/// descriptor that nobody takes is closed by the ring; a thread leaves it where `make` does.
[[nodiscard]] task<number> perform(const system_call& call, when_late late = when_late::here);

/// Of a call that returns nothing.
[[nodiscard]] inline result<void> ended(const number& n) noexcept {
  if (!n.has_value()) return std::unexpected(n.error());
  return {};
}

[[nodiscard]] inline bool has_zero(const std::string& path) noexcept {
  return path.find('\0') != std::string::npos;
}
[[nodiscard]] inline std::unexpected<std::error_code> bad_argument() noexcept {
  return std::unexpected(std::make_error_code(std::errc::invalid_argument));
}
inline constexpr unsigned most_mode = 07777;
inline constexpr std::uint64_t most_offset = 0x7FFF'FFFF'FFFF'FFFF;

}  // namespace rota::fs::detail
