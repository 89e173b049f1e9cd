#include "base/linux/call.hpp"
#include "base/sys/files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace rota::base::sys {

namespace {

result<int> open_if_cached(const char* path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_CACHED;
  before_system_call();
  return descriptor(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how)));
}

bool means_never(const std::error_code& why) noexcept {
  return why == std::errc::function_not_supported || why == std::errc::invalid_argument ||
         why == std::errc::operation_not_permitted;
}

enum class answer : std::uint32_t { none, yes, no };

/// Returns true if the kernel has the call and the flag: Linux 5.12. Older kernels do not know them, and a
/// filter may refuse them. The answer is computed by the first caller, or by several at once, which get the
/// same answer.
bool is_known() noexcept {
  static constinit atomic<answer> heard{answer::none};
  // relaxed, both: every thread computes the same value.
  answer known = heard.load(order::relaxed);
  if (known == answer::none) {
    const result<int> root = open_if_cached("/", O_PATH);
    if (root.has_value()) close(*root);
    if (!root.has_value() && !means_never(root.error())) return false;
    known = root.has_value() ? answer::yes : answer::no;
    // relaxed: same reason as above.
    heard.store(known, order::relaxed);
  }
  return known == answer::yes;
}

/// Returns true for file systems that answer from memory, without asking another party, when one of their
/// files is opened or closed. A network's or a program's (FUSE) would wait for an answer. An overlay does not
/// tell what is below it.
bool asks_nobody(int fd) noexcept {
  constexpr std::uint32_t xfs = 0x5846'5342;
  struct statfs on{};
  before_system_call();
  if (::fstatfs(fd, &on) != 0) return false;
  switch (static_cast<std::uint32_t>(on.f_type)) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case xfs: return true;
    default: return false;
  }
}

/// Returns true for a regular file. To open a device may wait, or have an effect.
bool is_regular(int fd, std::uint64_t& size) noexcept {
  struct statx found{};
  const result<void> asked = info(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, found);
  size = found.stx_size;
  return asked.has_value() && S_ISREG(found.stx_mode);
}

}  // namespace

result<int> open_cached(const char* path, std::uint64_t& size) noexcept {
  const std::unexpected otherwise(std::make_error_code(std::errc::resource_unavailable_try_again));
  if (!is_known()) return otherwise;
  const result<int> place = open_if_cached(path, O_PATH);
  if (!place.has_value()) return otherwise;
  const bool is_good = is_regular(*place, size) && asks_nobody(*place);
  close(*place);
  if (!is_good) return otherwise;
  // The name may lead to a FIFO by now: this call does not wait for the other side, nor for a lease.
  const result<int> opened = open_if_cached(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened.has_value()) return otherwise;
  return *opened;
}

}  // namespace rota::base::sys
