// A client of a server on this machine.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

namespace file_server::testing {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

inline std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = loopback(0);
  socklen_t length = sizeof at;
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length), 0);
  ::close(fd);
  return ntohs(at.sin_port);
}

inline bool can_connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in at = loopback(port);
  const bool is_connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return is_connected;
}

/// A blocking client. It retries to connect until the server listens.
class client {
 public:
  /// A `receive_buffer` other than 0 is rounded up by the kernel to its minimum.
  explicit client(std::uint16_t port, int receive_buffer = 0) {
    const sockaddr_in at = loopback(port);
    for (;;) {
      fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (receive_buffer != 0) {
        EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer), 0);
      }
      if (::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return;
      ::close(fd_);
      std::this_thread::yield();
    }
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(fd_); }

  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  [[nodiscard]] std::uint16_t own_port() const {
    sockaddr_in at{};
    socklen_t length = sizeof at;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &length), 0);
    return ntohs(at.sin_port);
  }
  void finish() const { ::shutdown(fd_, SHUT_WR); }
  bool receive_one(char& into) const { return ::recv(fd_, &into, 1, 0) == 1; }
  /// Reads up to the server's end. Returns false if the connection was reset.
  bool receive_all(std::string& into) const {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return got == 0;
      into.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_ = -1;
};

/// Makes the send buffer of the server's end of a connection as small as possible. The server runs in this
/// process, so this function can find its descriptor.
inline void shrink_send_buffer(const client& of) {
  const std::uint16_t port = of.own_port();
  int found = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0 || peer.sin_family != AF_INET)
      continue;
    if (ntohs(peer.sin_port) != port) continue;
    const int least = 1;
    EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    ++found;
  }
  EXPECT_EQ(found, 1);
}

}  // namespace file_server::testing
