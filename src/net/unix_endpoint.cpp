#include <rota/net/unix_endpoint.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rota::net {

namespace {

constexpr std::size_t offset = offsetof(sockaddr_un, sun_path);

std::unexpected<std::error_code> because(std::errc why) noexcept {
  return std::unexpected(std::make_error_code(why));
}

}  // namespace

io::result<unix_endpoint> unix_endpoint::path(std::string_view p) noexcept {
  if (p.empty() || p.find('\0') != std::string_view::npos) return because(std::errc::invalid_argument);
  if (p.size() > most) return because(std::errc::filename_too_long);
  unix_endpoint made;
  std::memcpy(made.bytes_.data(), p.data(), p.size());
  made.size_ = p.size();
  return made;
}

io::result<unix_endpoint> unix_endpoint::abstract(std::string_view name) noexcept {
  if (name.empty()) return because(std::errc::invalid_argument);
  if (name.size() > most) return because(std::errc::filename_too_long);
  unix_endpoint made;
  std::memcpy(made.bytes_.data() + 1, name.data(), name.size());
  made.size_ = 1 + name.size();
  return made;
}

io::result<unix_endpoint> unix_endpoint::from_native(const void* address, std::size_t size) noexcept {
  unix_endpoint made;
  // A datagram of an unbound socket comes without an address.
  if (size == 0) return made;
  sockaddr_un native{};
  // The system counts a 0 behind a path, even if it does not fit.
  if (size < offset || size > sizeof native + 1) return because(std::errc::invalid_argument);
  size = std::min(size, sizeof native);
  std::memcpy(&native, address, size);
  if (native.sun_family != AF_UNIX) return because(std::errc::address_family_not_supported);
  const std::size_t length = size - offset;
  if (length == 0) return made;
  // A path ends with a 0, which may be counted, or missing.
  made.size_ = native.sun_path[0] == '\0' ? length : ::strnlen(native.sun_path, length);
  std::memcpy(made.bytes_.data(), native.sun_path, made.size_);
  return made;
}

std::size_t unix_endpoint::to_native(void* address) const noexcept {
  sockaddr_un native{};
  native.sun_family = AF_UNIX;
  std::memcpy(native.sun_path, bytes_.data(), size_);
  std::memcpy(address, &native, sizeof native);
  // An abstract name has exactly its length; a path has a 0 behind it, if it fits.
  const std::size_t end = size_ == 0 || is_abstract() ? 0 : 1;
  return std::min(offset + size_ + end, sizeof native);
}

std::string unix_endpoint::to_string() const {
  if (is_unnamed()) return "(unnamed)";
  std::string made;
  if (is_abstract()) made.append(1, '@');
  for (const char each : name()) {
    const auto c = static_cast<unsigned char>(each);
    if (c >= 0x20 && c < 0x7f) {
      made.append(1, each);
    } else {
      constexpr char digits[] = "0123456789abcdef";
      made.append("\\x").append(1, digits[c >> 4U]).append(1, digits[c & 15U]);
    }
  }
  return made;
}

}  // namespace rota::net
