// How many descriptors this process may have.
#pragma once

#include <cstdint>

namespace file_server {

/// For listening, signals, the log, the runtime, and connections that are refused.
inline constexpr std::uint64_t descriptors_beside = 64;

/// Raises the soft limit, as far as the hard one allows, so that each connection has a socket and an open file. Returns what
/// it is then.
[[nodiscard]] std::uint64_t raise_descriptor_limit(std::uint32_t connections) noexcept;

}  // namespace file_server
