#include "unit/faults/failing_ring.hpp"

#include <dlfcn.h>
#include <linux/io_uring.h>

namespace rota::test {

namespace {
std::atomic<int> lacking{-1};
}

constinit failing_call call::make_ring;
constinit failing_call call::submit_to_ring;

void lack_ring_call(int code) noexcept { lacking = code; }

}  // namespace rota::test

#if ROTA_TEST_STANDS_IN

// A type of liburing, which may be missing in this build.
struct io_uring;

namespace {

/// Returns the replaced function, or null in a build without liburing, which never calls it.
template <class Function>
Function* real(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int io_uring_queue_init_params(unsigned entries, io_uring* ring, io_uring_params* wanted) {
  if (const int error = rota::test::call::make_ring.next_error(); error != 0) return -error;
  static auto* const made_by = real<int(unsigned, io_uring*, io_uring_params*)>("io_uring_queue_init_params");
  return made_by(entries, ring, wanted);
}

io_uring_probe* io_uring_get_probe_ring(io_uring* ring) {
  static auto* const asked_by = real<io_uring_probe*(io_uring*)>("io_uring_get_probe_ring");
  io_uring_probe* const known = asked_by(ring);
  const int code = rota::test::lacking;
  if (known != nullptr && code >= 0 && code < known->ops_len)
    known->ops[code].flags &= static_cast<__u16>(~IO_URING_OP_SUPPORTED);
  return known;
}

int io_uring_submit(io_uring* ring) {
  if (const int error = rota::test::call::submit_to_ring.next_error(); error != 0) return -error;
  static auto* const submitted_by = real<int(io_uring*)>("io_uring_submit");
  return submitted_by(ring);
}

}  // extern "C"

#endif
