// The result of a system call, or its error as a code. EINTR is never returned.
#pragma once

#include <cerrno>
#include <expected>
#include <system_error>

namespace rota::base::sys {

template <class T>
using result = std::expected<T, std::error_code>;

[[nodiscard]] inline std::error_code last_error() noexcept { return {errno, std::generic_category()}; }
[[nodiscard]] inline bool would_block(const std::error_code& e) noexcept {
  return e.category() == std::generic_category() && (e.value() == EAGAIN || e.value() == EWOULDBLOCK);
}
template <class T>
[[nodiscard]] bool would_block(const result<T>& did) noexcept {
  return !did.has_value() && would_block(did.error());
}

}  // namespace rota::base::sys
