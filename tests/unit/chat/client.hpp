// A blocking client of a chat server on this machine.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chat::testing {

inline constexpr std::string_view the_end = "<end>";
inline constexpr std::string_view a_reset = "<reset>";

class client {
 public:
  /// A `receive_buffer` other than 0 is about the size of the kernel's receive buffer.
  explicit client(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) {
      EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer), 0);
    }
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  client(client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        is_connected_(other.is_connected_),
        unread_(std::move(other.unread_)) {}
  client& operator=(client&&) = delete;
  ~client() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] bool is_connected() const { return is_connected_; }

  /// Sends `text` unchanged. Returns false if the connection has failed.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool say(const std::string& line) const { return send(line + "\n"); }

  /// Returns the next line, the_end, or a_reset.
  std::string line() {
    for (;;) {
      const std::size_t end = unread_.find('\n');
      if (end != std::string::npos) {
        std::string found = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return found;
      }
      char buffer[4096];
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got == 0) return std::string(the_end);
      if (got < 0) return std::string(a_reset);
      unread_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  /// Returns the lines up to one with this beginning, or up to the end.
  std::vector<std::string> lines_until(std::string_view beginning) {
    std::vector<std::string> all;
    do {
      all.push_back(line());
    } while (!all.back().starts_with(beginning) && all.back() != the_end && all.back() != a_reset);
    return all;
  }
  void skip_until(std::string_view beginning) {
    const auto all = lines_until(beginning);
    EXPECT_TRUE(all.back().starts_with(beginning)) << all.back() << " and not " << beginning;
  }

  /// Returns once the server has confirmed the join.
  void enter(const std::string& nick, const std::string& room) {
    EXPECT_TRUE(say("/nick " + nick));
    EXPECT_TRUE(say("/join " + room));
    skip_until("-- in " + room + ":");
  }

  void finish() const { ::shutdown(fd_, SHUT_WR); }
  /// Closes the connection with a reset: the peer gets ECONNRESET.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
  bool is_connected_ = false;
  std::string unread_;
};

}  // namespace chat::testing
