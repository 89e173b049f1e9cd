#undef _FORTIFY_SOURCE  // it defines recv() itself, inline

#include "unit/faults/failing_sockets.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rota::test::call {

constinit failing_call accept;
constinit failing_call receive;
constinit failing_call send;

}  // namespace rota::test::call

#if ROTA_TEST_STANDS_IN

namespace call = rota::test::call;
using rota::test::calls;

extern "C" {

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  if (const int error = call::accept.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_accept4, fd, address, length, flags));
}

ssize_t recv(int fd, void* to, size_t size, int flags) {
  if (const int error = call::receive.next_error(); error != 0) return calls::failing(error);
  return ::syscall(SYS_recvfrom, fd, to, calls::shortened(size), flags, nullptr, nullptr);
}

ssize_t send(int fd, const void* from, size_t size, int flags) {
  if (const int error = call::send.next_error(); error != 0) return calls::failing(error);
  return ::syscall(SYS_sendto, fd, from, calls::shortened(size), flags, nullptr, 0);
}

}  // extern "C"

#endif
