// The limit of file descriptors of this process.
#pragma once

#include <cstdint>

namespace file_server {

/// Descriptors for listening, signals, the log, the runtime, and connections that are refused.
inline constexpr std::uint64_t descriptors_beside = 64;

/// Raises the soft limit, as far as the hard limit allows, so that each connection can have a socket and an
/// open file. Returns the soft limit after that.
[[nodiscard]] std::uint64_t raise_descriptor_limit(std::uint32_t connections) noexcept;

}  // namespace file_server
