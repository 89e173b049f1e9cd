// QUESTION  What does an echo cost in one thread that makes only the necessary system calls?
// WHY       It is the lower limit for programs that wait by epoll. A runtime adds to it.
// BASELINE  bench/echo/rota.cpp, which says what a server of the suite `echo` does.
// READ IT   As there. Edge-triggered, one read and one send per request; a short read has emptied its socket.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "support/subject.hpp"

namespace {

using bench::job;

int checked(int result, const char* what) {
  if (result < 0) bench::fail(what);
  return result;
}

int watched(int epoll, int fd, std::uint32_t events, void* whose) {
  epoll_event interest{.events = events, .data = {.ptr = whose}};
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest);
}

template <std::size_t Message>
class connection {
 public:
  explicit connection(int fd) : fd_(fd) {}
  connection(connection&&) = delete;
  ~connection() { ::close(fd_); }

  /// Continues after an event. Returns false if the connection has ended.
  bool go_on(std::uint32_t events) {
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) emptied_ = false;
    // The end of the stream may have arrived with the last bytes. Then no further edge event reports it.
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) ends_ = true;
    for (;;) {
      if (!send_rest()) return errno == EAGAIN;
      if (emptied_) return true;
      const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      begin_ = 0;
      end_ = static_cast<std::size_t>(got);
      emptied_ = end_ < buffer_.size() && !ends_;
    }
  }

 private:
  bool send_rest() {
    while (begin_ != end_) {
      const ssize_t n = ::send(fd_, buffer_.data() + begin_, end_ - begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0) return false;
      begin_ += static_cast<std::size_t>(n);
    }
    return true;
  }

  int fd_;
  bool emptied_ = true;
  bool ends_ = false;
  std::size_t begin_ = 0;  // of the bytes to send
  std::size_t end_ = 0;
  std::array<std::byte, 2 * Message> buffer_;
};

/// Returns a listening socket and prints its port.
int listening() {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "no socket");
  checked(::bind(fd, reinterpret_cast<const sockaddr*>(&at), size), "no port");
  checked(::listen(fd, 4096), "not listening");
  checked(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), "no name of the port");
  std::printf("{\"port\":%u}\n", unsigned{ntohs(at.sin_port)});
  std::fflush(stdout);
  return fd;
}

template <std::size_t Message>
void accept_all(int epoll, int listener) {
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && errno == EAGAIN) return;
    const int on = 1;
    checked(fd, "a connection was not accepted");
    checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "no TCP_NODELAY");
    auto one = std::make_unique<connection<Message>>(fd);
    checked(watched(epoll, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, one.get()), "not watched");
    static_cast<void>(one.release());  // freed after its last event
  }
}

template <std::size_t Message>
void server(const job& /*what*/) {
  const int epoll = checked(::epoll_create1(EPOLL_CLOEXEC), "no epoll");
  const int listener = listening();
  checked(watched(epoll, listener, EPOLLIN | EPOLLET, nullptr), "not watched");
  for (;;) {
    std::array<epoll_event, 256> events;
    const int n = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    if (n < 0 && errno != EINTR) bench::fail("epoll_wait");
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      auto* const one = static_cast<connection<Message>*>(event.data.ptr);
      if (one == nullptr) {
        accept_all<Message>(epoll, listener);
      } else if (!one->go_on(event.events)) {
        delete one;
      }
    }
  }
}

constexpr bench::one_case servers[] = {
    {"echo_64_1", "", 1, 1, server<64>},
    {"echo_16k_1", "", 1, 1, server<16384>},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, servers); }
