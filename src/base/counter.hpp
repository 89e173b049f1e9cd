// A sum that one thread at a time adds to and any thread reads. It needs no read-modify-write.
#pragma once

#include "base/atomic.hpp"

#include <cstdint>

namespace rota::base {

/// Each add() must happen after the one before: there is one adding thread, or something else orders the
/// turns of several.
class counter {
 public:
  void add(std::uint64_t n) noexcept {
    // relaxed, both: one writer at a time. A reader may see a slightly old value.
    value_.store(value_.load(base::order::relaxed) + n, base::order::relaxed);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    // relaxed: a sum for a report.
    return value_.load(base::order::relaxed);
  }

 private:
  base::atomic<std::uint64_t> value_{0};
};

}  // namespace rota::base
