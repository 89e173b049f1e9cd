// The only file that knows c-ares.
#include "net/resolve_ares.hpp"

#include <rota/error.hpp>
#include <rota/net/resolve.hpp>

#if ROTA_HAS_CARES

#include "base/sys/events.hpp"
#include "base/sys/files.hpp"
#include "net/socket.hpp"

#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <ares.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

// ---- sockets for c-ares: its own are inherited by children that are started at that moment, and its writes may raise SIGPIPE

ares_socket_t make_socket(int family, int type, int protocol, void* /*data*/) {
  return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}
int close_socket(ares_socket_t fd, void* /*data*/) {
  sys::close(fd);
  return 0;
}
int connect_socket(ares_socket_t fd, const sockaddr* to, ares_socklen_t size, void* /*data*/) {
  return ::connect(fd, to, size);
}
// NOLINTNEXTLINE(readability-function-size): c-ares calls it so.
ares_ssize_t receive(ares_socket_t fd,
                     void* into,
                     size_t size,
                     int flags,
                     sockaddr* from,
                     ares_socklen_t* length,
                     void* /*data*/) {
  return ::recvfrom(fd, into, size, flags, from, length);
}
ares_ssize_t send_parts(ares_socket_t fd, const iovec* parts, int count, void* /*data*/) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<size_t>(count);
  const ares_ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  if (sent != -1 || errno != ECONNREFUSED) return sent;
  // What an earlier datagram has met. Told of this one, c-ares would wait five seconds for an answer to the earlier one; sent again, this one meets it,
  // too, and the read says so of both.
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

constexpr ares_socket_functions our_sockets{
    .asocket = make_socket,
    .aclose = close_socket,
    .aconnect = connect_socket,
    .arecvfrom = receive,
    .asendv = send_parts,
};

std::error_code reason(int said) noexcept {
  switch (said) {
    case ARES_ENOTFOUND:
    case ARES_ENONAME: return resolve_errc::not_found;
    case ARES_ENODATA: return resolve_errc::no_address;
    case ARES_ESERVFAIL:
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT: return resolve_errc::try_again;
    case ARES_ENOTIMP:
    case ARES_EREFUSED: return resolve_errc::refused;
    case ARES_EBADNAME:
    case ARES_EBADSTR: return resolve_errc::bad_name;
    case ARES_ENOMEM: return std::make_error_code(std::errc::not_enough_memory);
    default: return resolve_errc::failed;
  }
}

int native(address_family family) noexcept {
  if (family == address_family::v4) return AF_INET;
  return family == address_family::v6 ? AF_INET6 : AF_UNSPEC;
}

bool library_is_there() noexcept {
  static const bool there = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS;
  return there;
}

/// One question, its sockets, and an epoll instance with them, which the driver watches: so there is one registration, whatever sockets
/// c-ares opens and closes. In it they are level-triggered, since c-ares may leave something in a socket; it is asked until it has
/// nothing, so what comes then is an edge for the driver.
class question {
 public:
  static result<std::unique_ptr<question>> make(const std::vector<endpoint>& servers) {
    if (!library_is_there()) return std::unexpected(make_error_code(resolve_errc::failed));
    const result<int> epoll = sys::epoll_create();
    if (!epoll.has_value()) return std::unexpected(epoll.error());
    result<socket_ref> watched = socket::adopt(*epoll);
    if (!watched.has_value()) return std::unexpected(watched.error());
    auto made = std::make_unique<question>(std::move(*watched));
    const int said = made->open(servers);
    if (said == ARES_EBADSTR || said == ARES_ENOTIMP)
      return std::unexpected(std::make_error_code(std::errc::invalid_argument));
    if (said != ARES_SUCCESS) return std::unexpected(reason(said));
    return made;
  }

  explicit question(socket_ref events) noexcept : events_(std::move(events)) {}
  question(const question&) = delete;
  question& operator=(const question&) = delete;
  ~question() {
    // Tells note_answer(), and note_socket() of what it closes.
    if (channel_ != nullptr) ares_destroy(channel_);
    if (answer_ != nullptr) ares_freeaddrinfo(answer_);
  }

  void ask(const std::string& host, address_family family) noexcept {
    ares_addrinfo_hints hints{};
    hints.ai_family = native(family);
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, note_answer, this);
  }

  [[nodiscard]] bool is_answered() const noexcept { return is_answered_; }

  /// Does what can be done now. False: there may be more.
  [[nodiscard]] bool work() noexcept {
    constexpr unsigned most_rounds = 32;
    bool quiet = false;
    for (unsigned round = 0; round < most_rounds && !is_answered_ && !quiet; ++round)
      quiet = !do_what_is_ready();
    // What is late is asked again, or given up.
    if (!is_answered_) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    return quiet || is_answered_;
  }

  /// Until something can be read or written. A leaf.
  [[nodiscard]] ready_leaf ready() const noexcept { return {events_.get(), false}; }

  /// So long c-ares waits for its servers.
  [[nodiscard]] std::chrono::nanoseconds patience() noexcept {
    timeval most{.tv_sec = 1, .tv_usec = 0};
    timeval left{};
    const timeval* const chosen = ares_timeout(channel_, &most, &left);
    // It counts in milliseconds, and begins a little late rather than a little early, many times.
    return std::chrono::seconds(chosen->tv_sec) + std::chrono::microseconds(chosen->tv_usec) +
           std::chrono::milliseconds(1);
  }

  [[nodiscard]] result<std::vector<endpoint>> take(std::uint16_t port) {
    if (status_ != ARES_SUCCESS) return std::unexpected(reason(status_));
    std::vector<endpoint> all;
    for (ares_addrinfo_node* each = answer_->nodes; each != nullptr; each = each->ai_next) {
      if (each->ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(each->ai_addr)->sin_port = htons(port);
      if (each->ai_family == AF_INET6)
        reinterpret_cast<sockaddr_in6*>(each->ai_addr)->sin6_port = htons(port);
      const auto one = endpoint::from_native(each->ai_addr, each->ai_addrlen);
      if (one.has_value() && std::find(all.begin(), all.end(), *one) == all.end()) all.push_back(*one);
    }
    if (all.empty()) return std::unexpected(make_error_code(resolve_errc::no_address));
    return all;
  }

 private:
  int open(const std::vector<endpoint>& servers) {
    static char no_files[] = "b";
    ares_options options{};
    options.sock_state_cb = note_socket;
    options.sock_state_cb_data = this;
    options.lookups = no_files;
    const int said = ares_init_options(
        &channel_, &options, ARES_OPT_SOCK_STATE_CB | (servers.empty() ? 0 : ARES_OPT_LOOKUPS));
    if (said != ARES_SUCCESS) {
      channel_ = nullptr;
      return said;
    }
    ares_set_socket_functions(channel_, &our_sockets, this);
    if (servers.empty()) return ARES_SUCCESS;
    std::string list;
    for (const endpoint& each : servers) list += (list.empty() ? "" : ",") + each.to_string();
    return ares_set_servers_ports_csv(channel_, list.c_str());
  }

  /// False: nothing was.
  bool do_what_is_ready() noexcept {
    std::array<epoll_event, 16> ready;
    const int fd = events_.descriptor();
    const result<unsigned> count =
        sys::epoll_wait(fd, ready.data(), static_cast<int>(ready.size()), base::time_point::min());
    if (!count.has_value() || *count == 0) return false;
    for (unsigned i = 0; i < *count; ++i) {
      // An error, or an end, is told by the read. One that c-ares has closed meanwhile is none that it knows.
      const auto of = static_cast<ares_socket_t>(ready[i].data.u64);
      const bool only_writable = ready[i].events == EPOLLOUT;
      const bool writable = (ready[i].events & EPOLLOUT) != 0;
      ares_process_fd(channel_, only_writable ? ARES_SOCKET_BAD : of, writable ? of : ARES_SOCKET_BAD);
    }
    return true;
  }

  /// By c-ares: what it wants to know of a socket; neither: it is about to close it.
  static void note_socket(void* me, ares_socket_t fd, int for_reading, int for_writing) noexcept {
    const int events = static_cast<question*>(me)->events_.descriptor();
    // What cannot be watched answers nothing, and counts as a server that does not.
    static_cast<void>(sys::epoll_set(events, fd, for_reading != 0, for_writing != 0));
  }

  static void note_answer(void* me, int status, int /*timeouts*/, ares_addrinfo* answer) noexcept {
    auto& self = *static_cast<question*>(me);
    self.status_ = status;
    self.answer_ = answer;
    self.is_answered_ = true;
  }

  socket_ref events_;
  ares_channel channel_ = nullptr;
  ares_addrinfo* answer_ = nullptr;
  int status_ = ARES_SUCCESS;
  bool is_answered_ = false;
};

}  // namespace

bool can_ask_name_servers() noexcept { return true; }

task<result<std::vector<endpoint>>> ask_name_servers(std::string host,
                                                     std::uint16_t port,
                                                     address_family family,
                                                     std::vector<endpoint> servers) {
  const result<std::unique_ptr<question>> made = question::make(servers);
  if (!made.has_value()) co_return std::unexpected(made.error());
  question& q = **made;
  q.ask(host, family);
  while (!q.is_answered()) {
    if (!q.work()) {
      co_await yield();
      continue;
    }
    if (q.is_answered()) break;
    const result<void> news = co_await timeout(q.patience(), q.ready());
    if (!news.has_value() && news.error() != errc::timed_out) co_return std::unexpected(news.error());
  }
  co_return q.take(port);
}

}  // namespace rota::net::detail

#else

namespace rota::net::detail {

bool can_ask_name_servers() noexcept { return false; }

task<io::result<std::vector<endpoint>>> ask_name_servers(std::string /*host*/,
                                                         std::uint16_t /*port*/,
                                                         address_family /*family*/,
                                                         std::vector<endpoint> /*servers*/) {
  co_return std::unexpected(std::make_error_code(std::errc::not_supported));
}

}  // namespace rota::net::detail

#endif
