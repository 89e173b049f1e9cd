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
/// Makes two Unix sockets that are connected to each other. `type`: SOCK_STREAM, SOCK_DGRAM.
result<void> socket_pair(int type, int (&both)[2]) noexcept;
result<int> unix_socket(int type) noexcept;
/// Identifies a file.
struct file_identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const file_identity&, const file_identity&) = default;
};
result<file_identity> identity_of(const char* path) noexcept;
void unlink(const char* path) noexcept;
/// Prepares a descriptor that was made elsewhere: its calls do not block, and exec() closes it.
result<void> make_watchable(int fd) noexcept;
result<void> bind(int fd, const sockaddr* address, socklen_t length) noexcept;
result<void> listen(int fd, int backlog) noexcept;
result<int> accept(int fd, sockaddr_storage* address, socklen_t* length) noexcept;
/// Connects. EINPROGRESS is a success: the socket becomes writable when the connect has completed or failed.
result<void> connect(int fd, const sockaddr* address, socklen_t length) noexcept;
/// Returns the result of a connect that was in progress.
result<void> socket_error(int fd) noexcept;
result<std::size_t> receive(int fd, void* bytes, std::size_t size) noexcept;
/// Receives bytes and leaves them in the socket.
result<std::size_t> peek(int fd, void* bytes, std::size_t size) noexcept;
result<std::size_t> receive_vector(int fd, const iovec* parts, std::size_t count) noexcept;
/// Receives one datagram. `flags`: MSG_PEEK, or 0.
result<std::size_t> receive_message(int fd, msghdr& message, int flags) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> send_message(int fd, const msghdr& message) noexcept;
/// Receives several datagrams and returns their number.
result<std::size_t> receive_messages(int fd, mmsghdr* messages, std::size_t count) noexcept;
result<std::size_t> send_messages(int fd, mmsghdr* messages, std::size_t count) noexcept;
/// Returns true if a call would complete at once. `events`: POLLIN or POLLOUT.
result<bool> is_ready_now(int fd, short events) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> send(int fd, const void* bytes, std::size_t size) noexcept;
result<std::size_t> send_vector(int fd, const iovec* parts, std::size_t count) noexcept;
/// Sends from a file, at `offset`, to a socket.
result<std::size_t> send_file(int to, int from, std::int64_t offset, std::size_t size) noexcept;
result<void> shutdown(int fd, int how) noexcept;
result<void> set_option(int fd, int level, int name, int value) noexcept;
result<int> option(int fd, int level, int name) noexcept;
/// For options that are not numbers.
result<void> set_option_bytes(int fd, int level, int name, const void* value, std::size_t size) noexcept;
result<void> option_bytes(int fd, int level, int name, void* value, std::size_t size) noexcept;
/// Removes the peer of a datagram socket.
result<void> disconnect(int fd) noexcept;
/// Makes a close reset the connection.
result<void> set_linger_zero(int fd) noexcept;
result<void> local_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept;
result<void> peer_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept;

}  // namespace rota::base::sys
