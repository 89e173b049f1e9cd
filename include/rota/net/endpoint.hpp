// Where a socket is, or goes to: an address and a port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include <rota/detail/config.hpp>

namespace rota::net {

/// An IPv4 or IPv6 address with a port. A value.
class ROTA_API endpoint {
 public:
  /// 0.0.0.0:0
  endpoint() noexcept = default;

  /// "127.0.0.1:80", "[::1]:80", "[fe80::1%2]:80". Numbers only: for names see resolve(). The error is
  /// std::errc::invalid_argument, also for a NUL anywhere in `text`. A listener at "[::]:80" takes IPv4 as well, as ::ffff:a.b.c.d (unless the system's
  /// net.ipv6.bindv6only is set); one at "0.0.0.0:80" takes IPv4 alone.
  [[nodiscard]] static std::expected<endpoint, std::error_code> parse(std::string_view text) noexcept;
  [[nodiscard]] static endpoint loopback_v4(std::uint16_t port) noexcept;
  [[nodiscard]] static endpoint any_v4(std::uint16_t port) noexcept;
  /// [::1]:port
  [[nodiscard]] static endpoint loopback_v6(std::uint16_t port) noexcept;
  /// [::]:port
  [[nodiscard]] static endpoint any_v6(std::uint16_t port) noexcept;
  /// From a sockaddr_in or sockaddr_in6.
  [[nodiscard]] static std::expected<endpoint, std::error_code> from_native(const void* address,
                                                                            std::size_t size) noexcept;

  [[nodiscard]] bool is_v6() const noexcept { return v6_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Classes of addresses. An address ::ffff:a.b.c.d has the classes of a.b.c.d.
  [[nodiscard]] bool is_unspecified() const noexcept;  // 0.0.0.0, ::
  [[nodiscard]] bool is_loopback() const noexcept;     // 127.0.0.0/8, ::1
  [[nodiscard]] bool is_private()
      const noexcept;  // 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 (RFC 1918), fc00::/7
  [[nodiscard]] bool is_link_local() const noexcept;  // 169.254.0.0/16, fe80::/10
  [[nodiscard]] bool is_multicast() const noexcept;   // 224.0.0.0/4, ff00::/8
  /// As parse() takes it.
  [[nodiscard]] std::string to_string() const;
  /// Writes a sockaddr of at most 128 bytes; returns its size.
  std::size_t to_native(void* address) const noexcept;

  friend bool operator==(const endpoint&, const endpoint&) = default;

 private:
  [[nodiscard]] const std::uint8_t* v4_bytes()
      const noexcept;                     // four bytes; nullptr: neither IPv4 nor mapped
  std::array<std::uint8_t, 16> bytes_{};  // network order; the first four for IPv4
  std::uint32_t scope_ = 0;
  std::uint16_t port_ = 0;
  bool v6_ = false;
};

}  // namespace rota::net
