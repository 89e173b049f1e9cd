// The system calls of sockets.
#pragma once

#include "base/sys/result.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <cstddef>
#include <cstdint>

namespace rota::base::sys {

result<int> stream_socket(int family) noexcept;
result<int> datagram_socket(int family) noexcept;
/// Two unix sockets that are connected to each other. `type`: SOCK_STREAM, SOCK_DGRAM.
result<void> socket_pair(int type, int (&both)[2]) noexcept;
result<int> unix_socket(int type) noexcept;
/// Which file it is.
struct file_identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const file_identity&, const file_identity&) = default;
};
result<file_identity> identity_of(const char* path) noexcept;
void unlink(const char* path) noexcept;
/// For one that was made elsewhere: calls do not block, and exec() closes it.
result<void> make_watchable(int fd) noexcept;
result<void> bind(int fd, const sockaddr* address, socklen_t length) noexcept;
result<void> listen(int fd, int backlog) noexcept;
result<int> accept(int fd, sockaddr_storage* address, socklen_t* length) noexcept;
/// EINPROGRESS is success: the socket becomes writable when it is decided.
result<void> connect(int fd, const sockaddr* address, socklen_t length) noexcept;
/// What a connect that went on has come to.
result<void> socket_error(int fd) noexcept;
result<std::size_t> receive(int fd, void* bytes, std::size_t size) noexcept;
/// The same, and they stay.
result<std::size_t> peek(int fd, void* bytes, std::size_t size) noexcept;
result<std::size_t> receive_vector(int fd, const iovec* parts, std::size_t count) noexcept;
/// One datagram. `flags`: MSG_PEEK, or 0.
result<std::size_t> receive_message(int fd, msghdr& message, int flags) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> send_message(int fd, const msghdr& message) noexcept;
/// Some datagrams; how many.
result<std::size_t> receive_messages(int fd, mmsghdr* messages, std::size_t count) noexcept;
result<std::size_t> send_messages(int fd, mmsghdr* messages, std::size_t count) noexcept;
/// Would a call be done at once? `events`: POLLIN or POLLOUT.
result<bool> is_ready_now(int fd, short events) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> send(int fd, const void* bytes, std::size_t size) noexcept;
result<std::size_t> send_vector(int fd, const iovec* parts, std::size_t count) noexcept;
/// From a file, at `offset`, to a socket.
result<std::size_t> send_file(int to, int from, std::int64_t offset, std::size_t size) noexcept;
result<void> shutdown(int fd, int how) noexcept;
result<void> set_option(int fd, int level, int name, int value) noexcept;
result<int> option(int fd, int level, int name) noexcept;
/// Of options that are no number.
result<void> set_option_bytes(int fd, int level, int name, const void* value, std::size_t size) noexcept;
result<void> option_bytes(int fd, int level, int name, void* value, std::size_t size) noexcept;
/// A datagram socket has no peer any more.
result<void> disconnect(int fd) noexcept;
/// Closing resets the connection.
result<void> set_linger_zero(int fd) noexcept;
result<void> local_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept;
result<void> peer_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept;

}  // namespace rota::base::sys
