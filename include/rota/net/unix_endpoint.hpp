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
  /// The most bytes of a path or of an abstract name. An abstract name may have any bytes.
  static constexpr std::size_t most = 107;

  /// The unnamed address, of a socket that was not bound.
  unix_endpoint() noexcept = default;
  [[nodiscard]] static unix_endpoint unnamed() noexcept { return {}; }
  /// Makes a path. std::errc::filename_too_long; std::errc::invalid_argument if it is empty, or has a 0 in
  /// it.
  [[nodiscard]] static io::result<unix_endpoint> path(std::string_view p) noexcept;
  /// Makes an abstract name. It is no file, and is free when its socket is closed. Every process in the same
  /// network namespace may connect: see unix_stream::peer(). std::errc::filename_too_long;
  /// std::errc::invalid_argument if it is empty.
  [[nodiscard]] static io::result<unix_endpoint> abstract(std::string_view name) noexcept;
  /// Converts a sockaddr_un.
  [[nodiscard]] static io::result<unix_endpoint> from_native(const void* address, std::size_t size) noexcept;

  [[nodiscard]] bool is_unnamed() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_abstract() const noexcept { return size_ != 0 && bytes_[0] == '\0'; }
  /// Returns the name without the byte that marks it as abstract. Empty if there is no name.
  [[nodiscard]] std::string_view name() const noexcept {
    return {bytes_.data() + (is_abstract() ? 1 : 0), size_ - (is_abstract() ? 1U : 0U)};
  }
  /// Returns "/run/x", "@name", "(unnamed)". Bytes that cannot be printed are "\xNN".
  [[nodiscard]] std::string to_string() const;
  /// Writes a sockaddr of at most 128 bytes; returns its size.
  std::size_t to_native(void* address) const noexcept;

  friend bool operator==(const unix_endpoint&, const unix_endpoint&) = default;

 private:
  std::array<char, most + 1> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace rota::net
