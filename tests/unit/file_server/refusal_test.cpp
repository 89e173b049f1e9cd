// One connection too many: it gets its 503 whatever it has sent, and an orderly end.
#include "file_server/server.hpp"
#include "unit/file_server/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <csignal>
#include <string>
#include <thread>

#include <rota/runtime.hpp>

namespace file_server::testing {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = loopback(0);
  socklen_t length = sizeof at;
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length), 0);
  ::close(fd);
  return ntohs(at.sin_port);
}

/// A client that blocks. It asks again until the server listens.
class client {
 public:
  explicit client(std::uint16_t port) {
    const sockaddr_in at = loopback(port);
    for (;;) {
      fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
  void finish() const { ::shutdown(fd_, SHUT_WR); }
  bool receive_one(char& into) const { return ::recv(fd_, &into, 1, 0) == 1; }
  /// Up to the server's end; false: the connection was reset.
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

TEST(refusal, one_connection_too_many_reads_503_and_no_reset) {
  const scratch_folder folder;
  options o;
  o.directory = folder.root();
  o.port = free_port();
  o.max_connections = 1;
  rota::runtime rt(rota::runtime_options{.workers = 1});
  server one(o, 1);
  rota::join_handle<int> served = rt.spawn(one.run());

  const client first(o.port);
  while (one.snapshot().connections_open != 1) std::this_thread::yield();
  {
    const client second(o.port);
    // More than one request, and longer than one read.
    const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(6000, 'x') + "\r\n\r\n";
    EXPECT_TRUE(second.send(head));
    std::string answer;
    while (answer.size() < 12) {
      char c = 0;
      if (!second.receive_one(c)) break;
      answer.push_back(c);
    }
    EXPECT_EQ(answer, "HTTP/1.1 503");
    EXPECT_TRUE(second.send(head));
    second.finish();
    EXPECT_TRUE(second.receive_all(answer)) << "the connection was reset";
  }
  EXPECT_EQ(one.snapshot().connections_refused, 1U);
  ::raise(SIGTERM);
  EXPECT_EQ(served.join(), 0);
  rt.shutdown(std::chrono::seconds(0));
}

}  // namespace
}  // namespace file_server::testing
