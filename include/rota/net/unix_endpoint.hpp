// The address of a unix socket.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <rota/detail/config.hpp>
#include <rota/io/result.hpp>

namespace rota::net {

/// A path in the file system, an abstract name, or none. A value.
class ROTA_API unix_endpoint {
 public:
  /// A path: 107 bytes; an abstract name: 107, any bytes.
  static constexpr std::size_t most = 107;

  /// None: of a socket that was not bound.
  unix_endpoint() noexcept = default;
  [[nodiscard]] static unix_endpoint unnamed() noexcept { return {}; }
  /// std::errc::filename_too_long; std::errc::invalid_argument: empty, or with a 0 in it.
  [[nodiscard]] static io::result<unix_endpoint> path(std::string_view p) noexcept;
  /// A name that is no file, and is free when its socket is closed. Everybody in the same network namespace may connect: see unix_stream::peer().
  /// std::errc::filename_too_long; std::errc::invalid_argument: empty.
  [[nodiscard]] static io::result<unix_endpoint> abstract(std::string_view name) noexcept;
  /// From a sockaddr_un.
  [[nodiscard]] static io::result<unix_endpoint> from_native(const void* address, std::size_t size) noexcept;

  [[nodiscard]] bool is_unnamed() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_abstract() const noexcept { return size_ != 0 && bytes_[0] == '\0'; }
  /// Without what says that it is abstract; empty: it has none.
  [[nodiscard]] std::string_view name() const noexcept {
    return {bytes_.data() + (is_abstract() ? 1 : 0), size_ - (is_abstract() ? 1U : 0U)};
  }
  /// "/run/x", "@name", "(unnamed)". Bytes that cannot be printed are "\xNN".
  [[nodiscard]] std::string to_string() const;
  /// Writes a sockaddr of at most 128 bytes; returns its size.
  std::size_t to_native(void* address) const noexcept;

  friend bool operator==(const unix_endpoint&, const unix_endpoint&) = default;

 private:
  std::array<char, most + 1> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace rota::net
