// Copies between files that do not pass through this process.
#pragma once

#include <cstdint>
#include <system_error>

namespace rota::fs::detail {

/// The size of one step: a cancellation waits for at most one.
inline constexpr std::size_t copied_at_a_time = std::size_t{64} << 20U;

/// Returns true if these two files cannot be copied so, but perhaps by reading and writing.
[[nodiscard]] inline bool needs_reading(const std::error_code& e) noexcept {
  return e == std::errc::cross_device_link || e == std::errc::invalid_argument ||
         e == std::errc::operation_not_supported || e == std::errc::function_not_supported ||
         e == std::errc::operation_not_permitted;
}

}  // namespace rota::fs::detail
