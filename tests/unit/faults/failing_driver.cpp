#include "unit/faults/failing_driver.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

namespace rota::test {

namespace {
std::atomic<std::uint64_t> key{0};
}

constinit failing_call call::poll;

std::uint64_t last_key() noexcept { return key; }

}  // namespace rota::test

#if ROTA_TEST_STANDS_IN

using rota::test::calls;

extern "C" {

int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* limit, const sigset_t* /*mask*/) {
  if (const int error = rota::test::call::poll.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, events, most, limit, nullptr, 0));
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_ADD) rota::test::key = event->data.u64;
  return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

}  // extern "C"

#endif
