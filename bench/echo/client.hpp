// The load of the suite `echo`: connections with one request in flight each.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <vector>

#include "histogram.hpp"

namespace load {

using nanoseconds = std::uint64_t;

constexpr nanoseconds millisecond = 1'000'000;
constexpr std::size_t most_bytes = 65536;
constexpr std::size_t connections_at_a_time = 100;  // fewer than a listener's queue holds

/// Ends the program without destructors: other threads may still run.
[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::fputs("load: ", stderr);
  std::vfprintf(stderr, format, values);
  va_end(values);
  std::fputc('\n', stderr);
  std::_Exit(1);
}

[[noreturn]] inline void fail_by_errno(const char* what) { fail("%s: %s", what, std::strerror(errno)); }

inline nanoseconds clock_now(clockid_t which = CLOCK_MONOTONIC) {
  timespec t{};
  if (::clock_gettime(which, &t) != 0) fail_by_errno("clock_gettime");
  return static_cast<nanoseconds>(t.tv_sec) * 1'000'000'000 + static_cast<nanoseconds>(t.tv_nsec);
}

/// The bytes to send. Each request is another part of the pattern, so that answers of different requests
/// differ.
class pattern {
 public:
  pattern() {
    std::uint64_t state = multiplier;
    for (unsigned char& byte : bytes_) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = static_cast<unsigned char>(state >> 56U);
    }
  }
  [[nodiscard]] const unsigned char* of(std::uint64_t request) const noexcept {
    return bytes_.data() + (request * multiplier >> 48U);
  }

 private:
  static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(65536 + most_bytes);
};

/// Settings that all connections share.
struct asking {
  unsigned long port = 0;
  std::size_t bytes = 0;
  nanoseconds patience = 0;  // timeout for an answer
};

struct connection {
  int fd = -1;
  std::uint32_t unsent = 0;
  std::uint32_t awaited = 0;
  const unsigned char* request = nullptr;
  nanoseconds since = 0;
};

/// The connections of one thread.
class client {
 public:
  client(const asking& how, const pattern& sent, std::size_t count, std::uint64_t first)
      : how_(how), pattern_(sent), next_request_(first), connections_(count) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) fail_by_errno("epoll_create1");
  }
  client(client&&) = delete;
  ~client() {
    for (const connection& c : connections_) {
      if (c.fd >= 0) ::close(c.fd);
    }
    ::close(epoll_);
  }

  /// Makes the connections. Each gets one answer, so the server has accepted all of them when this returns.
  void connect() {
    for (std::size_t made = 0; made < connections_.size();) {
      const std::size_t wave = std::min(connections_at_a_time, connections_.size() - made);
      for (connection& c : std::span(connections_).subspan(made, wave)) connect(c);
      drain();
      made += wave;
    }
  }

  /// Sends requests until `end` and records the answers from `begin` on. Then waits for the last answers.
  void ask(nanoseconds begin, nanoseconds end) {
    begin_ = begin;
    end_ = end;
    for (connection& c : connections_) send_next(c, clock_now());
    while (clock_now() < end) turn();
    drain();
  }

  [[nodiscard]] const bench::histogram& latencies() const noexcept { return latencies_; }

 private:
  void connect(connection& c) {
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c.fd < 0) fail_by_errno("socket");
    const int on = 1;
    const timeval limit{static_cast<time_t>(how_.patience / 1'000'000'000), 1};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(how_.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail_by_errno("TCP_NODELAY");
    if (::setsockopt(c.fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) fail_by_errno("SO_SNDTIMEO");
    if (::connect(c.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail_by_errno("connect");
    epoll_event interest{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.ptr = &c}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &interest) != 0) fail_by_errno("epoll_ctl");
    send_next(c, clock_now());
  }

  void send_next(connection& c, nanoseconds now) {
    c.request = pattern_.of(next_request_++);
    c.unsent = c.awaited = static_cast<std::uint32_t>(how_.bytes);
    c.since = now;
    ++in_flight_;
    send_rest(c);
  }

  void send_rest(connection& c) {
    while (c.unsent != 0) {
      const ssize_t n =
          ::send(c.fd, c.request + (how_.bytes - c.unsent), c.unsent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) return;  // an edge event will report free space
      if (n < 0) fail_by_errno("send");
      c.unsent -= static_cast<std::uint32_t>(n);
    }
  }

  /// The buffer is larger than any answer, so one read empties the socket. Bytes that arrive later cause
  /// another edge event.
  void receive(connection& c) {
    const ssize_t got = ::recv(c.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) fail_by_errno("recv");
    if (got == 0) fail("the server has closed a connection");
    const auto more = static_cast<std::size_t>(got);
    if (more > c.awaited) fail("more bytes came back than were sent");
    if (std::memcmp(buffer_.data(), c.request + (how_.bytes - c.awaited), more) != 0)
      fail("other bytes came back than were sent");
    c.awaited -= static_cast<std::uint32_t>(more);
    if (c.awaited == 0) answered(c);
  }

  void answered(connection& c) {
    const nanoseconds now = clock_now();
    --in_flight_;
    if (now >= begin_ && now < end_) latencies_.add(now - c.since);
    if (now < end_) send_next(c, now);
  }

  /// Handles the events that have arrived, or waits for a moment.
  void turn() {
    std::array<epoll_event, 256> events;
    const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 20);
    if (n < 0 && errno != EINTR) fail_by_errno("epoll_wait");
    for (int i = 0; i < n; ++i) {
      connection& c = *static_cast<connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      send_rest(c);
      receive(c);
    }
  }

  void drain() {
    const nanoseconds until = clock_now() + how_.patience;
    while (in_flight_ != 0) {
      turn();
      if (clock_now() > until) fail("%zu of %zu connections got no answer", in_flight_, connections_.size());
    }
  }

  asking how_;
  const pattern& pattern_;
  std::uint64_t next_request_;
  std::vector<connection> connections_;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(2 * most_bytes);
  bench::histogram latencies_;
  std::size_t in_flight_ = 0;
  nanoseconds begin_ = 0;  // while both are 0, nothing is recorded and each connection sends one request
  nanoseconds end_ = 0;
  int epoll_ = -1;
};

}  // namespace load
