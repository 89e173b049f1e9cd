// The only file that uses liburing.
#include "base/sys/uring.hpp"

#include "base/linux/call.hpp"
#include "base/sys/files.hpp"
#include "base/thread.hpp"

#if ROTA_HAS_URING

#include <liburing.h>
#include <cstring>
#include <memory>
#include <new>

namespace rota::base::sys {

namespace {

static_assert(sizeof(ring_request) == sizeof(io_uring_sqe));

/// The kernel's operation for each ring_call.
constexpr std::array<int, ring_calls> codes{
    IORING_OP_NOP,
    IORING_OP_READ,
    IORING_OP_WRITE,
    IORING_OP_READV,
    IORING_OP_WRITEV,
    IORING_OP_FSYNC,
    IORING_OP_OPENAT2,
    IORING_OP_STATX,
    IORING_OP_RENAMEAT,
    IORING_OP_UNLINKAT,
    IORING_OP_MKDIRAT,
    IORING_OP_LINKAT,
    IORING_OP_SYMLINKAT,
    IORING_OP_FALLOCATE,
    IORING_OP_ASYNC_CANCEL,
};

/// Lets `prepare` fill in an entry, and stores a copy.
template <class Prepare>
void keep(ring_request& r, Prepare prepare) noexcept {
  io_uring_sqe entry{};
  prepare(&entry);
  std::memcpy(r.bytes.data(), &entry, sizeof entry);
}

/// Limits a size to what the kernel does at once; the completion says how much that was.
constexpr unsigned at_most(std::size_t size) noexcept {
  constexpr std::size_t most = 0x7FFF'F000;
  return static_cast<unsigned>(size < most ? size : most);
}

std::error_code code_of(int error) noexcept { return {error, std::generic_category()}; }

}  // namespace

void prepare_nothing(ring_request& r) noexcept {
  keep(r, [](io_uring_sqe* s) { io_uring_prep_nop(s); });
}
void prepare_read(ring_request& r, int fd, std::span<std::byte> into, std::uint64_t offset) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_read(s, fd, into.data(), at_most(into.size()), offset); });
}
void prepare_write(ring_request& r, int fd, std::span<const std::byte> from, std::uint64_t offset) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_write(s, fd, from.data(), at_most(from.size()), offset); });
}
void prepare_read_v(
    ring_request& r, int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_readv(s, fd, into, parts, offset); });
}
void prepare_write_v(
    ring_request& r, int fd, const iovec* from, unsigned parts, std::uint64_t offset) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_writev(s, fd, from, parts, offset); });
}
void prepare_sync(ring_request& r, int fd, bool data_only) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_fsync(s, fd, data_only ? IORING_FSYNC_DATASYNC : 0); });
}
void prepare_open(ring_request& r, int at, const char* path, open_how* how) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_openat2(s, at, path, how); });
}
void prepare_info(
    ring_request& r, int at, const char* path, int flags, unsigned mask, struct statx* into) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_statx(s, at, path, flags, mask, into); });
}
void prepare_rename(
    ring_request& r, int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_renameat(s, from_at, from, to_at, to, flags); });
}
void prepare_unlink(ring_request& r, int at, const char* path, int flags) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_unlinkat(s, at, path, flags); });
}
void prepare_make_directory(ring_request& r, int at, const char* path, unsigned mode) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_mkdirat(s, at, path, mode); });
}
void prepare_link(
    ring_request& r, int from_at, const char* from, int to_at, const char* to, int flags) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_linkat(s, from_at, from, to_at, to, flags); });
}
void prepare_symlink(ring_request& r, const char* target, int at, const char* path) noexcept {
  keep(r, [&](io_uring_sqe* s) { io_uring_prep_symlinkat(s, target, at, path); });
}
void prepare_allocate(ring_request& r, int fd, int mode, std::uint64_t offset, std::uint64_t size) noexcept {
  keep(r, [&](io_uring_sqe* s) {
    io_uring_prep_fallocate(s, fd, mode, static_cast<off_t>(offset), static_cast<off_t>(size));
  });
}

struct uring::native {
  io_uring ring{};
  const std::uint64_t process = this_process_id();
};

uring::~uring() {
  if (ring_ == nullptr) return;
  before_system_call();
  if (ring_->process == this_process_id()) {
    io_uring_queue_exit(&ring_->ring);
  } else {
    close(ring_->ring.ring_fd);  // a child of fork() has the descriptor, but not the memory
  }
  delete ring_;
}

std::error_code uring::open(unsigned entries, unsigned completions) noexcept {
  std::unique_ptr<native> made(new (std::nothrow) native);
  if (made == nullptr) return code_of(ENOMEM);
  // First with the flag of newer kernels, then without it: SUBMIT_ALL: one bad entry does not keep the others
  // back. CLAMP: sizes are cut to what the kernel has. IORING_SETUP_SINGLE_ISSUER and DEFER_TASKRUN would
  // bind a ring to one thread, but roles move between threads.
  constexpr unsigned always = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  int error = -EINVAL;
  for (const unsigned more : {unsigned{IORING_SETUP_SUBMIT_ALL}, 0U}) {
    io_uring_params wanted{};
    wanted.flags = always | more;
    wanted.cq_entries = completions;
    before_system_call();
    error = io_uring_queue_init_params(entries, &made->ring, &wanted);
    if (error != -EINVAL) break;
  }
  if (error != 0) return code_of(-error);
  ring_ = made.release();
  return probe();
}

std::error_code uring::probe() noexcept {
  constexpr unsigned features = IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE;
  if ((ring_->ring.features & features) != features) return code_of(ENOSYS);
  // A child of fork() must not submit what its parent has prepared.
  before_system_call();
  if (const int error = io_uring_ring_dontfork(&ring_->ring); error != 0) return code_of(-error);
  before_system_call();
  io_uring_probe* const known = io_uring_get_probe_ring(&ring_->ring);
  if (known == nullptr) return code_of(ENOSYS);
  for (std::size_t i = 0; i < ring_calls; ++i) {
    if (io_uring_opcode_supported(known, codes[i]) != 0) can_ |= 1U << i;
  }
  io_uring_free_probe(known);
  return {};
}

int uring::descriptor() const noexcept { return ring_->ring.ring_fd; }

bool uring::put(const ring_request& r, std::uint64_t key) noexcept {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_->ring);
  if (entry == nullptr) return false;
  std::memcpy(entry, r.bytes.data(), sizeof *entry);
  io_uring_sqe_set_data64(entry, key);
  return true;
}

bool uring::put_cancel(std::uint64_t key) noexcept {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_->ring);
  if (entry == nullptr) return false;
  io_uring_prep_cancel64(entry, key, 0);
  io_uring_sqe_set_data64(entry, of_cancels);
  return true;
}

bool uring::submit() noexcept {
  if (io_uring_sq_ready(&ring_->ring) == 0) return true;
  before_system_call();
  const int taken = io_uring_submit(&ring_->ring);
  return taken >= 0 && io_uring_sq_ready(&ring_->ring) == 0;
}

bool uring::has_completions() const noexcept { return io_uring_cq_ready(&ring_->ring) != 0; }

bool uring::has_overflown() const noexcept { return io_uring_cq_has_overflow(&ring_->ring); }

void uring::fetch_overflown() noexcept {
  before_system_call();
  static_cast<void>(io_uring_get_events(&ring_->ring));
}

unsigned uring::reap(ring_completion* into, unsigned most) noexcept {
  unsigned kept = 0;
  unsigned head = 0;
  unsigned seen = 0;
  io_uring_cqe* each = nullptr;
  io_uring_for_each_cqe(&ring_->ring, head, each) {
    if (kept == most) break;
    ++seen;
    if (each->user_data != of_cancels) into[kept++] = {each->user_data, each->res};
  }
  io_uring_cq_advance(&ring_->ring, seen);
  return kept;
}

}  // namespace rota::base::sys

#else

namespace rota::base::sys {

struct uring::native {};

void prepare_nothing(ring_request&) noexcept {}
void prepare_read(ring_request&, int, std::span<std::byte>, std::uint64_t) noexcept {}
void prepare_write(ring_request&, int, std::span<const std::byte>, std::uint64_t) noexcept {}
void prepare_read_v(ring_request&, int, const iovec*, unsigned, std::uint64_t) noexcept {}
void prepare_write_v(ring_request&, int, const iovec*, unsigned, std::uint64_t) noexcept {}
void prepare_sync(ring_request&, int, bool) noexcept {}
void prepare_open(ring_request&, int, const char*, open_how*) noexcept {}
void prepare_info(ring_request&, int, const char*, int, unsigned, struct statx*) noexcept {}
void prepare_rename(ring_request&, int, const char*, int, const char*, unsigned) noexcept {}
void prepare_unlink(ring_request&, int, const char*, int) noexcept {}
void prepare_make_directory(ring_request&, int, const char*, unsigned) noexcept {}
void prepare_link(ring_request&, int, const char*, int, const char*, int) noexcept {}
void prepare_symlink(ring_request&, const char*, int, const char*) noexcept {}
void prepare_allocate(ring_request&, int, int, std::uint64_t, std::uint64_t) noexcept {}

uring::~uring() = default;
std::error_code uring::open(unsigned, unsigned) noexcept { return {ENOSYS, std::generic_category()}; }
std::error_code uring::probe() noexcept { return {}; }
int uring::descriptor() const noexcept { return -1; }
bool uring::put(const ring_request&, std::uint64_t) noexcept { return false; }
bool uring::put_cancel(std::uint64_t) noexcept { return false; }
bool uring::submit() noexcept { return true; }
bool uring::has_completions() const noexcept { return false; }
bool uring::has_overflown() const noexcept { return false; }
void uring::fetch_overflown() noexcept {}
unsigned uring::reap(ring_completion*, unsigned) noexcept { return 0; }

}  // namespace rota::base::sys

#endif
