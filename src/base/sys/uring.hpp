// io_uring: requests, and one ring. In builds without liburing open() returns ENOSYS.
#pragma once

#include "base/sys/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

struct iovec;
struct open_how;
struct statx;

namespace rota::base::sys {

/// A request to the kernel: 64 bytes, of which only prepare_*() knows the layout.
struct ring_request {
  alignas(8) std::array<std::byte, 64> bytes;
};

/// Operations that a ring may lack: see uring::can().
enum class ring_call : std::uint8_t {
  nothing,
  read,
  write,
  read_v,
  write_v,
  sync,
  open,
  info,
  rename,
  unlink,
  make_directory,
  link,
  symlink,
  allocate,
  cancel,
};
inline constexpr std::size_t ring_calls = 15;

// All memory that a request points to must stay until its completion. `fd`: a file's; `at`: a directory's, or
// AT_FDCWD.
void prepare_nothing(ring_request& r) noexcept;
void prepare_read(ring_request& r, int fd, std::span<std::byte> into, std::uint64_t offset) noexcept;
void prepare_write(ring_request& r, int fd, std::span<const std::byte> from, std::uint64_t offset) noexcept;
void prepare_read_v(
    ring_request& r, int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept;
void prepare_write_v(
    ring_request& r, int fd, const iovec* from, unsigned parts, std::uint64_t offset) noexcept;
void prepare_sync(ring_request& r, int fd, bool data_only) noexcept;
void prepare_open(ring_request& r, int at, const char* path, open_how* how) noexcept;
void prepare_info(
    ring_request& r, int at, const char* path, int flags, unsigned mask, struct statx* into) noexcept;
void prepare_rename(
    ring_request& r, int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept;
void prepare_unlink(ring_request& r, int at, const char* path, int flags) noexcept;
void prepare_make_directory(ring_request& r, int at, const char* path, unsigned mode) noexcept;
void prepare_link(
    ring_request& r, int from_at, const char* from, int to_at, const char* to, int flags) noexcept;
void prepare_symlink(ring_request& r, const char* target, int at, const char* path) noexcept;
void prepare_allocate(ring_request& r, int fd, int mode, std::uint64_t offset, std::uint64_t size) noexcept;

struct ring_completion {
  std::uint64_t key;
  std::int32_t result;
};

/// One ring with two sides: put and submit, by one thread at a time; reap, by one thread at a time.
class uring {
 public:
  uring() = default;
  uring(const uring&) = delete;
  uring& operator=(const uring&) = delete;
  ~uring();

  /// Opens the ring. Sizes are rounded up to powers of two, and cut to the kernel's maximum. ENOSYS, EPERM,
  /// ENOMEM, EMFILE and the like.
  [[nodiscard]] std::error_code open(unsigned entries, unsigned completions) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return ring_ != nullptr; }
  [[nodiscard]] bool can(ring_call what) const noexcept {
    return (can_ >> static_cast<unsigned>(what) & 1U) != 0;
  }
  /// The descriptor for epoll: readable while there are completions.
  [[nodiscard]] int descriptor() const noexcept;

  /// Puts a request into the queue. Returns false if the queue is full.
  [[nodiscard]] bool put(const ring_request& r, std::uint64_t key) noexcept;
  /// Requests the cancellation of what was put under `key`. The completion of this request itself has the key
  /// `of_cancels`.
  [[nodiscard]] bool put_cancel(std::uint64_t key) noexcept;
  static constexpr std::uint64_t of_cancels = ~std::uint64_t{0};
  /// Submits all requests that were put. Returns false if the kernel took only some of them or none: the
  /// caller must call it again.
  [[nodiscard]] bool submit() noexcept;

  [[nodiscard]] bool has_completions() const noexcept;
  /// Returns true if the kernel keeps completions that did not fit, until fetch_overflown() fetches them.
  [[nodiscard]] bool has_overflown() const noexcept;
  void fetch_overflown() noexcept;
  /// Takes completions, without those of cancels. Returns their number.
  unsigned reap(ring_completion* into, unsigned most) noexcept;

 private:
  struct native;
  [[nodiscard]] std::error_code probe() noexcept;

  native* ring_ = nullptr;
  std::uint32_t can_ = 0;
};

}  // namespace rota::base::sys
