// The forms of a wait that yields nothing. sync::notify, sync::event and sync::latch share them.
#pragma once

#include <cstdint>
#include <expected>
#include <utility>

#include <rota/detail/deadline.hpp>
#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>

namespace rota::core {

template <class Primitive>
class plain_waits;

/// The awaitable that wait() returns.
template <class Primitive>
class ROTA_DETAIL_AWAIT_IT plain_wait final : public wait_leaf {
 public:
  plain_wait(Primitive& of, const wait_target& at, std::uint64_t since) noexcept : wait_leaf(at), of_(&of) {
    node().wanted = since;
  }
  bool await_ready() noexcept {
    begin_anew();
    return try_end_here([this]() noexcept { return plain_waits<Primitive>::try_now(*of_, node()); });
  }
  void await_resume() noexcept { is_over_ = true; }
  /// Prepares a wait by a thread, which does not call start().
  void prepare() noexcept { begin_anew(); }

 private:
  bool start() override {
    begin_anew();
    return wait_leaf::start();
  }
  /// An object that is awaited again after its wait has passed waits as if wait() were called now.
  void begin_anew() noexcept {
    if (std::exchange(is_over_, false)) [[unlikely]]
      node().wanted = plain_waits<Primitive>::since(*of_);
  }

  bool is_over_ = false;
  Primitive* of_;
};

/// A base class of the primitive. The primitive provides target(); since(), which its hooks find in `wanted`
/// of the node; and try_now(), its hook of that name.
template <class Primitive>
class plain_waits {
 public:
  /// co_await the result.
  plain_wait<Primitive> wait() noexcept {
    return plain_wait<Primitive>(primitive(), primitive().target(), primitive().since());
  }
  /// Returns false if the caller would have to wait. Needs no runtime.
  [[nodiscard]] bool try_wait() noexcept {
    wait_node me;
    static_cast<void>(begin(me));
    return primitive().try_now(me);
  }
  /// co_await the result: std::expected<void, timed_out>.
  template <core::span_of_time Span>
  limited<plain_wait<Primitive>> wait_for(Span span) noexcept {
    return limited<plain_wait<Primitive>>(
        detail::saturating_span(span), primitive(), primitive().target(), primitive().since());
  }
  template <class Duration>
  limited<plain_wait<Primitive>> wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    return limited<plain_wait<Primitive>>(
        detail::saturating_deadline(time), primitive(), primitive().target(), primitive().since());
  }

  /// Block the thread. A worker lends its role meanwhile; a thread of a pool counts as absent. A force stop
  /// of the job that runs here ends the wait: throws pool::force_stopped.
  void blocking_wait() {
    wait_node me;
    const wait_target at = begin(me);
    static_cast<void>(block(at, me));
  }
  template <core::span_of_time Span>
  std::expected<void, timed_out> blocking_wait_for(Span span) {
    wait_node me;
    const wait_target at = begin(me);
    return in_time(block_for(at, me, detail::saturating_span(span)));
  }
  template <class Duration>
  std::expected<void, timed_out> blocking_wait_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    wait_node me;
    const wait_target at = begin(me);
    return in_time(block_until(at, me, detail::saturating_deadline(time)));
  }

 private:
  friend Primitive;
  friend class plain_wait<Primitive>;
  plain_waits() noexcept = default;
  ~plain_waits() = default;

  Primitive& primitive() noexcept { return static_cast<Primitive&>(*this); }
  wait_target begin(wait_node& me) noexcept {
    me.wanted = primitive().since();
    return primitive().target();
  }
  static bool try_now(Primitive& of, wait_node& me) noexcept { return of.try_now(me); }
  static std::uint64_t since(Primitive& of) noexcept { return of.since(); }
  static std::expected<void, timed_out> in_time(wait_end how) {
    if (how == wait_end::timed_out) return std::unexpected(timed_out{});
    return {};
  }
};

}  // namespace rota::core
