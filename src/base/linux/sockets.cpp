#include "base/sys/sockets.hpp"

#include "base/linux/call.hpp"
#include "base/linux/without_sigpipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <climits>

namespace rota::base::sys {

result<int> stream_socket(int family) noexcept {
  before_system_call();
  return descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

result<int> datagram_socket(int family) noexcept {
  before_system_call();
  return descriptor(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

result<int> unix_socket(int type) noexcept {
  before_system_call();
  return descriptor(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

result<file_identity> identity_of(const char* path) noexcept {
  struct stat found{};
  if (::lstat(path, &found) == -1) return std::unexpected(last_error());
  return file_identity{.device = found.st_dev, .inode = found.st_ino};
}

void unlink(const char* path) noexcept {
  before_system_call();
  ::unlink(path);
}

result<void> socket_pair(int type, int (&both)[2]) noexcept {
  return done(::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both));
}

result<void> make_watchable(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags == -1) return std::unexpected(last_error());
  if (const result<void> set = done(::fcntl(fd, F_SETFL, flags | O_NONBLOCK)); !set.has_value()) return set;
  return done(::fcntl(fd, F_SETFD, FD_CLOEXEC));
}

result<void> bind(int fd, const sockaddr* address, socklen_t length) noexcept {
  return done(::bind(fd, address, length));
}

result<void> listen(int fd, int backlog) noexcept { return done(::listen(fd, backlog)); }

result<int> accept(int fd, sockaddr_storage* address, socklen_t* length) noexcept {
  return descriptor(uninterrupted([&] {
    return ::accept4(fd, reinterpret_cast<sockaddr*>(address), length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }));
}

result<void> connect(int fd, const sockaddr* address, socklen_t length) noexcept {
  before_system_call();
  // An interrupted connect goes on all the same.
  if (::connect(fd, address, length) == 0 || errno == EINPROGRESS || errno == EINTR) return {};
  return std::unexpected(last_error());
}

result<void> socket_error(int fd) noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  before_system_call();
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) return std::unexpected(last_error());
  if (error != 0) return std::unexpected(std::error_code(error, std::generic_category()));
  return {};
}

result<std::size_t> receive(int fd, void* to, std::size_t size) noexcept {
  return bytes(uninterrupted([&] { return ::recv(fd, to, size, 0); }));
}

result<std::size_t> peek(int fd, void* to, std::size_t size) noexcept {
  return bytes(uninterrupted([&] { return ::recv(fd, to, size, MSG_PEEK); }));
}

result<std::size_t> receive_vector(int fd, const iovec* parts, std::size_t count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = std::min<std::size_t>(count, IOV_MAX);
  return receive_message(fd, message, 0);
}

result<std::size_t> receive_message(int fd, msghdr& message, int flags) noexcept {
  return bytes(uninterrupted([&] { return ::recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC); }));
}

result<std::size_t> send_message(int fd, const msghdr& message) noexcept {
  return bytes(uninterrupted([&] { return ::sendmsg(fd, &message, MSG_NOSIGNAL); }));
}

result<std::size_t> receive_messages(int fd, mmsghdr* messages, std::size_t count) noexcept {
  return bytes(uninterrupted(
      [&] { return ::recvmmsg(fd, messages, static_cast<unsigned>(count), MSG_CMSG_CLOEXEC, nullptr); }));
}

result<std::size_t> send_messages(int fd, mmsghdr* messages, std::size_t count) noexcept {
  return bytes(
      uninterrupted([&] { return ::sendmmsg(fd, messages, static_cast<unsigned>(count), MSG_NOSIGNAL); }));
}

result<bool> is_ready_now(int fd, short events) noexcept {
  pollfd asked{.fd = fd, .events = events, .revents = 0};
  const int found = uninterrupted([&] { return ::poll(&asked, 1, 0); });
  if (found == -1) return std::unexpected(last_error());
  return found != 0;
}

result<std::size_t> send(int fd, const void* from, std::size_t size) noexcept {
  return bytes(uninterrupted([&] { return ::send(fd, from, size, MSG_NOSIGNAL); }));
}

result<std::size_t> send_vector(int fd, const iovec* parts, std::size_t count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = std::min<std::size_t>(count, IOV_MAX);
  return send_message(fd, message);
}

result<std::size_t> send_file(int to, int from, std::int64_t offset, std::size_t size) noexcept {
  off_t at = offset;
  const without_sigpipe quiet;  // sendfile() has no MSG_NOSIGNAL
  return bytes(uninterrupted([&] { return ::sendfile(to, from, &at, size); }));
}

result<void> shutdown(int fd, int how) noexcept { return done(::shutdown(fd, how)); }

result<void> set_option(int fd, int level, int name, int value) noexcept {
  return done(::setsockopt(fd, level, name, &value, sizeof value));
}

result<int> option(int fd, int level, int name) noexcept {
  int value = 0;
  const result<void> asked = option_bytes(fd, level, name, &value, sizeof value);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return value;
}

result<void> set_option_bytes(int fd, int level, int name, const void* value, std::size_t size) noexcept {
  return done(::setsockopt(fd, level, name, value, static_cast<socklen_t>(size)));
}

result<void> option_bytes(int fd, int level, int name, void* value, std::size_t size) noexcept {
  auto length = static_cast<socklen_t>(size);
  return done(::getsockopt(fd, level, name, value, &length));
}

result<void> disconnect(int fd) noexcept {
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  return done(::connect(fd, &nobody, sizeof nobody));
}

result<void> set_linger_zero(int fd) noexcept {
  const linger now{.l_onoff = 1, .l_linger = 0};
  return done(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now));
}

result<void> local_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept {
  return done(::getsockname(fd, reinterpret_cast<sockaddr*>(address), length));
}

result<void> peer_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept {
  return done(::getpeername(fd, reinterpret_cast<sockaddr*>(address), length));
}

}  // namespace rota::base::sys
