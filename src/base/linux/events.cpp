#include "base/sys/events.hpp"

#include "base/linux/call.hpp"

#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <climits>
#include <ctime>

namespace rota::base::sys {

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

/// Waits on kernels before Linux 5.11, which take whole milliseconds. Rounds up, so that no timer is early.
int wait_in_milliseconds(int epoll, epoll_event* events, int most, const timespec* limit) noexcept {
  long long whole = -1;
  if (limit != nullptr)
    whole = std::min<long long>(limit->tv_sec * 1000LL + (limit->tv_nsec + 999'999) / 1'000'000, INT_MAX);
  return ::epoll_wait(epoll, events, most, static_cast<int>(whole));
}

}  // namespace

result<void> epoll_add(int epoll, int fd, std::uint64_t key) noexcept {
  return add_to_epoll(epoll, fd, key, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET);
}
result<void> epoll_add_input(int epoll, int fd, std::uint64_t key) noexcept {
  return add_to_epoll(epoll, fd, key, EPOLLIN | EPOLLET);
}

result<void> epoll_set(int epoll, int fd, bool for_reading, bool for_writing) noexcept {
  epoll_event event{};
  event.events = (for_reading ? EPOLLIN : 0U) | (for_writing ? EPOLLOUT : 0U);
  event.data.u64 = static_cast<std::uint64_t>(fd);
  before_system_call();
  if (event.events == 0) return done(::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr));
  if (::epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0) return {};
  if (errno != ENOENT) return std::unexpected(last_error());
  return done(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
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
  // Old kernels lack epoll_pwait2(); a filter that does not know it forbids it.
  static atomic<bool> has_exact_wait{true};
  // relaxed: a thread that reads an old value tries once more.
  const bool exact = has_exact_wait.load(order::relaxed);
  int count = exact ? ::epoll_pwait2(epoll, events, most, limit, nullptr)
                    : wait_in_milliseconds(epoll, events, most, limit);
  if (exact && count == -1 && (errno == ENOSYS || errno == EPERM)) {
    // relaxed: same reason as above.
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

}  // namespace rota::base::sys
