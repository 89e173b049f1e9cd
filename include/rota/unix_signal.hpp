// Waiting for SIGINT, SIGTERM and similar signals in a task.
#pragma once

#include <expected>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <rota/leaf.hpp>

namespace rota {

namespace detail {
class signal_source;
}

/// A subscription to signals of this process.
///
/// Threads       One task at a time awaits it. Any number of subscriptions may exist for a signal; each gets
///               it.
/// Ownership     While a subscription to a signal lives, the handler of rota replaces the previous handler.
///               The last subscription restores that: drop it when the shutdown begins, so that the next
///               Ctrl-C kills.
/// Ordering      Signals of one number that arrive before the task has read them are one event. A cancelled
///               wait consumes none. A signal to the process that every thread blocks is received as well. A
///               signal to a single thread that blocks it (raise, pthread_kill) may not be received.
/// Failure       open: std::errc::invalid_argument for a number that cannot be caught or an empty list;
///               errc::no_runtime outside of a task; EMFILE. next() of a moved-from object ends the program
///               with a message when it is awaited.
/// Cost          The handler writes to one eventfd for each subscription, and does nothing else. Two
///               descriptors for each subscription; a wait reads one of them, for signals that every thread
///               blocks.
/// Example       examples/echo_server.cpp
class ROTA_API unix_signal {
 public:
  [[nodiscard]] static std::expected<unix_signal, std::error_code> open(
      std::initializer_list<int> numbers) noexcept;

  unix_signal(unix_signal&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  unix_signal& operator=(unix_signal&& other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~unix_signal();

  class ROTA_DETAIL_AWAIT_IT ROTA_API next_leaf final : public leaf {
   public:
    static constexpr bool may_lose = true;

    explicit next_leaf(detail::signal_source* source) noexcept : source_(source) {}
    [[nodiscard]] bool is_ready() noexcept override;
    cancel_progress try_cancel(cancel_reason reason) noexcept override;
    [[nodiscard]] const char* what() const noexcept override { return "signal"; }
    int await_resume() const noexcept { return number_; }

   protected:
    bool start() override;

   private:
    detail::signal_source* source_;
    int number_ = 0;
  };

  /// Waits for the next signal and returns its number.
  next_leaf next() noexcept { return next_leaf(source_); }

 private:
  explicit unix_signal(detail::signal_source* source) noexcept : source_(source) {}
  detail::signal_source* source_;
};

}  // namespace rota
