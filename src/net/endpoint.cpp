#include <rota/net/endpoint.hpp>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <charconv>
#include <cstring>
#include <tuple>

namespace rota::net {

namespace {

std::unexpected<std::error_code> bad() noexcept {
  return std::unexpected(std::make_error_code(std::errc::invalid_argument));
}

template <class Number>
bool read_number(std::string_view text, Number& into) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::expected<endpoint, std::error_code> endpoint::parse(std::string_view text) noexcept {
  // if_nametoindex and inet_pton end at a NUL, and would ignore the text behind it.
  if (text.find('\0') != std::string_view::npos) return bad();
  endpoint made;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !read_number(text.substr(colon + 1), made.port_)) return bad();
  std::string_view host = text.substr(0, colon);
  made.v6_ = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (made.v6_) host = host.substr(1, host.size() - 2);
  char zone_text[IF_NAMESIZE + 1] = {};
  if (const std::size_t percent = host.find('%'); made.v6_ && percent != std::string_view::npos) {
    const std::string_view zone = host.substr(percent + 1);
    if (zone.empty() || zone.size() > IF_NAMESIZE) return bad();
    std::memcpy(zone_text, zone.data(), zone.size());
    if (!read_number(zone, made.scope_)) made.scope_ = ::if_nametoindex(zone_text);
    if (made.scope_ == 0) return bad();
    host = host.substr(0, percent);
  }
  char host_text[INET6_ADDRSTRLEN] = {};
  if (host.empty() || host.size() >= sizeof host_text) return bad();
  std::memcpy(host_text, host.data(), host.size());
  if (::inet_pton(made.v6_ ? AF_INET6 : AF_INET, host_text, made.bytes_.data()) != 1) return bad();
  return made;
}

endpoint endpoint::loopback_v4(std::uint16_t port) noexcept {
  endpoint made = any_v4(port);
  made.bytes_[0] = 127;
  made.bytes_[3] = 1;
  return made;
}

endpoint endpoint::any_v4(std::uint16_t port) noexcept {
  endpoint made;
  made.port_ = port;
  return made;
}

endpoint endpoint::loopback_v6(std::uint16_t port) noexcept {
  endpoint made = any_v6(port);
  made.bytes_[15] = 1;
  return made;
}

endpoint endpoint::any_v6(std::uint16_t port) noexcept {
  endpoint made;
  made.port_ = port;
  made.v6_ = true;
  return made;
}

endpoint endpoint::v4(std::array<std::uint8_t, 4> address, std::uint16_t port) noexcept {
  endpoint made = any_v4(port);
  std::memcpy(made.bytes_.data(), address.data(), address.size());
  return made;
}

endpoint endpoint::v6(const std::array<std::uint8_t, 16>& address,
                      std::uint16_t port,
                      std::uint32_t scope) noexcept {
  endpoint made = any_v6(port);
  made.bytes_ = address;
  made.scope_ = scope;
  return made;
}

endpoint endpoint::with_port(std::uint16_t port) const noexcept {
  endpoint made = *this;
  made.port_ = port;
  return made;
}

endpoint endpoint::unmapped() const noexcept {
  const std::uint8_t* const four = v4_bytes();
  return four == nullptr ? *this : v4({four[0], four[1], four[2], four[3]}, port_);
}

std::strong_ordering endpoint::compare(const endpoint& other) const noexcept {
  return std::tie(v6_, bytes_, scope_, port_) <=>
         std::tie(other.v6_, other.bytes_, other.scope_, other.port_);
}

std::size_t endpoint::hash() const noexcept {
  char all[sizeof bytes_ + sizeof scope_ + sizeof port_ + 1];
  char* end = all;
  const auto add = [&end](const void* from, std::size_t size) {
    std::memcpy(end, from, size);
    end += size;
  };
  add(bytes_.data(), sizeof bytes_);
  add(&scope_, sizeof scope_);
  add(&port_, sizeof port_);
  *end = v6_ ? 1 : 0;
  return std::hash<std::string_view>()({all, sizeof all});
}

const std::uint8_t* endpoint::v4_bytes() const noexcept {
  static constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!v6_) return bytes_.data();
  return std::memcmp(bytes_.data(), mapped.data(), mapped.size()) == 0 ? bytes_.data() + mapped.size()
                                                                       : nullptr;
}

bool endpoint::is_unspecified() const noexcept {
  static constexpr std::array<std::uint8_t, 16> zero{};
  const std::uint8_t* four = v4_bytes();
  return std::memcmp(four != nullptr ? four : bytes_.data(), zero.data(), four != nullptr ? 4 : 16) == 0;
}

bool endpoint::is_loopback() const noexcept {
  if (const std::uint8_t* four = v4_bytes(); four != nullptr) return four[0] == 127;
  return bytes_ == loopback_v6(0).bytes_;
}

bool endpoint::is_private() const noexcept {
  const std::uint8_t* four = v4_bytes();
  if (four == nullptr) return (bytes_[0] & 0xfe) == 0xfc;
  if (four[0] == 172) return (four[1] & 0xf0) == 16;
  return four[0] == 10 || (four[0] == 192 && four[1] == 168);
}

bool endpoint::is_link_local() const noexcept {
  if (const std::uint8_t* four = v4_bytes(); four != nullptr) return four[0] == 169 && four[1] == 254;
  return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

bool endpoint::is_multicast() const noexcept {
  if (const std::uint8_t* four = v4_bytes(); four != nullptr) return (four[0] & 0xf0) == 224;
  return bytes_[0] == 0xff;
}

std::expected<endpoint, std::error_code> endpoint::from_native(const void* address,
                                                               std::size_t size) noexcept {
  endpoint made;
  sockaddr_in6 six{};
  sockaddr_in four{};
  sa_family_t family = AF_UNSPEC;
  if (size >= sizeof family) std::memcpy(&family, address, sizeof family);
  if (family == AF_INET && size >= sizeof four) {
    std::memcpy(&four, address, sizeof four);
    std::memcpy(made.bytes_.data(), &four.sin_addr, 4);
    made.port_ = ntohs(four.sin_port);
    return made;
  }
  if (family == AF_INET6 && size >= sizeof six) {
    std::memcpy(&six, address, sizeof six);
    std::memcpy(made.bytes_.data(), &six.sin6_addr, 16);
    made.port_ = ntohs(six.sin6_port);
    made.scope_ = six.sin6_scope_id;
    made.v6_ = true;
    return made;
  }
  return std::unexpected(std::make_error_code(std::errc::address_family_not_supported));
}

std::size_t endpoint::to_native(void* address) const noexcept {
  if (v6_) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port_);
    six.sin6_scope_id = scope_;
    std::memcpy(&six.sin6_addr, bytes_.data(), 16);
    std::memcpy(address, &six, sizeof six);
    return sizeof six;
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port_);
  std::memcpy(&four.sin_addr, bytes_.data(), 4);
  std::memcpy(address, &four, sizeof four);
  return sizeof four;
}

std::string endpoint::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(v6_ ? AF_INET6 : AF_INET, bytes_.data(), text, sizeof text);
  // append: g++ 12 warns falsely about `"[" + host` (-Wrestrict, GCC bug 105329).
  std::string made;
  if (v6_) made.append(1, '[');
  made.append(text);
  if (v6_ && scope_ != 0) made.append(1, '%').append(std::to_string(scope_));
  if (v6_) made.append(1, ']');
  return made.append(1, ':').append(std::to_string(port_));
}

}  // namespace rota::net
