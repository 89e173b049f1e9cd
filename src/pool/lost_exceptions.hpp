// Exceptions of a pool that no code receives any more.
#pragma once

#include "base/atomic.hpp"
#include "base/thread.hpp"
#include "task/unhandled.hpp"

#include <cstdint>
#include <exception>

namespace rota::pool::detail {

/// Counts these exceptions and passes them to pool_options::on_unhandled. In a forked child it does nothing:
/// the parent has the same exception.
class lost_exceptions {
 public:
  explicit lost_exceptions(unhandled_policy policy) noexcept : policy_(policy) {}
  lost_exceptions(const lost_exceptions&) = delete;
  lost_exceptions& operator=(const lost_exceptions&) = delete;
  ~lost_exceptions() = default;

  void give(const unhandled_exception& about, const std::exception_ptr& thrown) noexcept {
    if (base::this_process_id() != process_) return;
    // relaxed: a sum for a report.
    count_.fetch_add(1, base::order::relaxed);
    core::give_unhandled(policy_, about, thrown);
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    // relaxed: a report.
    return count_.load(base::order::relaxed);
  }

 private:
  const unhandled_policy policy_;
  const std::uint64_t process_ = base::this_process_id();
  base::atomic<std::uint64_t> count_{0};
};

}  // namespace rota::pool::detail
