// A leaf that waits for an operation of the kernel. For coroutines of the library: not in a public header.
#pragma once

#include "base/sys/files.hpp"
#include "base/tls_slot.hpp"
#include "driver/ring.hpp"
#include "task/header.hpp"

#include <rota/leaf.hpp>

#include <cstdint>
#include <utility>

namespace rota::driver {

/// Awaited once. Cannot be a case that loses: it has ended only when the kernel has completed it, and its
/// task's frames stay until then. `op` was taken from the ring, and its request filled in; the leaf gives it
/// back.
class op_leaf final : public leaf {
 public:
  enum class yields : std::uint8_t { number, descriptor };

  op_leaf(ring& r, operation& op, const char* what, yields kind = yields::number) noexcept
      : ring_(r), operation_(op), what_(what), kind_(kind) {}
  /// Closes the resulting descriptor if await_resume() has not returned it.
  ~op_leaf() {
    if (kind_ == yields::descriptor && started_ && operation_.result() >= 0)
      base::sys::close(operation_.result());
    ring_.give_back(operation_);
    if (owner_ != nullptr) owner_->ops->outside(*owner_, -1);
  }
  op_leaf(const op_leaf&) = delete;
  op_leaf& operator=(const op_leaf&) = delete;

  [[nodiscard]] bool is_ready() noexcept override { return operation_.is_done(); }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override {
    const cancel_progress progress = ring_.cancel(operation_);
    if (progress == cancel_progress::pending) flush_without_role();
    return progress;
  }
  [[nodiscard]] bool cancel_ended() noexcept override { return operation_.is_done(); }
  [[nodiscard]] const char* what() const noexcept override { return what_; }

  /// Returns what the system call would have returned, or -errno.
  std::int32_t await_resume() noexcept {
    kind_ = yields::number;
    return operation_.result();
  }

 private:
  bool start() override {
    owner_ = &core::scheduler_for_children(core::header_of(task()));
    owner_->ops->outside(*owner_, +1);
    started_ = true;
    ring_.start(operation_, make_waker());
    flush_without_role();
    return false;
  }
  /// Flushes at once on a thread without a role. A worker instead flushes the operations of all its tasks
  /// before it parks.
  void flush_without_role() noexcept {
    if (base::this_thread_locals().worker == nullptr) owner_->ops->flush(*owner_);
  }

  ring& ring_;
  operation& operation_;
  const char* what_;
  core::scheduler* owner_ = nullptr;
  yields kind_;
  bool started_ = false;
};

}  // namespace rota::driver
