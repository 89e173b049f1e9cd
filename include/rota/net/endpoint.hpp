// The address of a socket: an IP address and a port.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <rota/detail/config.hpp>

namespace rota::net {

/// An IPv4 or IPv6 address with a port. A value with an order and a hash: it can be the key of a map.
class ROTA_API endpoint {
 public:
  /// 0.0.0.0:0
  endpoint() noexcept = default;

  /// Parses "127.0.0.1:80", "[::1]:80", "[fe80::1%2]:80". Takes numbers only, but the interface behind the %
  /// may be a name: "[fe80::1%eth0]:80". For host names see resolve(). The error is
  /// std::errc::invalid_argument, also for a NUL anywhere in `text`. A listener at "[::]:80" takes IPv4 as
  /// well, as ::ffff:a.b.c.d (unless the system's net.ipv6.bindv6only is set). A listener at "0.0.0.0:80"
  /// takes IPv4 alone.
  [[nodiscard]] static std::expected<endpoint, std::error_code> parse(std::string_view text) noexcept;
  [[nodiscard]] static endpoint loopback_v4(std::uint16_t port) noexcept;
  [[nodiscard]] static endpoint any_v4(std::uint16_t port) noexcept;
  /// [::1]:port
  [[nodiscard]] static endpoint loopback_v6(std::uint16_t port) noexcept;
  /// [::]:port
  [[nodiscard]] static endpoint any_v6(std::uint16_t port) noexcept;
  /// Makes an endpoint from the bytes of an address, in network order.
  [[nodiscard]] static endpoint v4(std::array<std::uint8_t, 4> address, std::uint16_t port) noexcept;
  /// `scope` is the index of an interface, for link-local addresses. 0 means none.
  [[nodiscard]] static endpoint v6(const std::array<std::uint8_t, 16>& address,
                                   std::uint16_t port,
                                   std::uint32_t scope = 0) noexcept;
  /// Converts a sockaddr_in or sockaddr_in6.
  [[nodiscard]] static std::expected<endpoint, std::error_code> from_native(const void* address,
                                                                            std::size_t size) noexcept;

  [[nodiscard]] bool is_v6() const noexcept { return v6_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Returns the address in network order: 4 bytes of IPv4, 16 of IPv6. The span is valid while the endpoint
  /// lives: so it is deleted for a temporary.
  [[nodiscard]] std::span<const std::uint8_t> address() const& noexcept {
    return {bytes_.data(), v6_ ? std::size_t{16} : std::size_t{4}};
  }
  std::span<const std::uint8_t> address() const&& = delete;
  /// Returns the index of the interface that belongs to the address, or 0 if there is none.
  [[nodiscard]] std::uint32_t scope() const noexcept { return scope_; }
  /// Returns the same address with another port.
  [[nodiscard]] endpoint with_port(std::uint16_t port) const noexcept;
  /// Returns a.b.c.d for ::ffff:a.b.c.d, and any other address unchanged. A listener at "[::]:80" reports
  /// ::ffff:a.b.c.d for an IPv4 client.
  [[nodiscard]] endpoint unmapped() const noexcept;
  /// Classes of addresses. An address ::ffff:a.b.c.d has the classes of a.b.c.d.
  [[nodiscard]] bool is_unspecified() const noexcept;  // 0.0.0.0, ::
  [[nodiscard]] bool is_loopback() const noexcept;     // 127.0.0.0/8, ::1
  [[nodiscard]] bool is_private()
      const noexcept;  // 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 (RFC 1918), fc00::/7
  [[nodiscard]] bool is_link_local() const noexcept;  // 169.254.0.0/16, fe80::/10
  [[nodiscard]] bool is_multicast() const noexcept;   // 224.0.0.0/4, ff00::/8
  /// Returns the form that parse() takes.
  [[nodiscard]] std::string to_string() const;
  /// Writes a sockaddr of at most 128 bytes; returns its size.
  std::size_t to_native(void* address) const noexcept;

  friend bool operator==(const endpoint&, const endpoint&) = default;
  /// IPv4 before IPv6, then by address, scope and port.
  friend std::strong_ordering operator<=>(const endpoint& a, const endpoint& b) noexcept {
    return a.compare(b);
  }

 private:
  friend struct std::hash<endpoint>;
  [[nodiscard]] std::strong_ordering compare(const endpoint& other) const noexcept;
  [[nodiscard]] std::size_t hash() const noexcept;
  [[nodiscard]] const std::uint8_t* v4_bytes()
      const noexcept;                     // four bytes, or nullptr if neither IPv4 nor mapped
  std::array<std::uint8_t, 16> bytes_{};  // network order; the first four for IPv4
  std::uint32_t scope_ = 0;
  std::uint16_t port_ = 0;
  bool v6_ = false;
};

}  // namespace rota::net

template <>
struct std::hash<rota::net::endpoint> {
  std::size_t operator()(const rota::net::endpoint& of) const noexcept { return of.hash(); }
};
