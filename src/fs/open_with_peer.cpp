// Opens a FIFO on a thread so that a cancellation can end the wait.
//
// open(2) of a FIFO waits for the peer, and only a signal ends that. So the FIFO is opened with O_NONBLOCK,
// and the wait is made here, by polling:
//
//   to read    opens at once, and counts as a reader from then on, as in open(2): a writer that waits in its
//              own open(2) goes on. Then waits until a writer is there (tee), or has been there and has gone
//              (EPOLLHUP).
//   to write   ENXIO while there is no reader, without a trace. Then tries again. A reader that waits in its
//              own open(2) counts.
//   both       never waits.
//
// The peer never observes an open that is undone, except a cancelled one.
#include "base/clock.hpp"
#include "base/sys/events.hpp"
#include "fs/blocking.hpp"
#include "fs/information.hpp"

#include <fcntl.h>

#include <system_error>
#include <utility>

namespace rota::fs::detail {

namespace {

/// Returns the type. `unknown`: the file does not exist, or the system does not tell.
file_type type_at(int at, const char* path, int flags) noexcept {
  struct statx found{};
  const result<void> asked = sys::info(at, path, flags | AT_STATX_DONT_SYNC, STATX_TYPE, found);
  return asked.has_value() ? type_of_mode(found.stx_mode) : file_type::unknown;
}

/// The open of a device may wait or have an effect, and O_NONBLOCK changes the effect.
bool is_device(file_type type) noexcept {
  return type == file_type::character_device || type == file_type::block_device;
}

/// The check itself needs two descriptors for a moment. The next poll may get them.
bool lacks_descriptors(const std::error_code& why) noexcept {
  return why == std::errc::too_many_files_open || why == std::errc::too_many_files_open_in_system;
}

result<descriptor> with_flags(result<descriptor> opened, int flags) noexcept {
  const result<void> set = sys::set_flags(opened->get(), flags);
  if (!set.has_value()) return std::unexpected(set.error());
  return opened;
}

}  // namespace

result<void> wait_for_writer(int fd, const awaiting_task& by) noexcept {
  if (type_at(fd, "", AT_EMPTY_PATH) != file_type::fifo) return {};
  const sys::result<int> made = sys::epoll_create();
  if (!made.has_value()) return std::unexpected(made.error());
  const descriptor epoll(*made);
  const result<void> set = sys::epoll_set(epoll.get(), fd, true, false);
  if (!set.has_value()) return set;
  for (;;) {
    const result<bool> there = sys::has_writer(fd);
    if (!there.has_value() && !lacks_descriptors(there.error())) return std::unexpected(there.error());
    if (there.value_or(false)) return {};
    if (by.has_given_up()) return given_up();
    epoll_event event;
    const sys::result<unsigned> events = sys::epoll_wait(epoll.get(), &event, 1, base::now() + between_looks);
    if (!events.has_value()) return std::unexpected(events.error());
    if (*events != 0) return {};
  }
}

// If the path becomes a FIFO between the check and the open, it is opened with O_NONBLOCK: so this never
// blocks for a FIFO.
result<descriptor> open_with_peer(const std::string& path,
                                  int flags,
                                  unsigned mode,
                                  const awaiting_task& by) noexcept {
  if ((flags & (O_NONBLOCK | O_PATH)) != 0) return open_blocking(AT_FDCWD, path.c_str(), flags, mode);
  for (;;) {
    const file_type type = type_at(AT_FDCWD, path.c_str(), 0);
    if (is_device(type)) return open_blocking(AT_FDCWD, path.c_str(), flags, mode);
    result<descriptor> opened = open_without_peer(path, flags, mode, by);
    const bool is_fifo = type == file_type::fifo;
    if (opened.has_value() && is_fifo && (flags & O_ACCMODE) == O_RDONLY) {
      const result<void> there = wait_for_writer(opened->get(), by);
      if (!there.has_value()) return std::unexpected(there.error());
    }
    if (opened.has_value()) return with_flags(std::move(opened), flags);
    if (opened.error() != std::errc::no_such_device_or_address) return opened;
    // It may have become a FIFO since the check.
    if (!is_fifo && type_at(AT_FDCWD, path.c_str(), 0) != file_type::fifo) return opened;
    if (by.has_given_up()) return given_up();
    pause_between_looks();
  }
}

}  // namespace rota::fs::detail
