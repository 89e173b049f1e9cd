// The system calls of sockets.
#pragma once

#include "base/sys/result.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <cstddef>
#include <cstdint>

namespace rota::base::sys {

result<int> stream_socket(int family) noexcept;
result<void> bind(int fd, const sockaddr* address, socklen_t length) noexcept;
result<void> listen(int fd, int backlog) noexcept;
result<int> accept(int fd, sockaddr_storage* address, socklen_t* length) noexcept;
/// EINPROGRESS is success: the socket becomes writable when it is decided.
result<void> connect(int fd, const sockaddr* address, socklen_t length) noexcept;
/// What a connect that went on has come to.
result<void> socket_error(int fd) noexcept;
result<std::size_t> receive(int fd, void* bytes, std::size_t size) noexcept;
/// Never raises SIGPIPE.
result<std::size_t> send(int fd, const void* bytes, std::size_t size) noexcept;
result<std::size_t> send_vector(int fd, const iovec* parts, std::size_t count) noexcept;
/// From a file, at `offset`, to a socket.
result<std::size_t> send_file(int to, int from, std::int64_t offset, std::size_t size) noexcept;
result<void> shutdown(int fd, int how) noexcept;
result<void> set_option(int fd, int level, int name, int value) noexcept;
/// Closing resets the connection.
result<void> set_linger_zero(int fd) noexcept;
result<void> local_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept;
result<void> peer_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept;

}  // namespace rota::base::sys
