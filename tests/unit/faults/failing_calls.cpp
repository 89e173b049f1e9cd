#undef _FORTIFY_SOURCE  // it defines recv() itself, inline

#include "unit/faults/failing_calls.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>

namespace rota::test {

namespace {

struct plan {
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> end{0};
  std::atomic<int> error{0};
};
std::array<plan, 5> plans;
std::atomic<std::size_t> longest{0};
std::atomic<std::size_t> pieces{0};
std::atomic<std::uint64_t> key{0};

plan& of(call what) noexcept { return plans[static_cast<std::size_t>(what)]; }

/// 0: the call is to be made.
[[maybe_unused]] int error_of(call what) noexcept {
  plan& p = of(what);
  const std::uint64_t number = p.made.fetch_add(1);
  if (number < p.first || number >= p.end) return 0;
  ++p.failed;
  return p.error;
}

[[maybe_unused]] std::size_t shortened(std::size_t size) noexcept {
  const std::size_t most = longest;
  if (most == 0) return size;
  const std::size_t piece = 1 + pieces.fetch_add(1) % most;
  return size < piece ? size : piece;
}

[[maybe_unused]] long failing(int error) noexcept {
  errno = error;
  return -1;
}

}  // namespace

void calls::fail(call what, int error, std::uint64_t nth, std::uint64_t times) noexcept {
  plan& p = of(what);
  const std::uint64_t from = p.made + nth;
  p.error = error;
  p.end = from + times;
  p.first = from;
}
void calls::shorten(std::size_t most) noexcept { longest = most; }
void calls::reset() noexcept {
  for (plan& p : plans) {
    p.end = 0;
    p.made = 0;
    p.failed = 0;
  }
  longest = 0;
}
std::uint64_t calls::made(call what) noexcept { return of(what).made; }
std::uint64_t calls::failed(call what) noexcept { return of(what).failed; }
std::uint64_t calls::last_key() noexcept { return key; }

}  // namespace rota::test

// These take the place of the C library's.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#define ROTA_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define ROTA_TEST_SANITIZED 0
#endif
#if !ROTA_TEST_SANITIZED

using rota::test::call;

extern "C" {

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  const int error = rota::test::error_of(call::accept);
  if (error != 0) return static_cast<int>(rota::test::failing(error));
  return static_cast<int>(::syscall(SYS_accept4, fd, address, length, flags));
}

ssize_t recv(int fd, void* to, size_t size, int flags) {
  const int error = rota::test::error_of(call::receive);
  if (error != 0) return rota::test::failing(error);
  return ::syscall(SYS_recvfrom, fd, to, rota::test::shortened(size), flags, nullptr, nullptr);
}

ssize_t send(int fd, const void* from, size_t size, int flags) {
  const int error = rota::test::error_of(call::send);
  if (error != 0) return rota::test::failing(error);
  return ::syscall(SYS_sendto, fd, from, rota::test::shortened(size), flags, nullptr, 0);
}

int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* limit, const sigset_t* /*mask*/) {
  const int error = rota::test::error_of(call::poll);
  if (error != 0) return static_cast<int>(rota::test::failing(error));
  return static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, events, most, limit, nullptr, 0));
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_ADD) rota::test::key = event->data.u64;
  return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

int pthread_create(pthread_t* made, const pthread_attr_t* with, void* (*run)(void*), void* argument) {
  const int error = rota::test::error_of(call::create_thread);
  if (error != 0) return error;
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(made, with, run, argument);
}

}  // extern "C"

#endif
#endif
