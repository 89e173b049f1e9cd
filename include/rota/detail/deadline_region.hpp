// The part of timeout and with_deadline that does not depend on what is awaited.
#pragma once

#include <coroutine>

#include <rota/detail/chrono.hpp>
#include <rota/detail/promise.hpp>
#include <rota/detail/timed_region.hpp>

namespace rota::core {

/// How a stretch with a deadline ended.
enum class [[nodiscard]] deadline_end : unsigned char {
  in_time,  // the awaited work is done
  late,     // the deadline passed first, and the work inside was unwound
};

/// A deadline around one co_await. If an earlier deadline of the same task ends it anyway, it is not linked
/// and costs nothing.
class ROTA_API deadline_region : public timed_region {
 public:
  void bind(activation& task) noexcept {
    task_ = &task;
    forget_past();  // if the work completes at once, begin() is not called
  }

 protected:
  explicit deadline_region(time_point at) noexcept : timed_region(kind::deadline), goal_(at) {}
  /// `span` is counted from the co_await.
  explicit deadline_region(std::chrono::nanoseconds span) noexcept
      : timed_region(kind::deadline), span_(span), goal_(time_point::max()), is_relative_(true) {}
  ~deadline_region() = default;

  void begin(promise_base& frame) noexcept;
  deadline_end end() noexcept;
  [[nodiscard]] activation& awaiting() const noexcept { return *task_; }

 private:
  [[nodiscard]] bool is_covered() const noexcept;

  activation* task_ = nullptr;
  std::chrono::nanoseconds span_{};
  time_point goal_;
  bool is_relative_ = false;
};

}  // namespace rota::core
