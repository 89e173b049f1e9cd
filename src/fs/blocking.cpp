#include "fs/blocking.hpp"

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/random.hpp"
#include "base/sys/events.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace rota::fs::detail {

result<descriptor> open_blocking(int at, const char* path, int flags, unsigned mode) noexcept {
  const sys::result<int> fd = sys::open_file(at, path, flags, mode);
  if (!fd.has_value()) return std::unexpected(fd.error());
  return descriptor(*fd);
}

result<void> write_blocking(int fd, std::span<const std::byte> all, const awaiting_task& by) noexcept {
  constexpr std::size_t piece = std::size_t{1} << 20U;
  while (!all.empty()) {
    if (by.has_given_up()) return given_up();
    const number put = sys::write_at(fd, all.first(std::min(all.size(), piece)), sys::no_offset);
    if (!put.has_value() && sys::would_block(put.error())) {
      const result<void> ready = wait_blocking(fd, direction::out, by);
      if (!ready.has_value()) return ready;
      continue;
    }
    if (!put.has_value()) return std::unexpected(put.error());
    if (*put == 0) return std::unexpected(std::make_error_code(std::errc::io_error));
    all = all.subspan(*put);
  }
  return {};
}

void pause_between_looks() noexcept {
  base::atomic<std::uint32_t> never_woken{0};
  static_cast<void>(base::futex_wait(never_woken, 0, base::now() + between_looks));
}

// The first failed open has notified the holder of the lease.
result<descriptor> open_without_peer(const std::string& path,
                                     int flags,
                                     unsigned mode,
                                     const awaiting_task& by) noexcept {
  for (;;) {
    result<descriptor> opened = open_blocking(AT_FDCWD, path.c_str(), flags | O_NONBLOCK, mode);
    if (opened.has_value() || !sys::would_block(opened.error())) return opened;
    if (by.has_given_up()) return given_up();
    pause_between_looks();
  }
}

result<void> wait_blocking(int fd, direction what, const awaiting_task& by) noexcept {
  const sys::result<int> made = sys::epoll_create();
  if (!made.has_value()) return std::unexpected(made.error());
  const descriptor epoll(*made);
  const result<void> set = sys::epoll_set(epoll.get(), fd, what == direction::in, what == direction::out);
  if (!set.has_value()) return set;
  for (;;) {
    if (by.has_given_up()) return given_up();
    epoll_event event;
    const sys::result<unsigned> events = sys::epoll_wait(epoll.get(), &event, 1, base::now() + between_looks);
    if (!events.has_value()) return std::unexpected(events.error());
    if (*events != 0) return {};
  }
}

split_path split(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, std::max<std::size_t>(slash, 1))), std::string(path.substr(slash + 1))};
}

std::string unique_digits() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::uint64_t value = base::entropy();
  std::string made(16, '0');
  for (char& each : made) {
    each = digits[value % digits.size()];
    value /= digits.size();
  }
  return made;
}

}  // namespace rota::fs::detail
