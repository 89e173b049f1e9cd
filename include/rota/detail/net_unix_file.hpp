// The file of a bound unix socket.
#pragma once

#include <cstdint>
#include <utility>

#include <rota/net/unix_endpoint.hpp>

namespace rota::net::detail {

/// Unlinks the file in its destructor, if unlink_at_end() was called and the file is still the one that was
/// bound. So it must be destroyed before its socket, which keeps the inode from being reused. A fork of the
/// process that has bound the file does not unlink it.
class ROTA_API unix_file {
 public:
  unix_file() noexcept = default;
  unix_file(unix_file&& other) noexcept
      : at_(std::exchange(other.at_, {})),
        device_(other.device_),
        inode_(other.inode_),
        process_(other.process_) {}
  unix_file& operator=(unix_file&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    std::swap(process_, other.process_);
    return *this;
  }
  unix_file(const unix_file&) = delete;
  unix_file& operator=(const unix_file&) = delete;
  ~unix_file();

  /// Requests the unlink. Called after bind().
  void unlink_at_end(const unix_endpoint& at) noexcept;
  /// Cancels the request: the file stays.
  void leave() noexcept { at_ = {}; }

 private:
  unix_endpoint at_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t process_ = 0;
};

}  // namespace rota::net::detail
