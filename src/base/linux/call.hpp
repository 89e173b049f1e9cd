// Makes system calls and converts their values.
#pragma once

#include "base/atomic.hpp"
#include "base/sys/result.hpp"

#include <sys/types.h>
#include <cstddef>

namespace rota::base::sys {

/// Makes the call, again each time that a signal interrupted it.
template <class Call>
auto uninterrupted(Call call) noexcept -> decltype(call()) {
  for (;;) {
    before_system_call();
    const auto value = call();
    if (value != -1 || errno != EINTR) return value;
  }
}

/// Converts the value of a call that is made once.
inline result<void> done(int value) noexcept {
  before_system_call();
  if (value == -1) return std::unexpected(last_error());
  return {};
}

inline result<int> descriptor(int value) noexcept {
  if (value == -1) return std::unexpected(last_error());
  return value;
}

inline result<std::size_t> bytes(ssize_t value) noexcept {
  if (value == -1) return std::unexpected(last_error());
  return static_cast<std::size_t>(value);
}

}  // namespace rota::base::sys
