// What is said of a socket in several places.
#pragma once

#include <rota/detail/chrono.hpp>

namespace rota::net {

enum class address_family : unsigned char { any, v4, v6 };

[[nodiscard]] constexpr const char* to_string(address_family family) noexcept {
  switch (family) {
    case address_family::any: return "any";
    case address_family::v4: return "IPv4";
    case address_family::v6: return "IPv6";
  }
  return "unknown";
}

/// When a connection on which nothing comes is asked whether its peer is still there.
struct keepalive {
  std::chrono::seconds idle{60};      // 1..32767: after so long
  std::chrono::seconds interval{10};  // 1..32767: then each time
  unsigned count = 6;                 // 1..127: so often in vain, and it is broken (ETIMEDOUT)
};

}  // namespace rota::net
