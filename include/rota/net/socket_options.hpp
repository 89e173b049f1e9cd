// Socket options that several classes share.
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

/// When TCP probes a connection on which nothing comes.
struct keepalive {
  std::chrono::seconds idle{60};      // 1..32767: time without input before the first probe
  std::chrono::seconds interval{10};  // 1..32767: time between two probes
  unsigned count = 6;                 // 1..127: unanswered probes until the connection is broken (ETIMEDOUT)
};

}  // namespace rota::net
