// System calls of tasks, made by the ring or by a thread that may block.
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

/// Returns the scheduler for closures of the current task. Null: there is none, and the task may block in
/// place: it is a job of a pool.
[[nodiscard]] core::scheduler* threads_here() noexcept;
/// Returns the error of a closure that ended without having run.
[[nodiscard]] std::error_code reason_of(cancel_reason why) noexcept;

/// The awaiting task, as seen by the code that makes the call, on any thread. Lives in a frame of that task.
class awaiting_task {
 public:
  awaiting_task() noexcept;
  /// Returns true if no code will read the result of the call: the cancellation or deadline of the task is
  /// delivered, or would be if the task came to a wait now. Returns false while a shield holds it off: work
  /// in a clean-up is done as a whole.
  [[nodiscard]] bool has_given_up() const noexcept;
  /// Returns true if has_given_up() has returned true: then the call has no result, and the task must pass a
  /// checkpoint. Call it when the call has ended.
  [[nodiscard]] bool was_left() const noexcept { return left_; }

 private:
  core::header& task_;
  mutable bool left_ = false;  // written by the thread that makes the call; its end orders the task's reads
};

/// Calls `call`. An operation of several steps takes the awaiting task, to check it between two of them.
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

/// Makes the call in place. An abandoned operation has no result: the cancellation is delivered first.
template <class F>
task<made_by<F>> make_here(F& call, const awaiting_task& by) {
  auto made = make_for(call, by);
  if (by.was_left()) co_await checkpoint();
  co_return std::move(made);
}

/// A runtime that shuts down takes no closures any more. Work that is still to be done then, under a shield
/// or before the cancellation has arrived, is done in place. `refused`: work that may wait for a peer fails
/// with errc::shut_down instead.
enum class when_late : unsigned char { here, refused };

/// Makes `call()`, or `call(awaiting_task)`, which returns a result<T>, once, by a thread that may block. A
/// cancellation before it has begun prevents it; a later one waits for its end. So the call may refer to
/// everything in the frame that awaits this.
template <class F>
task<made_by<F>> on_thread(F& call, when_late late = when_late::here) {
  const awaiting_task by;
  core::scheduler* const threads = threads_here();
  if (threads == nullptr) co_return co_await make_here(call, by);
  const auto refers = [&] { return make_for(call, by); };
  // Without a deadline of its own: the awaiting task has one, or a shield that holds it off.
  auto work = core::spawn_on(*threads, core::make_blocking(refers));
  auto end = co_await work.result();
  // The closure may observe the cancellation and end before the task begins to wait. A wait for an ended
  // closure delivers nothing.
  if (by.was_left()) co_await checkpoint();
  if (!end.is_cancelled()) co_return std::move(end).value();
  if (end.reason() == cancel_reason::shutdown && late == when_late::here)
    co_return co_await make_here(call, by);
  co_return std::unexpected(reason_of(end.reason()));
}

/// The result of a call: bytes, a descriptor, nothing.
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

/// One system call, both ways. Refers to `prepare`, which fills in the ring's request, and to `make`, which
/// makes the call and blocks. If `make` takes the awaiting task, it checks between two steps whether that has
/// given up.
class system_call {
 public:
  /// `by`: the call of the ring. `what`: for reports.
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

/// Makes the call; EINTR is never returned. If cancelled, it ends when neither the kernel nor a thread uses
/// the referenced memory any more. The ring closes a descriptor that is not taken; a thread leaves it where
/// `make` stores it.
[[nodiscard]] task<number> perform(const system_call& call, when_late late = when_late::here);

/// For a call that returns nothing.
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
