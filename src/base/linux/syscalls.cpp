#include "base/syscalls.hpp"

#include "base/atomic.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include <algorithm>
#include <climits>
#include <ctime>

namespace rota::base::sys {

namespace {

/// Calls again when a signal came in between.
template <class Call>
auto uninterrupted(Call call) noexcept -> decltype(call()) {
  for (;;) {
    before_system_call();
    const auto value = call();
    if (value != -1 || errno != EINTR) return value;
  }
}

/// Of a call that is made once.
result<void> done(int value) noexcept {
  before_system_call();
  if (value == -1) return std::unexpected(last_error());
  return {};
}

result<int> descriptor(int value) noexcept {
  if (value == -1) return std::unexpected(last_error());
  return value;
}

result<std::size_t> bytes(ssize_t value) noexcept {
  if (value == -1) return std::unexpected(last_error());
  return static_cast<std::size_t>(value);
}

}  // namespace

result<int> epoll_create() noexcept {
  before_system_call();
  return descriptor(::epoll_create1(EPOLL_CLOEXEC));
}

namespace {

result<void> add_to_epoll(int epoll, int fd, std::uint64_t key, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return done(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

/// Before Linux 5.11: whole milliseconds, rounded up, so that no timer is early.
int wait_in_milliseconds(int epoll, epoll_event* events, int most, const timespec* limit) noexcept {
  long long whole = -1;
  if (limit != nullptr)
    whole = std::min<long long>(limit->tv_sec * 1000LL + (limit->tv_nsec + 999'999) / 1'000'000, INT_MAX);
  return ::epoll_wait(epoll, events, most, static_cast<int>(whole));
}

}  // namespace

result<void> epoll_add(int epoll, int fd, std::uint64_t key) noexcept {
  return add_to_epoll(epoll, fd, key, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}
result<void> epoll_add_input(int epoll, int fd, std::uint64_t key) noexcept {
  return add_to_epoll(epoll, fd, key, EPOLLIN | EPOLLET);
}

void epoll_remove(int epoll, int fd) noexcept {
  before_system_call();
  ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
}

result<unsigned> epoll_wait(int epoll, epoll_event* events, int most, time_point deadline) noexcept {
  timespec left{};
  const timespec* limit = nullptr;
  if (deadline != never) {
    const auto wait =
        deadline == time_point::min() ? nanoseconds(0) : std::max(deadline - now(), nanoseconds(0));
    left.tv_sec = static_cast<time_t>(std::chrono::duration_cast<std::chrono::seconds>(wait).count());
    left.tv_nsec = static_cast<long>((wait % std::chrono::seconds(1)).count());
    limit = &left;
  }
  before_system_call();
  // Missing in old kernels; under a filter of system calls that does not know it, forbidden.
  static atomic<bool> has_exact_wait{true};
  // relaxed. Who reads it late tries once more.
  const bool exact = has_exact_wait.load(order::relaxed);
  int count = exact ? ::epoll_pwait2(epoll, events, most, limit, nullptr)
                    : wait_in_milliseconds(epoll, events, most, limit);
  if (exact && count == -1 && (errno == ENOSYS || errno == EPERM)) {
    // relaxed. The same.
    has_exact_wait.store(false, order::relaxed);
    count = wait_in_milliseconds(epoll, events, most, limit);
  }
  if (count >= 0) return static_cast<unsigned>(count);
  if (errno == EINTR) return 0U;
  return std::unexpected(last_error());
}

result<int> event_fd() noexcept {
  before_system_call();
  return descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void signal_event_fd(int fd) noexcept {
  const std::uint64_t one = 1;
  // EAGAIN: the counter is full, so it is readable already.
  static_cast<void>(uninterrupted([&] { return ::write(fd, &one, sizeof one); }));
}

void clear_event_fd(int fd) noexcept {
  std::uint64_t count = 0;
  static_cast<void>(uninterrupted([&] { return ::read(fd, &count, sizeof count); }));
}

result<int> stream_socket(int family) noexcept {
  before_system_call();
  return descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

result<void> bind(int fd, const sockaddr* address, socklen_t length) noexcept {
  return done(::bind(fd, address, length));
}

result<void> listen(int fd, int backlog) noexcept { return done(::listen(fd, backlog)); }

result<int> accept(int fd, sockaddr_storage* address, socklen_t* length) noexcept {
  return descriptor(uninterrupted([&] {
    return ::accept4(fd, reinterpret_cast<sockaddr*>(address), length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }));
}

result<void> connect(int fd, const sockaddr* address, socklen_t length) noexcept {
  before_system_call();
  // Interrupted, the connect goes on all the same.
  if (::connect(fd, address, length) == 0 || errno == EINPROGRESS || errno == EINTR) return {};
  return std::unexpected(last_error());
}

result<void> socket_error(int fd) noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  before_system_call();
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) return std::unexpected(last_error());
  if (error != 0) return std::unexpected(std::error_code(error, std::generic_category()));
  return {};
}

result<std::size_t> receive(int fd, void* to, std::size_t size) noexcept {
  return bytes(uninterrupted([&] { return ::recv(fd, to, size, 0); }));
}

result<std::size_t> send(int fd, const void* from, std::size_t size) noexcept {
  return bytes(uninterrupted([&] { return ::send(fd, from, size, MSG_NOSIGNAL); }));
}

result<std::size_t> send_vector(int fd, const iovec* parts, std::size_t count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = std::min<std::size_t>(count, IOV_MAX);
  return bytes(uninterrupted([&] { return ::sendmsg(fd, &message, MSG_NOSIGNAL); }));
}

namespace {

/// sendfile has no MSG_NOSIGNAL. The workers' threads block SIGPIPE for good; others do it for the call.
class without_sigpipe {
 public:
  without_sigpipe() noexcept {
    if (blocked_for_good) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    blocked_for_good = sigismember(&before_, SIGPIPE) == 1;
    restores_ = !blocked_for_good;
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    if (!restores_) return;
    const int error = errno;
    const timespec at_once{};
    // One that was raised here and is pending for this thread. It was not pending before, or it would not be blocked.
    while (::sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  static thread_local bool blocked_for_good;
  sigset_t pipe_{};
  sigset_t before_{};
  bool restores_ = false;
};
thread_local bool without_sigpipe::blocked_for_good = false;

}  // namespace

result<std::size_t> send_file(int to, int from, std::int64_t offset, std::size_t size) noexcept {
  off_t at = offset;
  const without_sigpipe quiet;
  return bytes(uninterrupted([&] { return ::sendfile(to, from, &at, size); }));
}

result<void> shutdown(int fd, int how) noexcept { return done(::shutdown(fd, how)); }

result<void> set_option(int fd, int level, int name, int value) noexcept {
  return done(::setsockopt(fd, level, name, &value, sizeof value));
}

result<void> set_linger_zero(int fd) noexcept {
  const linger now{.l_onoff = 1, .l_linger = 0};
  return done(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now));
}

result<void> local_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept {
  return done(::getsockname(fd, reinterpret_cast<sockaddr*>(address), length));
}

result<void> peer_address(int fd, sockaddr_storage* address, socklen_t* length) noexcept {
  return done(::getpeername(fd, reinterpret_cast<sockaddr*>(address), length));
}

void close(int fd) noexcept {
  before_system_call();
  // On Linux the descriptor is gone even when EINTR is returned: once, and never again.
  ::close(fd);
}

}  // namespace rota::base::sys
