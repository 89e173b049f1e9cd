// A sender waits until its channel is unwanted: closed() and its forms.
#pragma once

#include <expected>

#include <rota/detail/channel_held.hpp>
#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/time.hpp>

namespace rota::channel::detail {

class ROTA_DETAIL_AWAIT_IT closed_leaf final : public core::wait_leaf {
 public:
  explicit closed_leaf(const core::wait_target& at) noexcept : wait_leaf(at) {}
  static void await_resume() noexcept {}
};

/// A base of `Half`. Half::to_close() says where the wait takes place.
template <class Half>
class waits_for_close {
 public:
  /// Waits until nothing that is sent is wanted, so its producer may stop: the channel is closed; or, of a
  /// watch and a broadcast, there is no receiver, which may change with a subscribe(). A case of a select.
  closed_leaf closed() noexcept { return closed_leaf(at()); }
  /// The same with a limit. co_await yields a std::expected<void, timed_out>.
  template <core::span_of_time Span>
  core::limited<closed_leaf> closed_for(Span span) noexcept {
    return core::limited<closed_leaf>(rota::detail::saturating_span(span), at());
  }
  template <class Duration>
  core::limited<closed_leaf> closed_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    return core::limited<closed_leaf>(rota::detail::saturating_deadline(time), at());
  }
  /// Block the thread; in a task, co_await closed() instead.
  void blocking_closed() {
    core::wait_node me;
    static_cast<void>(core::block(at(), me));
  }
  template <core::span_of_time Span>
  std::expected<void, timed_out> blocking_closed_for(Span span) {
    core::wait_node me;
    return in_time(core::block_for(at(), me, rota::detail::saturating_span(span)));
  }
  template <class Duration>
  std::expected<void, timed_out> blocking_closed_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    core::wait_node me;
    return in_time(core::block_until(at(), me, rota::detail::saturating_deadline(time)));
  }

 private:
  friend Half;
  waits_for_close() noexcept = default;
  waits_for_close(const waits_for_close&) noexcept = default;
  waits_for_close& operator=(const waits_for_close&) noexcept = default;
  ~waits_for_close() = default;

  [[nodiscard]] core::wait_target at() noexcept { return static_cast<Half&>(*this).to_close(); }
  static std::expected<void, timed_out> in_time(core::wait_end how) {
    if (how == core::wait_end::timed_out) return std::unexpected(timed_out{});
    return {};
  }
};

}  // namespace rota::channel::detail
