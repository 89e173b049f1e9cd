#include "net/unix_sockets.hpp"

#include "base/sys/paths.hpp"
#include "base/thread.hpp"

#include <array>
#include <cstring>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

/// A path as a C string.
struct path_of {
  explicit path_of(const unix_endpoint& at) noexcept {
    const std::string_view name = at.name();
    std::memcpy(text, name.data(), name.size());
    text[name.size()] = '\0';
  }
  char text[unix_endpoint::most + 2];  // a path from the system may be longer by one
};

bool has_file(const unix_endpoint& at) noexcept { return !at.is_unnamed() && !at.is_abstract(); }

}  // namespace

unix_file::~unix_file() {
  if (!has_file(at_) || process_ != base::this_process_id()) return;
  const path_of path(at_);
  const result<sys::file_identity> now = sys::identity_of(path.text);
  if (now.has_value() && now->device == device_ && now->inode == inode_) sys::unlink(path.text);
}

void unix_file::unlink_at_end(const unix_endpoint& at) noexcept {
  if (!has_file(at)) return;
  const path_of path(at);
  const result<sys::file_identity> made = sys::identity_of(path.text);
  if (!made.has_value()) return;  // another process has removed it already
  at_ = at;
  device_ = made->device;
  inode_ = made->inode;
  process_ = base::this_process_id();
}

result<void> bind_unix(int fd, const unix_endpoint& at, unsigned mode) noexcept {
  // For an unnamed address the system would choose a name.
  if (at.is_unnamed() || mode > 0777) return out_of_range();
  // Before bind(): a file that is made first and restricted then can be opened in between.
  const result<void> restricted = has_file(at) ? sys::set_mode(fd, mode) : result<void>();
  if (!restricted.has_value()) return restricted;
  const native_unix_address address(at);
  return sys::bind(fd, address.get(), address.size);
}

result<socket_ref> adopt_unix(int fd, int type) noexcept {
  result<void> step = demand_type(fd, type, false);
  if (step.has_value()) step = sys::make_watchable(fd);
  if (!step.has_value()) return std::unexpected(step.error());
  return socket::watch(fd);
}

result<std::pair<socket_ref, socket_ref>> unix_pair(int type) noexcept {
  int both[2];
  const result<void> made = sys::socket_pair(type, both);
  if (!made.has_value()) return std::unexpected(made.error());
  result<socket_ref> first = socket::adopt(both[0]);
  result<socket_ref> second = socket::adopt(both[1]);
  if (!first.has_value()) return std::unexpected(first.error());
  if (!second.has_value()) return std::unexpected(second.error());
  return std::pair(std::move(*first), std::move(*second));
}

result<unix_endpoint> local_unix_endpoint(int fd) noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked = sys::local_address(fd, &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return unix_endpoint::from_native(&address, length);
}

result<unix_endpoint> peer_unix_endpoint(int fd) noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked = sys::peer_address(fd, &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return unix_endpoint::from_native(&address, length);
}

}  // namespace rota::net::detail
