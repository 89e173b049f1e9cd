#include "tls/host.hpp"

#include "net/host_name.hpp"

#include <arpa/inet.h>
#include <cstring>

namespace rota::tls::detail {

std::optional<address> read_address(std::string_view host) noexcept {
  char text[INET6_ADDRSTRLEN] = {};
  // inet_pton would stop at a NUL.
  if (host.size() >= sizeof text || host.contains('\0')) return std::nullopt;
  std::memcpy(text, host.data(), host.size());
  address made{};
  made.size = 4;
  if (::inet_pton(AF_INET, text, made.bytes) == 1) return made;
  made.size = sizeof made.bytes;
  if (::inet_pton(AF_INET6, text, made.bytes) == 1) return made;
  return std::nullopt;
}

bool is_a_name(std::string_view host) noexcept {
  return net::detail::is_plain_name(host) && !net::detail::ends_in_a_number(host);
}

}  // namespace rota::tls::detail
