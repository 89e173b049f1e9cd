// From file to file without passing through this process.
#pragma once

#include <cstdint>
#include <system_error>

namespace rota::fs::detail {

/// So much at a time: a cancellation waits for no more than that.
inline constexpr std::size_t copied_at_a_time = std::size_t{64} << 20U;

/// It cannot be done so between these two files, but by reading and writing it may.
[[nodiscard]] inline bool needs_reading(const std::error_code& e) noexcept {
  return e == std::errc::cross_device_link || e == std::errc::invalid_argument ||
         e == std::errc::operation_not_supported || e == std::errc::function_not_supported ||
         e == std::errc::operation_not_permitted;
}

}  // namespace rota::fs::detail
