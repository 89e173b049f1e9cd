// Accepts connections of any kind.
#pragma once

#include <rota/detail/chrono.hpp>
#include <rota/detail/net_leaves.hpp>
#include <rota/detail/task_timer.hpp>

namespace rota::net::detail {

/// A listener, the length of its next pause, and the time when it last returned the cause of a pause.
struct accepting {
  socket_ref socket;
  std::chrono::milliseconds back_off{0};
  std::chrono::steady_clock::time_point last_report{};
};

/// Accepts one connection. If no descriptor or memory is left, it pauses and tries again.
class ROTA_API accept_core : public socket_leaf {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "socket accept"; }

 protected:
  explicit accept_core(accepting& by) noexcept : socket_leaf(by.socket.get(), false), by_(&by) {}
  ~accept_core() = default;
  /// Returns the result. Called in await_resume().
  [[nodiscard]] result<socket_ref> take() noexcept { return std::move(result_); }

 private:
  attempt try_once() noexcept override;
  void fail(std::error_code why) noexcept override { result_ = std::unexpected(why); }
  [[nodiscard]] bool has_moved() const noexcept override { return result_.has_value(); }
  [[nodiscard]] bool pause_is_over() noexcept override;
  void end_pause() noexcept override { timer_.disarm(); }
  attempt pause(const std::error_code& why) noexcept;

  accepting* by_;
  bool tells_ = false;  // the next try returns why it has paused
  timing::task_timer timer_;
  result<socket_ref> result_;
};

/// Tries once to accept. Returns std::errc::operation_would_block instead of waiting.
[[nodiscard]] ROTA_API result<socket_ref> try_accept(const accepting& by) noexcept;

}  // namespace rota::net::detail
