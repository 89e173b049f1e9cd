// A sum that one thread at a time adds to and anybody reads: never a read-modify-write.
#pragma once

#include "base/atomic.hpp"

#include <cstdint>

namespace rota::base {

/// Who adds sees what was added before: one thread, or several whose turns something else orders.
class counter {
 public:
  void add(std::uint64_t n) noexcept {
    // relaxed, both. One writer at a time; a reader may be a little late.
    value_.store(value_.load(base::order::relaxed) + n, base::order::relaxed);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    // relaxed. A sum for a report.
    return value_.load(base::order::relaxed);
  }

 private:
  base::atomic<std::uint64_t> value_{0};
};

}  // namespace rota::base
