// The system calls of I/O, each in the form that rota needs: the result, or the error as a code. EINTR never comes out.
#pragma once

#include "base/clock.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <system_error>

namespace rota::base::sys {

template <class T>
using result = std::expected<T, std::error_code>;

[[nodiscard]] inline std::error_code last_error() noexcept { return {errno, std::generic_category()}; }
[[nodiscard]] inline bool would_block(const std::error_code& e) noexcept {
  return e.category() == std::generic_category() && (e.value() == EAGAIN || e.value() == EWOULDBLOCK);
}

result<int> epoll_create() noexcept;
/// Adds `fd`, edge-triggered, for everything.
result<void> epoll_add(int epoll, int fd, std::uint64_t key) noexcept;
/// The same, for input alone: a read of an event_fd would be an edge for output.
result<void> epoll_add_input(int epoll, int fd, std::uint64_t key) noexcept;
/// For a descriptor that stays open.
void epoll_remove(int epoll, int fd) noexcept;
/// `deadline`: `never` waits for ever, a past one only looks. Returns how many events.
result<unsigned> epoll_wait(int epoll, epoll_event* events, int most, time_point deadline) noexcept;
result<int> event_fd() noexcept;
void signal_event_fd(int fd) noexcept;
void clear_event_fd(int fd) noexcept;

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
void close(int fd) noexcept;

}  // namespace rota::base::sys
